#include "plan/storage.hpp"

#include <algorithm>
#include <utility>

namespace meshwise::detail {

namespace {

struct Holder {
  std::int64_t rank, position;
};

class Planner {
 public:
  explicit Planner(std::int64_t ranks) : load_(static_cast<std::size_t>(ranks)) {
    plan_.run_bytes.assign(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(dtype_count, 0));
    for (std::int64_t rank = 0; rank < ranks; ++rank) everyone_.push_back({rank, -1});
  }

  void reserve(std::span<const ArrayToStore> arrays) {
    std::size_t most = 0;
    for (const auto& array : arrays) most += array.sharding ? static_cast<std::size_t>(array.sharding->devices().size()) : load_.size();
    plan_.pieces.reserve(std::min(most, std::size_t{1} << 20));
  }

  void add(std::int64_t number, const ArrayToStore& array) {
    if (array.shape.num_elements() == 0) return;
    if (!array.sharding) return add_box(number, array.dtype, Index::whole(array.shape), everyone_);
    const auto& sharding = *array.sharding;
    const auto devices = sharding.devices().size();
    const auto replicas = sharding.replicas().parts;
    if (replicas == 1) {
      for (std::int64_t position = 0; position < devices; ++position)
        add_piece(number, array.dtype, sharding.index_at(array.shape, position), {sharding.devices()[position].rank, position});
      return;
    }
    // The holders of a box are the positions whose parts agree; list order keeps them in order of their replica ids.
    std::vector<std::pair<Index, std::vector<Holder>>> boxes;
    std::vector<std::size_t> box_of_part;
    for (std::int64_t position = 0; position < devices; ++position) {
      std::size_t part = 0;
      for (std::int64_t axis = 0; axis < array.shape.ndim(); ++axis) {
        const auto& split = sharding.split(axis);
        part = part * static_cast<std::size_t>(split.parts) + static_cast<std::size_t>(split.part_at(position));
      }
      if (part >= box_of_part.size()) box_of_part.resize(part + 1, none);
      if (box_of_part[part] == none) {
        box_of_part[part] = boxes.size();
        boxes.emplace_back(sharding.index_at(array.shape, position), std::vector<Holder>());
      }
      auto& holders = boxes[box_of_part[part]].second;
      const auto rank = sharding.devices()[position].rank;
      if (std::none_of(holders.begin(), holders.end(), [&](const Holder& h) { return h.rank == rank; }))
        holders.push_back({rank, position});
    }
    for (const auto& [box, holders] : boxes) add_box(number, array.dtype, box, holders);
  }

  StoragePlan take() { return std::move(plan_); }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  void add_box(std::int64_t number, Dtype dtype, const Index& box, const std::vector<Holder>& holders) {
    const auto bytes = box.num_elements() * static_cast<std::int64_t>(itemsize(dtype));
    std::int64_t axis = 0;
    while (axis < box.ndim() && box[axis].size() <= 1) ++axis;
    const auto length = axis < box.ndim() ? box[axis].size() : 1;
    const auto slices = std::min({static_cast<std::int64_t>(holders.size()), length, bytes / smallest_slice});
    if (slices < 2) {
      const auto least =
          std::min_element(holders.begin(), holders.end(), [&](const Holder& a, const Holder& b) { return load(a) < load(b); });
      return add_piece(number, dtype, box, *least);
    }
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      auto part_of_box = box;
      const auto rows = part(slice, slices, length);
      part_of_box[axis] = {box[axis].start + rows.start, box[axis].start + rows.stop};
      add_piece(number, dtype, part_of_box, holders[static_cast<std::size_t>(slice)]);
    }
  }

  std::int64_t& load(const Holder& holder) { return load_[static_cast<std::size_t>(holder.rank)]; }

  void add_piece(std::int64_t number, Dtype dtype, const Index& box, const Holder& holder) {
    const auto bytes = box.num_elements() * static_cast<std::int64_t>(itemsize(dtype));
    if (bytes == 0) return;
    auto& end = plan_.run_bytes[static_cast<std::size_t>(holder.rank)][static_cast<std::size_t>(dtype)];
    if (bytes >= aligned_from) end = (end + box_alignment - 1) / box_alignment * box_alignment;
    plan_.pieces.push_back({number, holder.rank, holder.position, end, box});
    end += bytes;
    load(holder) += bytes;
  }

  StoragePlan plan_;
  std::vector<std::int64_t> load_;
  std::vector<Holder> everyone_;
};

void append_run(const Shape& shape, std::int64_t axis, Index outer, std::int64_t first, std::int64_t count, std::vector<Index>& boxes) {
  if (count == 0) return;
  if (axis == shape.ndim()) {
    boxes.push_back(std::move(outer));
    return;
  }
  std::int64_t row = 1;
  for (auto inner = axis + 1; inner < shape.ndim(); ++inner) row *= shape[inner];
  const auto at = [&](Range rows, bool whole) {
    auto box = outer;
    box.push_back(rows);
    if (whole)
      for (auto inner = axis + 1; inner < shape.ndim(); ++inner) box.push_back({0, shape[inner]});
    return box;
  };
  auto index = first / row;
  const auto head = first % row;
  if (head > 0 || count < row) {  // a row that is not whole: its part is found on the axes further in
    const auto taken = std::min(count, row - head);
    append_run(shape, axis + 1, at({index, index + 1}, false), head, taken, boxes);
    count -= taken;
    ++index;
  }
  if (const auto rows = count / row; rows > 0) {
    boxes.push_back(at({index, index + rows}, true));
    index += rows;
    count -= rows * row;
  }
  append_run(shape, axis + 1, at({index, index + 1}, false), 0, count, boxes);
}

std::vector<bool> with_datasets(const std::vector<StoredPiece>& pieces, std::span<const ArrayToStore> arrays) {
  std::vector<bool> is_large(arrays.size());
  for (const auto& piece : pieces) {
    const auto array = static_cast<std::size_t>(piece.array);
    if (piece.box.num_elements() * static_cast<std::int64_t>(itemsize(arrays[array].dtype)) >= small_piece) is_large[array] = true;
  }
  const auto small = std::count(is_large.begin(), is_large.end(), false);
  return small > most_small_datasets ? is_large : std::vector<bool>(arrays.size(), true);
}

}  // namespace

StoragePlan plan_storage(std::span<const ArrayToStore> arrays, std::int64_t ranks) {
  Planner planner(ranks);
  planner.reserve(arrays);
  for (std::size_t number = 0; number < arrays.size(); ++number) planner.add(static_cast<std::int64_t>(number), arrays[number]);
  auto plan = planner.take();
  plan.has_dataset = with_datasets(plan.pieces, arrays);
  return plan;
}

std::vector<Index> boxes_of_run(const Shape& shape, std::int64_t first, std::int64_t count) {
  std::vector<Index> boxes;
  append_run(shape, 0, Index{}, first, count, boxes);
  return boxes;
}

}  // namespace meshwise::detail
