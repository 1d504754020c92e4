#pragma once
// The second half of the one door: brings the operands, runs the kernel on this rank's devices, combines and places what comes out.

#include "array/negotiate.hpp"

namespace meshwise::detail {

/// Collective. The result of a request whose layout has a computation. What can go wrong here is this rank's alone.
Array execute(const Request& request, const Negotiated& negotiated);

}  // namespace meshwise::detail
