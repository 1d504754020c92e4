#pragma once
// No wait is blind: failures of one rank reach the others, waits have a name, and death is noticed.

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "meshwise/base/function_ref.hpp"

namespace meshwise::detail {

/// Local. Declares that this rank alone failed in a call: sends notice to all ranks and makes it sticky; every later Collective call
/// throws CollectiveError with these words (MismatchError if that is what it was).
void fail_everywhere(std::exception_ptr error, std::string_view operation);

/// Local. Throws the sticky failure, if any.
void throw_if_failed();

/// Local. Runs f (this rank's local part of a Collective call: allocation, kernels); a throw becomes sticky by fail_everywhere and is rethrown.
void run_local_part(std::string_view operation, FunctionRef<void()> f);

/// Local. Polls until `done()`; serves transfers and notices meanwhile; names `what` in reports. Throws the sticky failure, or CommunicationError at the limit the
/// user set (MESHWISE_TIMEOUT seconds).
void wait_until(FunctionRef<bool()> done, std::string_view what);

/// Local. Room hooks, run in reverse order when the Environment ends, before MPI does (HDF5 closes first).
void at_shutdown(std::function<void()> hook);

}  // namespace meshwise::detail
