#pragma once
// The order of calls: one sequence per ordered device list, checked by what messages carry.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/device.hpp"

namespace meshwise::detail {

/// Local. What a Collective call is, the same on every rank that makes it.
struct Call {
  std::string_view operation;   // static storage: "add", "device_put"
  std::uint64_t hash = 0;       // over everything that must agree: operation, dtypes, shapes, specs, devices, scalar bits
  Dtype dtype = Dtype::float32; // of the first operand, for messages
  const Shape* shape = nullptr;
};

/// Local. A call's place: what every message of that call carries and its receiver checks before using the payload. A move between two lists has
/// its place in the sequence of that ordered pair of lists: a rank in only one of them can count their moves, but not the other list's calls.
struct Ticket {
  std::uint64_t list = 0;      // hash of the ordered device list, or of the pair
  std::uint64_t sequence = 0;  // position in that list's sequence
  std::uint64_t hash = 0;      // the call's, mixed with the history of its lists
};

/// Collective. Enters a call whose participants are these lists' devices: checks thread and nesting, throws the sticky failure of another rank if
/// there is one, inserts the tests' delays, serves a little progress where no thread does, and advances the sequence of each list this process
/// is in. On a rank outside all lists it costs well under a microsecond. `world` calls (device_get, item, Synchronising) advance the world's sequence.
/// Throws: CollectiveError (sticky), MismatchError in lockstep mode, Error on a wrong thread, inside a callback, or after the Environment ended.
Ticket enter_call(const Call& call, std::initializer_list<const DeviceList*> lists);
Ticket enter_world_call(const Call& call);

/// Local. While it lives nothing runs: operations decide their layouts and say what they would move (array/rehearsal.hpp), and whatever would enter a call throws Error.
class RehearsalScope {
 public:
  /// `who` makes the rehearsal, in static storage: "explain", "jit".
  explicit RehearsalScope(std::string_view who);
  ~RehearsalScope();
  RehearsalScope(const RehearsalScope&) = delete;
  RehearsalScope& operator=(const RehearsalScope&) = delete;

 private:
  std::string_view outer_;
};
/// Local. A RehearsalScope lives.
bool rehearsing();
/// Local. The innermost one is made by `who`.
bool rehearsing_for(std::string_view who);
/// Local. Throws Error: `what` wants values, or moves that cannot be followed, while a RehearsalScope lives.
[[noreturn]] void refuse_in_rehearsal(std::string_view what);

/// Local. Adds to what is said of a call in messages ("#12 device_put float32[8,16] DETAILS"); call it before posting any. May be empty.
void describe(const Ticket& ticket, std::shared_ptr<const std::string> details);
void describe(const Ticket& ticket, std::string details);
/// Local. The call in words, and the one before it on the same devices; empty when it is no longer among this rank's last calls.
std::string words_of(const Ticket& ticket);

/// Local. While it lives, Collective calls throw Error: user callbacks run inside one.
class CallbackScope {
 public:
  explicit CallbackScope(std::string_view what);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  std::string_view outer_;
};

}  // namespace meshwise::detail
