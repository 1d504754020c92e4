// What the test harness asks of the library (mpi_tests/support/hooks.hpp).
#include <string>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {

void test_leave_early(const char* words);
void test_start_in_step();
void test_progress();
std::int64_t test_heads_sent();
std::int64_t test_staged_bytes();
void test_limit_memory(std::int64_t bytes);

void test_leave_early(const char* words) { fail_everywhere(std::make_exception_ptr(Error(words)), "a test"); }

// Messages of the calls that were left stay on the old communicators, where nobody looks for them.
void test_start_in_step() {
  Runtime& r = runtime();
  const auto voided = [&] {
    const std::scoped_lock hold(r.lock);
    return void_engine(r, "its test was left early");
  }();
  r.ledger.restart();
  r.failure.clear();
  r.callback = {};
  r.agreements.forget();
  if (r.size > 1) barrier();
}

void test_progress() { progress(); }

void test_limit_memory(std::int64_t bytes) { runtime().settings.memory_limit = bytes; }

std::int64_t test_heads_sent() {
  Runtime& r = runtime();
  const std::scoped_lock hold(r.lock);
  return r.engine.heads_sent;
}

std::int64_t test_staged_bytes() {
  Runtime& r = runtime();
  const std::scoped_lock hold(r.lock);
  return r.engine.staged_so_far;
}

}  // namespace meshwise::detail
