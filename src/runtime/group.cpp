#include "runtime/group.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "meshwise/base/error.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

// What every member puts in first. Its size is the same in every call, so that ranks which made different calls still understand each
// other.
struct Greeting {
  std::uint64_t list = 0, sequence = 0, hash = 0;
  std::uint64_t bytes = 0;
  static constexpr std::size_t room = 480;
  std::byte payload[room] = {};
};

template <class Ranks>
std::vector<int> distinct(const Ranks& devices) {
  std::vector<int> ranks;
  std::unordered_set<int> seen;
  for (const Device& device : devices) {
    const int rank = static_cast<int>(device.rank);
    if (!ranks.empty() && ranks.back() == rank) continue;
    if (seen.insert(rank).second) ranks.push_back(rank);
  }
  return ranks;
}

auto members(const Group& group) {
  return [&group] { return group.ranks; };
}

void create_communicator(Runtime& r, Group& group) {
  ++r.groups.made;
  MPI_Group everybody = MPI_GROUP_NULL, chosen = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(r.control, &everybody), "making a group");
  check_mpi(MPI_Group_incl(everybody, static_cast<int>(group.ranks.size()), group.ranks.data(), &chosen), "making a group");
  check_mpi(MPI_Comm_create_group(r.control, chosen, group_tag, &group.communicator), "making a communicator");
  check_mpi(MPI_Comm_set_errhandler(group.communicator, MPI_ERRORS_RETURN), "making a communicator");
  MPI_Group_free(&chosen);
  MPI_Group_free(&everybody);
}

// All stand before the call, then all make it: creating a communicator blocks, and a wait that cannot poll could not be told of failures. So who has
// stood there leaves only with the first member's consent: once that one has said go it waits for all. The result: why this rank leaves afterwards.
std::exception_ptr make_communicator(Runtime& r, Group& group, const Ticket& ticket) {
  std::uint64_t key = group.ranks.size();
  for (const int rank : group.ranks) key = mix(key, static_cast<std::uint64_t>(rank));
  const bool room = r.groups.made < r.settings.max_communicators;
  const auto others = static_cast<std::int64_t>(group.ranks.size()) - 1;
  const bool leads = group.mine == 0;
  const auto tell = [&](int rank, ControlKind kind, bool has_room) {
    ControlHead head;
    head.kind = kind;
    head.hash = key;
    head.flags = has_room ? room_left : 0;
    send_control(rank, head, {});
  };
  if (!leads) {
    const std::scoped_lock hold(r.lock);
    tell(group.ranks[0], ControlKind::roll, room);
  }
  const auto decided = [&] {
    const std::scoped_lock hold(r.lock);
    auto& roll = r.rolls.groups[key];
    if (leads && roll.arrived == others && !roll.off && !roll.go) {
      roll.go = true;
      roll.room = roll.room && room;
      for (const int rank : group.ranks)
        if (rank != r.rank) tell(rank, ControlKind::go, roll.room);
    }
    return roll.go || (roll.off && !leads);
  };
  std::exception_ptr leaving;
  try {
    wait_for(decided, {.what = "making a communicator", .ticket = &ticket, .peers = members(group)});
  } catch (...) {
    leaving = std::current_exception();
    {
      const std::scoped_lock hold(r.lock);
      if (leads) r.rolls.groups[key].off = !r.rolls.groups[key].go;
      else tell(group.ranks[0], ControlKind::withdraw, false);
    }
    // After a failure that ends the job nobody may be there to answer.
    const auto enough = Clock::now() + std::chrono::seconds(2);
    const auto released = [&] { return decided() || (r.failure.is_set() && Clock::now() > enough); };
    if (!leads) wait_for(released, {.what = "leave to go", .ticket = &ticket, .peers = members(group), .through_failure = true, .through_agreement = true});
  }
  bool all_have_room = false;
  {
    const std::scoped_lock hold(r.lock);
    const auto& roll = r.rolls.groups[key];
    if (!roll.go) return leaving ? leaving : std::make_exception_ptr(CollectiveError("another rank left before the ranks of a call met"));
    all_have_room = roll.room;
  }
  if (all_have_room) create_communicator(r, group);
  const std::scoped_lock hold(r.lock);
  r.rolls.groups.erase(key);
  return leaving;
}

void gather_by_messages(const Group& group, const void* mine, std::size_t bytes, void* out, const Ticket& ticket, std::uint32_t phase) {
  auto* const all = static_cast<std::byte*>(out);
  // A message of no bytes would not be sent: in lockstep mode the ranks meet for the head alone.
  std::byte nothing{};
  std::vector<std::byte> ignored(bytes == 0 ? group.ranks.size() : 0);
  const auto length = static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1));
  std::byte* const own = bytes == 0 ? &nothing : static_cast<std::byte*>(const_cast<void*>(mine));
  std::vector<Exchange> sends, receives;
  for (std::size_t k = 0; k < group.ranks.size(); ++k) {
    std::byte* const place = bytes == 0 ? ignored.data() + k : all + k * bytes;
    if (static_cast<int>(k) == group.mine) {
      std::memcpy(place, own, static_cast<std::size_t>(length));
      continue;
    }
    sends.push_back({group.ranks[k], {StridedBox{own, {length}, {1}, 1}}});
    receives.push_back({group.ranks[k], {StridedBox{place, {length}, {1}, 1}}});
  }
  if (const auto transfer = post_phase(ticket, phase, std::move(sends), std::move(receives), {})) transfer->wait();
}

}  // namespace

void gather_all(Group& group, const void* mine, std::size_t bytes, void* out, const Ticket& ticket, FunctionRef<void()> meanwhile, bool through_agreement) {
  Runtime& r = runtime();
  auto round = std::make_unique<Round>();
  round->mine.resize(bytes);
  round->all.resize(bytes * group.ranks.size());
  std::memcpy(round->mine.data(), mine, bytes);
  const int count = static_cast<int>(bytes);
  {
    const std::scoped_lock hold(r.lock);
    check_mpi(MPI_Iallgather(round->mine.data(), count, MPI_BYTE, round->all.data(), count, MPI_BYTE, group.communicator, &round->request),
              "gathering");
    r.engine.messages_sent += 1;
    r.engine.bytes_sent += count;
  }
  const auto done = [&] {
    if (meanwhile) meanwhile();
    const std::scoped_lock hold(r.lock);
    int flag = 0;
    check_mpi(MPI_Test(&round->request, &flag, MPI_STATUS_IGNORE), "gathering");
    return flag != 0;
  };
  try {
    wait_for(done, {.what = "a collective call", .ticket = &ticket, .peers = members(group), .through_agreement = through_agreement});
  } catch (...) {
    r.groups.abandoned.push_back(std::move(round));
    throw;
  }
  std::memcpy(out, round->all.data(), round->all.size());
}

// All members see all greetings, so all take this way together; one of them tells the ranks outside.
void throw_mismatch(Group& group, std::size_t other, const Ticket& ticket) {
  Runtime& r = runtime();
  std::vector<char> mine(text_limit), all(text_limit * group.ranks.size());
  const std::string text = r.ledger.text_of(ticket.list, ticket.sequence);
  std::copy_n(text.data(), std::min(text.size(), text_limit), mine.data());
  gather_all(group, mine.data(), text_limit, all.data(), ticket);
  const auto said = [&](std::size_t member) {
    const char* at = all.data() + member * text_limit;
    return std::string(at, std::find(at, at + text_limit, '\0'));
  };
  const std::string words = mismatch_words(group.ranks[0], said(0), group.ranks[other], said(other));
  if (group.mine == 0) {
    const std::scoped_lock hold(r.lock);
    spread_failure(FailureKind::mismatch, words);
  } else {
    r.failure.set(FailureKind::mismatch, words);
  }
  throw MismatchError(words);
}

std::vector<int> ranks_of(std::span<const Device> devices) { return distinct(devices); }
std::vector<int> ranks_of(const DeviceList& list) { return distinct(list); }

Group& find_group(const std::vector<int>& ranks, const Ticket& ticket) {
  Runtime& r = runtime();
  auto& slot = r.groups.known[ranks];
  if (slot) return *slot;
  auto group = std::make_unique<Group>();
  group->ranks = ranks;
  const auto at = std::find(ranks.begin(), ranks.end(), r.rank);
  if (at == ranks.end()) throw Error("a rank outside a group of devices took part in its collective");
  group->mine = static_cast<int>(at - ranks.begin());
  std::vector<int> world(static_cast<std::size_t>(r.size));
  std::iota(world.begin(), world.end(), 0);
  if (ranks == world) {
    group->communicator = r.data;
  } else if (ranks.size() > 1) {
    const auto leaving = make_communicator(r, *group, ticket);
    // What others have made this one has too.
    if (leaving && group->communicator != MPI_COMM_NULL) slot = std::move(group);
    if (leaving) std::rethrow_exception(leaving);
  }
  slot = std::move(group);
  return *slot;
}

void gather_checked(Group& group, const void* mine, std::size_t bytes, void* out, const Ticket& ticket, std::uint32_t phase) {
  if (group.ranks.size() == 1) {
    if (bytes > 0) std::memcpy(out, mine, bytes);
    return;
  }
  if (group.communicator == MPI_COMM_NULL) return gather_by_messages(group, mine, bytes, out, ticket, phase);
  const bool fits = bytes <= Greeting::room;
  Greeting hello;
  hello.list = ticket.list;
  hello.sequence = ticket.sequence;
  hello.hash = mix(ticket.hash, phase);
  hello.bytes = bytes;
  if (fits && bytes > 0) std::memcpy(hello.payload, mine, bytes);
  std::vector<Greeting> all(group.ranks.size());
  gather_all(group, &hello, sizeof hello, all.data(), ticket);
  const bool compare = runtime().settings.check != Check::off;
  for (std::size_t k = 1; k < all.size(); ++k) {
    const bool same_call = all[k].list == all[0].list && all[k].sequence == all[0].sequence && all[k].hash == all[0].hash;
    if (all[k].bytes != all[0].bytes || (compare && !same_call)) throw_mismatch(group, k, ticket);
  }
  if (!fits) return gather_all(group, mine, bytes, out, ticket);
  for (std::size_t k = 0; k < all.size() && bytes > 0; ++k) std::memcpy(static_cast<std::byte*>(out) + k * bytes, all[k].payload, bytes);
}

}  // namespace meshwise::detail
