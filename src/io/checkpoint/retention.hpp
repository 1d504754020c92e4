#pragma once
// Which steps stay. Pure, and the removal of the others.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "meshwise/io/checkpoint.hpp"

namespace meshwise::detail {

/// Local. Steps and their metrics.
using StepMetrics = std::map<std::int64_t, std::map<std::string, double>>;

/// Local. The steps that no rule wants; never the newest nor `current`. Steps without a metric, or with NaN, are nobody's best.
std::vector<std::int64_t> steps_to_remove(const io::Retention& keep, const StepMetrics& steps, std::int64_t current);

/// Local. Removes them from the folder, and hands back which are gone; a step that cannot be removed stays, and is tried again next time.
std::vector<std::int64_t> retire_steps(const std::string& root, const io::Retention& keep, std::int64_t current);

}  // namespace meshwise::detail
