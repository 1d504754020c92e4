// What all processes do together: barriers and texts.
#include <algorithm>

#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"
#include "runtime/runtime.hpp"

namespace meshwise {
namespace detail {
namespace {

struct Note {
  std::uint64_t bytes = 0;
  static constexpr std::size_t room = 464;
  char text[room] = {};
};

Group& world_group(const Ticket& ticket) { return find_group(ranks_of(devices()), ticket); }

}  // namespace

std::vector<std::string> all_gather_text(const std::string& mine, const Ticket& ticket) {
  Group& world = world_group(ticket);
  Note note;
  note.bytes = mine.size();
  std::copy_n(mine.data(), std::min(mine.size(), Note::room), note.text);
  std::vector<Note> all(world.ranks.size());
  gather_checked(world, &note, sizeof note, all.data(), ticket);
  std::size_t longest = 0;
  std::vector<std::string> texts;
  for (const Note& n : all) {
    longest = std::max(longest, static_cast<std::size_t>(n.bytes));
    texts.emplace_back(n.text, std::min(static_cast<std::size_t>(n.bytes), Note::room));
  }
  if (longest <= Note::room) return texts;
  std::vector<char> padded(longest), whole(longest * all.size());
  std::copy(mine.begin(), mine.end(), padded.begin());
  all_gather(devices(), padded.data(), longest, whole.data(), ticket);
  for (std::size_t r = 0; r < all.size(); ++r) texts[r].assign(whole.data() + r * longest, static_cast<std::size_t>(all[r].bytes));
  return texts;
}

}  // namespace detail

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
