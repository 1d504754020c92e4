#pragma once
// Link figures as a file.

#include <string>

#include "meshwise/plan/links.hpp"

namespace meshwise::detail {

/// Local. The figures as JSON; null for a way that was not measured.
std::string links_to_json(const Links& links);
/// Local. The defaults for what the text does not say, or all of them where it is no such text.
Links links_from_json(const std::string& text);

/// Local. The defaults where the file is missing, unreadable or damaged.
Links read_links(const std::string& path);
/// Local. Written beside the file and renamed, so that no reader meets half of it; makes the folder. Throws: Error.
void write_links(const std::string& path, const Links& links);

}  // namespace meshwise::detail
