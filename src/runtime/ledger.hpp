#pragma once
// What this rank has called: the position in each device list's sequence, and the last calls in a form that other threads may ask for.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

using Clock = std::chrono::steady_clock;

/// Local. One ordered device list (or pair of lists, for moves): how many calls this rank has entered, and the hash of all of them in
/// order.
struct Sequence {
  std::uint64_t list = 0;
  std::uint64_t next = 0;
  std::uint64_t history = 0;
  bool member = false;
};

/// Local. A call in few words, as it may lie in a message.
struct CallWords {
  std::uint64_t position = 0;
  std::array<char, 24> operation{};
  std::array<std::int64_t, 6> shape{};
  std::uint8_t ndim = 255;  // 255: no shape
  Dtype dtype = Dtype::float32;

  std::string text() const;
};
static_assert(std::is_trivially_copyable_v<CallWords>);

/// Local. A call, what else is to be said of it, and the call before it on the same devices: where ranks parted in a call that sent nothing, that one
/// tells them apart.
struct Words {
  CallWords call, before;
  bool has_before = false;
  std::shared_ptr<const std::string> details{};

  /// Local. `#12 device_put float32[8,16] P('x',) to P(None, 'x') (after #11 add float32[8])`.
  std::string text() const;
};

/// Local. A call that was entered some time ago.
struct PastCall {
  CallWords call;
  std::shared_ptr<const std::string> details{};
  Clock::time_point when{};

  /// Local. `#12 add float32[8,16], 3.2 s ago`, or `no call yet`.
  std::string text() const;
};

class Ledger {
 public:
  /// Local. The record of that key, made at its first use; it lives as long as the process.
  Sequence& find(std::uint64_t list);
  /// Local. Advances the sequence and remembers the call.
  Ticket enter(Sequence& sequence, const Call& call, bool with_history);
  /// Local. Advances a second list's sequence, without remembering.
  void advance(Sequence& sequence, const Call& call, bool with_history);
  /// Local. Whether this rank has entered call `position` of that list.
  bool reached(std::uint64_t list, std::uint64_t position);
  /// Local. The hash of call `position` of that list, while it is among the last calls.
  std::optional<std::uint64_t> hash_of(std::uint64_t list, std::uint64_t position);
  /// Local. That call in words: `#12 add float32[8,16]`; empty when it is forgotten.
  std::string text_of(std::uint64_t list, std::uint64_t position);
  /// Local. The same in parts; without an operation when it is forgotten.
  Words words_of(std::uint64_t list, std::uint64_t position);
  void set_details(std::uint64_t list, std::uint64_t position, std::shared_ptr<const std::string> details);
  PastCall last_call();
  void restart();
  /// Local. From now on what calls change is noted. The result is for undo_to().
  std::size_t begin_notes();
  /// Local. Calls entered since.
  std::size_t noted_since(std::size_t mark) const { return notes_.size() - mark; }
  /// Local. The sequences are as they were then, as if the calls since had not been made.
  void undo_to(std::size_t mark);
  /// Local. How often that has happened, on all ranks alike: positions in sequences mean the same only between ranks that have undone the same.
  std::uint64_t undone() const { return undone_.load(); }
  /// Local. Ends what begin_notes() began.
  void end_notes();

 private:
  struct Entry {
    std::uint64_t list = 0, hash = 0;
    CallWords call;
    std::shared_ptr<const std::string> details;
    Clock::time_point when;
  };
  Entry* find_entry(std::uint64_t list, std::uint64_t position);
  Words words(const Entry& entry);

  std::mutex lock_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Sequence>> sequences_;
  std::array<Entry, 256> ring_;
  std::size_t entered_ = 0;
  struct Change {
    Sequence* sequence;
    std::uint64_t next, history;
  };
  std::vector<Change> notes_;
  int noting_ = 0;
  std::atomic<std::uint64_t> undone_{0};
};

}  // namespace meshwise::detail
