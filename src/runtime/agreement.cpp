#include "runtime/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "runtime/runtime.hpp"

namespace meshwise {
namespace detail {
namespace {

using namespace std::chrono_literals;

/// Why a rank leaves f that did not fail itself.
class LeftTogether : public CollectiveError {
 public:
  using CollectiveError::CollectiveError;
};

enum class Outcome : std::uint32_t { fine, left, failed, out_of_memory };

struct Verdict {
  std::uint64_t sequence = 0, hash = 0;  // of the agreement
  std::uint64_t calls = 0;               // made inside
  std::uint64_t bytes = 0;               // of the words
  std::int32_t depth = 0;                // an agreement inside another one lies deeper
  Outcome outcome = Outcome::fine;
  static constexpr std::size_t room = 448;
  char text[room] = {};
};

std::string words_of(const std::exception_ptr& error, Outcome& outcome) {
  outcome = Outcome::failed;
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemoryError& e) {
    outcome = Outcome::out_of_memory;
    return e.what();
  } catch (const std::bad_alloc& e) {
    outcome = Outcome::out_of_memory;
    return e.what();
  } catch (const LeftTogether& e) {
    outcome = Outcome::left;
    return e.what();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

class Agreement {
 public:
  explicit Agreement(const Ticket& ticket) : ticket_(ticket) {
    {
      const std::scoped_lock hold(r_.lock);
      first_ = r_.engine.posted;
      rounds_ = r_.groups.abandoned.size();
    }
    notes_ = r_.ledger.begin_notes();
    r_.agreements.enter(ticket.sequence);
    depth_ = r_.agreements.depth();
  }
  ~Agreement() { r_.ledger.end_notes(); }
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  void run(const std::function<void()>& f) {
    std::exception_ptr error;
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    r_.agreements.leave();
    Verdict mine{.sequence = ticket_.sequence, .hash = ticket_.hash, .calls = r_.ledger.noted_since(notes_), .depth = depth_};
    const std::string words = error ? words_of(error, mine.outcome) : std::string();
    mine.bytes = words.size();
    std::copy_n(words.data(), std::min(words.size(), Verdict::room), mine.text);
    const auto all = gather(mine, words);
    const auto worst = std::find_if(all.begin(), all.end(), [](const Verdict& v) { return v.outcome > Outcome::left; });
    if (worst == all.end()) {
      if (error) std::rethrow_exception(error);
      return;
    }
    const auto rank = static_cast<std::size_t>(worst - all.begin());
    const auto text = fmt::format("rank {} failed: {}", rank, text_of(all, rank, words));
    if (std::any_of(all.begin(), all.end(), [](const Verdict& v) { return v.calls > 0; })) void_calls(text);
    if (mine.outcome > Outcome::left) std::rethrow_exception(error);
    if (worst->outcome == Outcome::out_of_memory) throw OutOfMemoryError(text);
    throw CollectiveError(text);
  }

 private:
  /// All verdicts. Throws: LeftTogether when a rank has left an agreement around this one.
  std::vector<Verdict> gather(const Verdict& mine, const std::string& words) {
    Group& world = r_.groups.verdicts;
    std::vector<Verdict> all(world.ranks.size());
    // Who fails tells the others only when they don't come of themselves: mostly all fail alike.
    const auto since = Clock::now();
    bool told = mine.outcome == Outcome::fine;
    const auto tell = [&] {
      if (told || Clock::now() - since < 20ms) return;
      told = true;
      ControlHead head;
      head.kind = ControlKind::left;
      head.sequence = ticket_.sequence;
      const std::scoped_lock hold(r_.lock);
      for (const int rank : world.ranks)
        if (rank != r_.rank) send_control(rank, head, mine.outcome == Outcome::left ? words : fmt::format("rank {} failed: {}", r_.rank, words));
    };
    for (;;) {
      gather_all(world, &mine, sizeof mine, all.data(), ticket_, tell, true);
      const auto [least, most] = std::minmax_element(all.begin(), all.end(), [](const Verdict& a, const Verdict& b) { return a.depth < b.depth; });
      if (least->depth < depth_ && least->outcome == Outcome::fine) {
        const std::scoped_lock hold(r_.lock);
        const auto rank = static_cast<int>(least - all.begin());
        spread_failure(FailureKind::mismatch, mismatch_words(r_.rank, r_.ledger.text_of(ticket_.list, ticket_.sequence), rank, "no agree there, but ended one around it"));
        r_.failure.raise();
      }
      if (least->depth < depth_) throw LeftTogether(fmt::format("rank {} failed: {}", least - all.begin(), std::string(least->text, strnlen(least->text, Verdict::room))));
      if (most->depth == depth_) break;  // else others have still to come out of an inner one
    }
    for (std::size_t k = 1; k < all.size(); ++k)
      if (r_.settings.check != Check::off && (all[k].sequence != all[0].sequence || all[k].hash != all[0].hash)) throw_mismatch(world, k, ticket_);
    return all;
  }

  /// Collective. That rank's words, however long.
  std::string text_of(const std::vector<Verdict>& all, std::size_t rank, const std::string& words) {
    const auto bytes = static_cast<std::size_t>(all[rank].bytes);
    if (bytes <= Verdict::room) return {all[rank].text, bytes};
    std::vector<char> mine(bytes), whole(bytes * all.size());
    std::copy_n(words.data(), std::min(words.size(), bytes), mine.data());
    gather_all(r_.groups.verdicts, mine.data(), bytes, whole.data(), ticket_, {}, true);
    return {whole.data() + rank * bytes, bytes};
  }

  /// Collective. Of all ranks' numbers, the sum.
  std::int64_t sum(std::int64_t mine) {
    std::vector<std::int64_t> all(r_.groups.verdicts.ranks.size());
    gather_all(r_.groups.verdicts, &mine, sizeof mine, all.data(), ticket_, {}, true);
    return std::accumulate(all.begin(), all.end(), std::int64_t{0});
  }

  /// Local. Whether all that the calls have begun here is over: where all ranks failed alike it soon is.
  bool is_over() {
    const auto idle = [&] {
      const std::scoped_lock hold(r_.lock);
      return r_.engine.live.empty();
    };
    const auto end = Clock::now() + 50ms;
    wait_for([&] { return idle() || Clock::now() > end; }, {.what = "the end of what a failed agreement began", .ticket = &ticket_, .through_agreement = true});
    const std::scoped_lock hold(r_.lock);
    under_way_ = r_.engine.heads_sent - r_.engine.heads_received;
    return r_.engine.live.empty() && r_.groups.abandoned.size() == rounds_ && r_.rolls.groups.empty();
  }

  /// Collective. What the calls inside have begun is nobody's any more. Older transfers end first; then no rank does anything until all have let go.
  void void_calls(const std::string& why) {
    const auto older = [&]() -> std::shared_ptr<Movement> {
      const std::scoped_lock hold(r_.lock);
      return r_.engine.live.empty() || r_.engine.live.front()->number >= first_ ? nullptr : r_.engine.live.front();
    };
    while (const auto movement = older()) movement->wait();
    const bool busy = !is_over();
    if (sum(busy ? 1 : 0) > 0 || sum(under_way_) != 0) {
      const auto voided = [&] {
        const std::scoped_lock hold(r_.lock);
        return void_engine(r_, why);
      }();
      sum(0);
    }
    r_.ledger.undo_to(notes_);
  }

  Runtime& r_ = runtime();
  const Ticket& ticket_;
  std::int64_t first_ = 0;  // of the movements that are posted inside
  std::size_t notes_ = 0, rounds_ = 0;
  int depth_ = 0;
  std::int64_t under_way_ = 0;  // messages and letters that this rank has sent, less those that it has received
};

}  // namespace

void Agreements::enter(std::uint64_t sequence) {
  const std::scoped_lock hold(lock_);
  under_way_.push_back(sequence);
}

void Agreements::leave() {
  const std::scoped_lock hold(lock_);
  left_.erase(under_way_.back());
  any_left_ = !left_.empty();
  under_way_.pop_back();
}

void Agreements::note(std::uint64_t sequence, std::string words, bool passed) {
  const std::scoped_lock hold(lock_);
  if (passed && std::find(under_way_.begin(), under_way_.end(), sequence) == under_way_.end()) return;
  left_.emplace(sequence, std::move(words));
  any_left_ = true;
}

void Agreements::raise() {
  if (!any_left_.load(std::memory_order_relaxed)) return;
  const std::scoped_lock hold(lock_);
  for (const auto sequence : under_way_)
    if (const auto at = left_.find(sequence); at != left_.end()) throw LeftTogether(at->second);
}

void Agreements::forget() {
  const std::scoped_lock hold(lock_);
  under_way_.clear();
  left_.clear();
  any_left_ = false;
}

void begin_agreements(Runtime& r) {
  if (r.size == 1) return;
  Group& world = r.groups.verdicts;
  world.ranks.resize(static_cast<std::size_t>(r.size));
  std::iota(world.ranks.begin(), world.ranks.end(), 0);
  world.mine = r.rank;
  world.communicator = duplicate(r.base);
}

}  // namespace detail

void agree(const std::function<void()>& f) {
  using namespace detail;
  const Ticket ticket = enter_world_call({.operation = "agree", .hash = hash_text("agree")});
  runtime().undo.run([&] {
    if (runtime().size == 1) return f();
    Agreement(ticket).run(f);
  });
}

}  // namespace meshwise
