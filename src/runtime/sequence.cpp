#include "meshwise/runtime/sequence.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/transport.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

constexpr std::uint64_t pair_salt = 0x70616972;

std::string_view rehearsal;  // who makes it; empty: none

void check_entry(const Runtime& r, std::string_view operation) {
  check_running(operation);
  if (!on_main_thread()) {
    throw Error(
        fmt::format("{}: called on another thread than the one that made the Environment. Collective calls come from that thread alone; "
                    "handles may be copied and dropped on any.",
                    operation));
  }
  if (rehearsing()) refuse_in_rehearsal(operation);
  if (!r.callback.empty()) {
    throw Error(fmt::format("{}: called inside {}. A Collective call there would run on some ranks only; use local arrays inside.",
                            operation, r.callback));
  }
}

// The tests' schedule: now and then a rank comes late, never twice the same way on two ranks, always the same with one seed.
void delay(const Runtime& r) {
  if (r.settings.delay_seed == 0 || r.size == 1) return;
  static std::uint64_t state = mix(r.settings.delay_seed, static_cast<std::uint64_t>(r.rank) + 1);
  state = mix(state, 1);
  if (state % 16 != 0) return;
  const timespec nap{0, static_cast<long>(state >> 8) % 300'000};
  nanosleep(&nap, nullptr);
}

Sequence& sequence_of(Runtime& r, const DeviceList& list) {
  void*& slot = list.runtime_slot();
  if (!slot) {
    Sequence& found = r.ledger.find(list.hash());
    const std::int64_t each = r.settings.devices_per_rank;
    for (std::int64_t k = 0; k < each && !found.member; ++k) found.member = list.position_of(r.rank * each + k).has_value();
    slot = &found;
  }
  return *static_cast<Sequence*>(slot);
}

void lockstep(const std::vector<int>& ranks, const Ticket& ticket) {
  if (ranks.size() > 1) gather_checked(find_group(ranks, ticket), nullptr, 0, nullptr, ticket);
}

}  // namespace

RehearsalScope::RehearsalScope(std::string_view who) : outer_(std::exchange(rehearsal, who)) {}
RehearsalScope::~RehearsalScope() { rehearsal = outer_; }
bool rehearsing() { return !rehearsal.empty(); }
bool rehearsing_for(std::string_view who) { return rehearsal == who; }

void refuse_in_rehearsal(std::string_view what) {
  if (rehearsal == "jit")
    throw Error(fmt::format("{}: a value is read, or branched on, inside jit, where there are none yet: the function runs once, to be recorded. Compute it before the call "
                            "and pass it as an argument, choose between values with where(), or leave this step outside",
                            what));
  throw Error(fmt::format("explain: {} needs values, or moves what explain() does not follow: call it outside, and explain what depends on its result", what));
}

// A rank that is only in one of a move's two lists cannot know how far the other list's sequence is. So a move has a third sequence, that
// of the ordered
// pair of lists, which every rank in either list can count; its position and history are what the move's messages carry.
Ticket enter_call(const Call& call, std::initializer_list<const DeviceList*> lists) {
  Runtime& r = runtime();
  check_entry(r, call.operation);
  r.failure.raise();
  r.agreements.raise();
  delay(r);
  if (!r.threads) poll();
  const bool with_history = r.settings.check != Check::off;
  Sequence* first = nullptr;
  std::uint64_t key = 0;
  bool member = false;
  std::size_t distinct = 0;
  for (auto at = lists.begin(); at != lists.end(); ++at) {
    Sequence& sequence = sequence_of(r, **at);
    const bool again = std::any_of(lists.begin(), at, [&](const DeviceList* other) { return &sequence_of(r, *other) == &sequence; });
    if (again) continue;
    key = distinct++ == 0 ? sequence.list : mix(mix(key, pair_salt), sequence.list);
    if (!first) first = &sequence;
    member = member || sequence.member;
  }
  if (!member) return {key, 0, 0};
  Ticket ticket;
  if (distinct == 1) {
    ticket = r.ledger.enter(*first, call, with_history);
  } else {
    const Sequence* done = nullptr;
    for (const DeviceList* list : lists) {
      Sequence& sequence = sequence_of(r, *list);
      if (sequence.member && &sequence != done) r.ledger.advance(sequence, call, with_history);
      done = &sequence;
    }
    ticket = r.ledger.enter(r.ledger.find(key), call, with_history);
  }
  if (r.settings.check == Check::lockstep && r.size > 1) {
    std::vector<int> ranks;
    for (const DeviceList* list : lists) {
      for (const int rank : ranks_of(*list)) {
        if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
      }
    }
    lockstep(ranks, ticket);
  }
  return ticket;
}

Ticket enter_world_call(const Call& call) {
  Runtime& r = runtime();
  check_entry(r, call.operation);
  r.failure.raise();
  r.agreements.raise();
  delay(r);
  if (!r.threads) poll();
  const Ticket ticket = r.ledger.enter(*r.world, call, r.settings.check != Check::off);
  if (r.settings.check == Check::lockstep && r.size > 1) lockstep(ranks_of(devices()), ticket);
  return ticket;
}

void describe(const Ticket& ticket, std::shared_ptr<const std::string> details) {
  runtime().ledger.set_details(ticket.list, ticket.sequence, std::move(details));
}

void describe(const Ticket& ticket, std::string details) { describe(ticket, std::make_shared<const std::string>(std::move(details))); }

std::string words_of(const Ticket& ticket) { return runtime().ledger.text_of(ticket.list, ticket.sequence); }

CallbackScope::CallbackScope(std::string_view what) : outer_(runtime().callback) { runtime().callback = what; }
CallbackScope::~CallbackScope() { runtime().callback = outer_; }

}  // namespace meshwise::detail
