#pragma once
// How the library's life ends: by a goodbye, by an exception, by exit.

#include <string>
#include <string_view>

namespace meshwise::detail {

/// Local. Installs the handlers of uncaught exceptions and of exit.
void watch_exits();
/// Synchronising. The polled goodbye: returns when every rank has said it, or gives up on a job that has failed.
void say_goodbye();
/// Local. Frees what is left and, where MPI is ours, finalizes it.
void close_runtime();
/// Local. Tells the other ranks that this one is leaving by an exception; the job ends when this process exits.
void leave_by_exception();
/// Local. Writes words to standard error, if no rank of this node has written its own yet: a failure is said once a job, not once a rank.
void speak_once(std::string_view words);
/// Local. Writes a line of this rank's own to standard error, at once and whole.
void say(std::string_view words);
/// Local. Ends the whole job.
[[noreturn]] void abort_job(int code);

/// Local. Whether the library started MPI; only then it finalizes it (environment.cpp).
/// Local. An exception has ended the Environment: the job ends when this process does.
bool has_left_by_exception();

}  // namespace meshwise::detail
