#pragma once
// Sorting a vector that is cut over devices.

#include "array/dispatch.hpp"

namespace meshwise::detail {

/// Collective. The sorted operand of the request, a vector of real numbers on an Auto mesh, cut as it is; or where its elements were (the request's dtype). Each part is
/// sorted where it lies; which elements go to which part of the result is found by counting; each element moves once, and what arrives is merged.
Array sort_parts(const Request& request, bool descending, bool want_places);

}  // namespace meshwise::detail
