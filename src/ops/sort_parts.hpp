#pragma once
// Sorting along an axis that is cut over devices.

#include "array/dispatch.hpp"

namespace meshwise::detail {

constexpr std::int64_t worth_rounds = std::int64_t{1} << 20;  // bytes of a part: fewer are sorted at once

/// Collective. The sorted operand of the request, a vector on an Auto mesh, cut as it is; or where its elements were (the request's dtype). Which elements belong to which
/// part of the result is found by counting digits; each element moves once, and is sorted where it arrives. In rounds: what is beside operand and result is a fraction of them.
Array sort_parts(const Request& request, bool descending, bool want_places);

/// Collective. The same of an array of several axes along one that is cut. Its lines come together on the devices that have parts of them, as many
/// on each, are sorted there and go back: each element moves twice. In rounds as well. `along` is an axis with as many lines as parts, at least.
Array sort_lines(const Request& request, std::int64_t along, bool descending, bool want_places);

}  // namespace meshwise::detail
