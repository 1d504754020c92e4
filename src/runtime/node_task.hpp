#pragma once
// One side of what a pair of ranks of a node exchanges in one call: its boxes, cut in bands, which both ends may copy where it is large.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "meshwise/runtime/transport.hpp"
#include "runtime/arena.hpp"
#include "runtime/copier.hpp"

namespace meshwise::detail {

class Movement;

/// Local. Lies in the sender's arena, beside the places of the receiver's boxes, which the receiver fills in.
struct SharedTask {
  std::atomic<std::int64_t> claimed;   // bands that somebody copies or has copied
  std::atomic<std::int64_t> finished;  // bands that are copied
  std::atomic<std::int32_t> answered;  // the receiver's boxes are filled in: the sender can help
  std::atomic<std::int32_t> complete;
  std::int64_t total_bytes;            // what the receiver's copiers were made for
  std::int64_t reserved[4];

  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
};
static_assert(sizeof(SharedTask) == 64);

/// Local. One side of what a pair of ranks of a node exchanges in one call, or what a rank copies to itself.
struct NodeTask {
  enum class Role : std::uint8_t { receives, sends, own };
  enum class State : std::uint8_t { expected, blocked, open };
  struct Strip {
    Copier copier;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t first = 0;  // number of its first band in the task
  };

  Movement* owner = nullptr;
  Role role = Role::receives;
  State state = State::expected;
  int peer = 0, place = 0;  // rank in the world and on the node
  std::int64_t bytes = 0;
  std::vector<StridedBox> boxes{};
  std::vector<Strip> strips{};
  std::int64_t bands = 0, claimed = 0, finished = 0;
  bool short_source = false;                // the sender should drive
  bool counted = false;                     // among its movement's unanswered
  std::size_t adopts_from = 0;              // its first among the movement's adopted blocks
  SharedTask* shared = nullptr;             // where both ends may copy
  std::shared_ptr<Block> shared_block{};
  std::vector<BlockLocation> lent{};        // references that came with the letter
  std::vector<BlockLocation> awaited{};     // that it is to copy from, and that are still being written
  std::vector<BlockLocation> adopted{};     // lent before they were written
  bool written = false;
};

/// Local. Adds a box of the task: `from` and `to` are its first elements.
void add_strip(NodeTask& task, const StridedBox& box, const std::int64_t* from_strides, const std::int64_t* to_strides, const std::byte* from,
               std::byte* to, std::int64_t total_bytes);
/// Local. Copies the next band that nobody has claimed. False when there is none. It counts once it is fenced (Copier::fence) and told (count_bands).
bool copy_band(NodeTask& task);
void count_bands(NodeTask& task, std::int64_t bands);
inline bool exhausted(const NodeTask& task) { return task.claimed >= task.bands; }

/// Local, receiver. The sender may help: where the task's boxes are.
void answer(NodeTask& task, std::int64_t total_bytes);
/// Local, sender. Opens a task whose receiver has answered.
void open_answered(NodeTask& task, Arena& arena);

}  // namespace meshwise::detail
