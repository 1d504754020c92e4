#pragma once
// Control messages: news of failures, questions to ranks that keep others waiting, roll calls and goodbyes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

enum class ControlKind : std::uint32_t {
  failure,  // the sender knows of a failure: `value` is its FailureKind, the text its words
  probe,    // the sender waits for the receiver in the call of the ticket; the text is the call's
  status,   // the answer: how far the sender is, in words and flags
  roll,     // "I stand before making the communicator `hash`", to its first member; flags: room_left
  go,       // its first member: all stand there; flags: room_left when all have room
  withdraw, // a member has to leave before the communicator `hash` is made; the first member answers, unless it has said go
  off,      // the answer: it is not made
  left,     // the sender has left agreement `sequence`; the text says why
  bye,      // to rank 0: the sender's Environment ends
  leave     // from rank 0: all have said bye
};

inline constexpr std::uint32_t room_left = 1, has_reached = 2, has_ended = 4, waits_for_you = 8;

struct ControlHead {
  ControlKind kind{};
  std::int32_t from = 0;
  std::uint64_t list = 0, sequence = 0, hash = 0;
  std::uint64_t value = 0;                           // probe and status: the number of the prober's wait
  std::uint64_t other_list = 0, other_sequence = 0;  // status: the call the sender itself waits in
  std::uint64_t undone = 0;                          // by the sender (Ledger::undone): later ones have other calls at these positions
  std::uint32_t flags = 0, text_bytes = 0;
};
inline constexpr std::size_t control_limit = 3968;

/// Local. What ranks have said in roll calls and goodbyes.
struct Rolls {
  struct Roll {
    std::int64_t arrived = 0;
    bool room = true, go = false, off = false;
  };
  std::map<std::uint64_t, Roll> groups;
  std::vector<bool> said_bye;
  std::int64_t byes = 0;
  bool leave = false;
};

/// Local. Under the lock: sends; the message is kept until it has left.
void send_control(int to, ControlHead head, std::string_view text);
/// Local. Under the lock: acts on a message.
void on_control(const ControlHead& head, std::string_view text);

}  // namespace meshwise::detail
