#pragma once
// How shapes, meshes, specs and device lists are written on a command line.

#include <cstdint>
#include <string>
#include <vector>

#include "meshwise/placement/sharding.hpp"

namespace meshwise::command {

/// Local. `65536,65536`; nothing for a scalar. Throws (as all here do): Error that names the option and shows the syntax.
Shape parse_shape(const std::string& text);

/// Local. `data,none,x+y`: an entry an array axis, `none` or `-` for one that is whole, `+` between the mesh axes of a tuple.
PartitionSpec parse_spec(const std::string& option, const std::string& text);

/// Local. `0-7`, `7-0`, `0,2,4-6`: ids in order.
std::vector<std::int64_t> parse_ids(const std::string& option, const std::string& text);

/// Local. `512,8:data,model`.
struct MeshText {
  std::vector<std::int64_t> sizes{};
  std::vector<std::string> names{};
  std::int64_t devices() const;
};
MeshText parse_mesh(const std::string& option, const std::string& text);

}  // namespace meshwise::command
