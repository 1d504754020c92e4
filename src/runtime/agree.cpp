// What all processes do together: agreements, barriers, texts. One way for all of them, so that ranks which stand in different ones
// understand each other.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"
#include "runtime/runtime.hpp"

namespace meshwise {
namespace detail {
namespace {

enum class Outcome : std::uint32_t { fine, failed, out_of_memory };

struct Note {
  std::uint64_t bytes = 0;
  Outcome outcome = Outcome::fine;
  static constexpr std::size_t room = 464;
  char text[room] = {};
};

Group& world_group(const Ticket& ticket) {
  std::vector<int> world(static_cast<std::size_t>(runtime().size));
  std::iota(world.begin(), world.end(), 0);
  return find_group(world, ticket);
}

struct Notes {
  std::vector<Outcome> outcomes;
  std::vector<std::string> texts;
};

Notes gather_notes(const std::string& mine, Outcome outcome, const Ticket& ticket) {
  Group& world = world_group(ticket);
  Note note;
  note.bytes = mine.size();
  note.outcome = outcome;
  std::copy_n(mine.data(), std::min(mine.size(), Note::room), note.text);
  std::vector<Note> all(world.ranks.size());
  gather_checked(world, &note, sizeof note, all.data(), ticket);
  std::size_t longest = 0;
  Notes notes;
  for (const Note& n : all) {
    longest = std::max(longest, static_cast<std::size_t>(n.bytes));
    notes.outcomes.push_back(n.outcome);
    notes.texts.emplace_back(n.text, std::min(static_cast<std::size_t>(n.bytes), Note::room));
  }
  if (longest <= Note::room) return notes;
  std::vector<char> padded(longest), whole(longest * all.size());
  std::copy(mine.begin(), mine.end(), padded.begin());
  all_gather(devices(), padded.data(), longest, whole.data(), ticket);
  for (std::size_t r = 0; r < all.size(); ++r) notes.texts[r].assign(whole.data() + r * longest, static_cast<std::size_t>(all[r].bytes));
  return notes;
}

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
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

std::vector<std::string> all_gather_text(const std::string& mine, const Ticket& ticket) {
  return gather_notes(mine, Outcome::fine, ticket).texts;
}

}  // namespace detail

void agree(const std::function<void()>& f) {
  using namespace detail;
  Runtime& r = runtime();
  const Ticket ticket = enter_world_call({.operation = "agree", .hash = hash_text("agree")});
  std::exception_ptr error;
  ++r.agreements;
  try {
    f();
  } catch (...) {
    error = std::current_exception();
  }
  --r.agreements;
  if (r.size > 1) {
    Outcome outcome = Outcome::fine;
    const std::string words = error ? words_of(error, outcome) : std::string();
    const Notes notes = gather_notes(words, outcome, ticket);
    const auto failed = std::find_if(notes.outcomes.begin(), notes.outcomes.end(), [](Outcome o) { return o != Outcome::fine; });
    if (!error && failed != notes.outcomes.end()) {
      const auto rank = static_cast<std::size_t>(failed - notes.outcomes.begin());
      const std::string text = fmt::format("rank {} failed: {}", rank, notes.texts[rank]);
      if (*failed == Outcome::out_of_memory) throw OutOfMemoryError(text);
      throw CollectiveError(text);
    }
  }
  if (error) std::rethrow_exception(error);
}

void quiesce() {
  using namespace detail;
  Runtime& r = runtime();
  const auto oldest = [&r]() -> std::shared_ptr<Transfer> {
    const std::scoped_lock hold(r.lock);
    return r.engine.live.empty() ? nullptr : r.engine.live.front();
  };
  while (const auto transfer = oldest()) transfer->wait();
}

void barrier() {
  using namespace detail;
  const Ticket ticket = enter_world_call({.operation = "barrier", .hash = hash_text("barrier")});
  quiesce();
  gather_checked(world_group(ticket), nullptr, 0, nullptr, ticket);
}

}  // namespace meshwise
