#include "runtime/node_task.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/node_letter.hpp"

namespace meshwise::detail {

void add_strip(NodeTask& task, const StridedBox& box, const std::int64_t* from_strides, const std::int64_t* to_strides, const std::byte* from,
               std::byte* to, std::int64_t total_bytes) {
  Copier copier(box.extents.size(), box.extents.data(), from_strides, to_strides, box.itemsize, total_bytes);
  const auto bands = copier.bands();
  task.short_source = task.short_source || copier.short_source_runs();
  task.strips.push_back({std::move(copier), from, to, task.bands});
  task.bands += bands;
}

bool copy_band(NodeTask& task) {
  const auto band = task.shared ? task.shared->claimed.fetch_add(1, std::memory_order_relaxed) : task.claimed++;
  if (task.shared) task.claimed = band + 1;
  if (band >= task.bands) return false;
  const auto after = std::upper_bound(task.strips.begin(), task.strips.end(), band, [](std::int64_t b, const NodeTask::Strip& s) { return b < s.first; });
  const auto& strip = *std::prev(after);
  strip.copier.run_unfenced(strip.from, strip.to, band - strip.first);
  return true;
}

void count_bands(NodeTask& task, std::int64_t bands) {
  if (task.shared) task.shared->finished.fetch_add(bands, std::memory_order_acq_rel);
  else task.finished += bands;
}

void answer(NodeTask& task, std::int64_t total_bytes) {
  std::uint64_t* word = task.shared->words();
  for (const auto& box : task.boxes)
    if (box.passing == Passing::copy && !(box.block && box.block->location().is_shared())) return;
  for (const auto& box : task.boxes)
    if (box.passing == Passing::copy) word = write_box(word, box);
  task.shared->total_bytes = total_bytes;
  task.shared->answered.store(1, std::memory_order_release);
}

void open_answered(NodeTask& task, Arena& arena) {
  if (task.shared->answered.load(std::memory_order_acquire) == 0) return;
  const std::uint64_t* word = task.shared->words();
  for (const auto& box : task.boxes) {
    const auto theirs = read_box(word);
    std::byte* const to = arena.writable(theirs.location);
    if (!to) return;  // the receiver does without help
    add_strip(task, box, box.strides.data(), theirs.strides, box.base, to + theirs.offset, task.shared->total_bytes);
  }
  task.state = NodeTask::State::open;
}

}  // namespace meshwise::detail
