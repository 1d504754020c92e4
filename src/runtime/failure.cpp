#include "runtime/failure.hpp"

#include <fmt/format.h>

#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {

bool Failure::set(FailureKind kind, std::string words) {
  const std::scoped_lock hold(lock_);
  if (set_.load(std::memory_order_relaxed)) return false;
  kind_ = kind;
  words_ = std::move(words);
  set_.store(true, std::memory_order_release);
  return true;
}

void Failure::raise() {
  if (!is_set()) return;
  const std::scoped_lock hold(lock_);
  switch (kind_) {
    case FailureKind::mismatch:
      throw MismatchError(words_);
    case FailureKind::communication:
      throw CommunicationError(words_);
    case FailureKind::collective:
      throw CollectiveError(words_);
  }
}

std::string Failure::words() {
  const std::scoped_lock hold(lock_);
  return words_;
}

FailureKind Failure::kind() {
  const std::scoped_lock hold(lock_);
  return kind_;
}

void Failure::clear() {
  const std::scoped_lock hold(lock_);
  words_.clear();
  set_.store(false, std::memory_order_release);
}

void spread_failure(FailureKind kind, const std::string& words) {
  Runtime& r = runtime();
  if (!r.failure.set(kind, words)) return;
  ControlHead head;
  head.kind = ControlKind::failure;
  head.value = static_cast<std::uint64_t>(kind);
  for (int other = 0; other < r.size; ++other) {
    if (other != r.rank) send_control(other, head, words);
  }
}

std::string mismatch_words(int rank, std::string_view text, int other, std::string_view other_text) {
  if (rank > other) return mismatch_words(other, other_text, rank, text);
  return fmt::format(
      "the ranks made different calls on the same devices: rank {} called {}, rank {} called {}. "
      "Every rank that owns one of an operation's devices makes the same calls in the same order with the same arguments.",
      rank, text.empty() ? "an unknown operation" : text, other, other_text.empty() ? "an unknown operation" : other_text);
}

void fail_everywhere(std::exception_ptr error, std::string_view operation) {
  Runtime& r = runtime();
  FailureKind kind = FailureKind::collective;
  std::string words;
  try {
    std::rethrow_exception(std::move(error));
  } catch (const MismatchError& e) {
    kind = FailureKind::mismatch;
    words = e.what();
  } catch (const CommunicationError& e) {
    kind = FailureKind::communication;
    words = e.what();
  } catch (const CollectiveError& e) {
    words = e.what();
  } catch (const std::exception& e) {
    words = fmt::format("rank {} failed in {}: {}", r.rank, operation, e.what());
  } catch (...) {
    words = fmt::format("rank {} failed in {} with an exception that is no std::exception", r.rank, operation);
  }
  if (r.size == 1 || !r.running()) return;  // no other rank is out of step
  const std::scoped_lock hold(r.lock);
  spread_failure(kind, words);
}

void throw_if_failed() { runtime().failure.raise(); }

void run_local_part(std::string_view operation, FunctionRef<void()> f) {
  if (runtime().agreements.depth() > 0) return f();
  try {
    f();
  } catch (...) {
    fail_everywhere(std::current_exception(), operation);
    throw;
  }
}

void at_shutdown(std::function<void()> hook) { runtime().shutdown_hooks.push_back(std::move(hook)); }

}  // namespace meshwise::detail
