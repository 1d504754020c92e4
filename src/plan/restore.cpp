#include "plan/restore.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "plan/storage.hpp"

namespace meshwise::detail {

namespace {

class Planner {
 public:
  Planner(std::span<const ArrayToLoad> arrays, ReadSizes sizes, const std::function<std::int64_t(std::int64_t)>& node_of)
      : arrays_(arrays), sizes_(sizes), node_of_(node_of) {}

  void find_homes() {
    plan_.homes.reserve(arrays_.size());
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      plan_.first_home.push_back(plan_.homes.size());
      add_homes(static_cast<std::int64_t>(a));
    }
    plan_.first_home.push_back(plan_.homes.size());
  }

  void find_tasks(std::span<const BlockRun> runs) {
    struct Entry {
      std::int64_t file, offset, bytes;
      std::int64_t array;
      const StoredPlace* place;
    };
    std::vector<Entry> entries;
    std::size_t places = 0;
    for (const auto& array : arrays_) places += array.stored.size();
    entries.reserve(places);
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      for (const auto& place : arrays_[a].stored)
        if (!intersection(place.box, arrays_[a].region).empty())
          entries.push_back({place.file, place.offset, place.box.num_elements() * static_cast<std::int64_t>(arrays_[a].itemsize),
                             static_cast<std::int64_t>(a), &place});
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return std::tie(a.file, a.offset) < std::tie(b.file, b.offset); });
    auto sorted = std::vector<BlockRun>(runs.begin(), runs.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const BlockRun& a, const BlockRun& b) { return std::tie(a.file, a.offset) < std::tie(b.file, b.offset); });
    auto run = sorted.begin();
    for (const auto& entry : entries) {
      while (run != sorted.end() && (run->file < entry.file || (run->file == entry.file && run->offset + run->bytes <= entry.offset)))
        ++run;
      if (run == sorted.end()) break;
      const auto size = static_cast<std::int64_t>(arrays_[static_cast<std::size_t>(entry.array)].itemsize);
      for (auto at = entry.offset; at < entry.offset + entry.bytes;) {
        const auto number = (at - run->offset) / sizes_.block;
        const auto start = run->offset + number * sizes_.block;
        const auto piece = (at - start) / sizes_.piece + 1;  // no segment crosses the end of a piece
        const auto stop =
            std::min({start + sizes_.block, start + piece * sizes_.piece, run->offset + run->bytes, entry.offset + entry.bytes});
        add_segments(block_at(*run, number, start), entry.array, *entry.place, (at - entry.offset) / size, (stop - at) / size, size);
        at = stop;
      }
    }
    std::erase_if(blocks_, [](const ReadTask& task) { return task.segments.empty(); });
  }

  RestorePlan choose_readers() {
    for (auto& block : blocks_) {
      std::map<std::int64_t, std::int64_t> wanted;  // bytes by rank
      for (const auto& segment : block.segments)
        for (const auto& home : plan_.homes_of(segment.array))
          if (const auto elements = intersection(segment.box, home.box).num_elements(); elements > 0)
            wanted[home.rank] += elements * static_cast<std::int64_t>(arrays_[static_cast<std::size_t>(segment.array)].itemsize);
      const auto better = [&](const auto& a, const auto& b) {
        if (a.second != b.second) return a.second > b.second;
        return read_[a.first] < read_[b.first];
      };
      auto best = wanted.begin();
      for (auto rank = wanted.begin(); rank != wanted.end(); ++rank)
        if (better(*rank, *best)) best = rank;
      block.reader = best->first;
      read_[block.reader] += block.bytes;
      plan_.bytes_read += block.bytes;
      cut(std::move(block), wanted.size() > 1);
    }
    return std::move(plan_);
  }

 private:
  // A box's holders on one node share its memory, which is the holder's that has least so far.
  void add_homes(std::int64_t array) {
    const auto& wanted = arrays_[static_cast<std::size_t>(array)];
    const auto shape = wanted.region.shape();
    if (shape.num_elements() == 0) return;
    const auto& devices = wanted.target.devices();
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> known;  // (part, node): its home
    for (std::int64_t position = 0; position < devices.size(); ++position) {
      std::int64_t part = 0;
      for (std::int64_t axis = 0; axis < shape.ndim(); ++axis) {
        const auto& split = wanted.target.split(axis);
        part = part * split.parts + split.part_at(position);
      }
      const auto rank = devices[position].rank;
      const auto [found, is_new] = known.try_emplace({part, node_of_(rank)}, plan_.homes.size());
      if (is_new) {
        const auto box = wanted.target.index_at(shape, position);
        if (box.empty()) {
          known.erase(found);
          continue;
        }
        plan_.homes.push_back({array, moved_to(box, wanted.region), rank, {}});
      }
      auto& home = plan_.homes[found->second];
      home.positions.push_back(position);
      if (held_[rank] < held_[home.rank]) home.rank = rank;
    }
    for (auto home = plan_.first_home.back(); home < plan_.homes.size(); ++home)
      held_[plan_.homes[home].rank] += plan_.homes[home].box.num_elements() * static_cast<std::int64_t>(wanted.itemsize);
  }

  ReadTask& block_at(const BlockRun& run, std::int64_t number, std::int64_t start) {
    if (blocks_.empty() || blocks_.back().file != run.file || blocks_.back().offset != start)
      blocks_.push_back({run.file, start, std::min(sizes_.block, run.offset + run.bytes - start), run.first_block + number});
    return blocks_.back();
  }

  // A block's pieces, those too that nobody wants: the checksum is of all of them.
  void cut(ReadTask block, bool is_shared) {
    auto segment = block.segments.begin();
    const auto end = block.offset + block.bytes;
    for (auto at = block.offset; at < end; at += sizes_.piece) {
      ReadTask piece{block.file, at, std::min(sizes_.piece, end - at), block.block, block.reader};
      if (is_shared) piece.round = rounds_[block.reader]++;
      plan_.rounds = std::max(plan_.rounds, piece.round + 1);
      piece.begins_block = at == block.offset;
      piece.ends_block = at + piece.bytes == end;
      for (; segment != block.segments.end() && segment->offset < at + piece.bytes; ++segment)
        piece.segments.push_back(std::move(*segment));
      plan_.tasks.push_back(std::move(piece));
    }
  }

  void add_segments(ReadTask& block, std::int64_t array, const StoredPlace& place, std::int64_t first, std::int64_t count,
                    std::int64_t size) {
    auto offset = place.offset + first * size;
    for (const auto& box : boxes_of_run(place.box.shape(), first, count)) {
      auto global = moved_to(box, place.box);
      const auto bytes = box.num_elements() * size;
      if (!intersection(global, arrays_[static_cast<std::size_t>(array)].region).empty())
        block.segments.push_back({array, std::move(global), offset});
      offset += bytes;
    }
  }

  std::span<const ArrayToLoad> arrays_;
  ReadSizes sizes_;
  const std::function<std::int64_t(std::int64_t)>& node_of_;
  std::vector<ReadTask> blocks_;
  RestorePlan plan_;
  std::map<std::int64_t, std::int64_t> held_, read_, rounds_;  // by rank
};

}  // namespace

RestorePlan plan_restore(std::span<const ArrayToLoad> arrays, std::span<const BlockRun> runs, ReadSizes sizes,
                         const std::function<std::int64_t(std::int64_t)>& node_of) {
  Planner planner(arrays, sizes, node_of);
  planner.find_homes();
  planner.find_tasks(runs);
  return planner.choose_readers();
}

}  // namespace meshwise::detail
