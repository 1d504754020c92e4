// Each device gets its own box of the combination: on a node that shares memory it reads that box in every block where it is, elsewhere the boxes are sent.

#include <algorithm>
#include <cstring>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/group_exchange.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

/// A box in a dense block of `shape`.
StridedBox box_in(const LocalPart& part, const Shape& shape, std::size_t itemsize, const Index& box) {
  StridedBox out{part.data, box.shape().lengths(), row_major_strides(shape), itemsize, part.block};
  for (std::size_t d = 0; d < out.strides.size(); ++d) {
    out.strides[d] *= static_cast<std::int64_t>(itemsize);
    out.base += box[static_cast<std::int64_t>(d)].start * out.strides[d];
  }
  return out;
}

/// Axes that stand together as one, so that rows are as long as they can be; the last axis's elements stand side by side.
StridedBox folded(const StridedBox& box) {
  StridedBox out{box.base, {}, {}, box.itemsize};
  for (std::size_t d = 0; d < box.extents.size(); ++d) {
    if (box.extents[d] == 1) continue;
    if (!out.extents.empty() && out.strides.back() == box.strides[d] * box.extents[d]) {
      out.extents.back() *= box.extents[d];
      out.strides.back() = box.strides[d];
    } else {
      out.extents.push_back(box.extents[d]);
      out.strides.push_back(box.strides[d]);
    }
  }
  if (out.extents.empty() || out.strides.back() != static_cast<std::int64_t>(box.itemsize)) {
    out.extents.push_back(1);
    out.strides.push_back(static_cast<std::int64_t>(box.itemsize));
  }
  return out;
}

/// out = parts[0] (+) parts[1] (+) ..., dense; the parts are boxes that lie alike. A row at a time, in tiles that stay in the nearest cache.
void combine_boxes(const std::vector<StridedBox>& parts, std::byte* out, const Combine& combine) {
  const auto first = folded(parts[0]);
  constexpr std::int64_t tile_bytes = 16 << 10;
  const auto size = static_cast<std::int64_t>(first.itemsize), row = first.extents.back(),
             tile = std::max<std::int64_t>(tile_bytes / size, 1);
  const auto outer = first.extents.size() - 1;
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < outer; ++d) rows *= first.extents[d];
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t offset = 0, rest = r;
    for (auto d = outer; d-- > 0;) {
      offset += rest % first.extents[d] * first.strides[d];
      rest /= first.extents[d];
    }
    for (std::int64_t start = 0; start < row; start += tile) {
      const auto length = std::min(tile, row - start);
      std::memcpy(out, parts[0].base + offset + start * size, static_cast<std::size_t>(length * size));
      for (std::size_t d = 1; d < parts.size(); ++d) combine(out, parts[d].base + offset + start * size, length);
      out += length * size;
    }
  }
}

struct Scatter {
  const Members& m;
  std::size_t me;
  std::span<const LocalPart> mine;
  const Shape& shape;
  std::size_t itemsize;
  std::span<const Index> boxes;
  std::span<const LocalPart> results;
  const Combine& combine;
  const Ticket& ticket;

  std::int64_t block_bytes() const { return shape.num_elements() * static_cast<std::int64_t>(itemsize); }
  std::int64_t box_bytes(std::size_t device) const { return boxes[device].num_elements() * static_cast<std::int64_t>(itemsize); }

  /// The rows of box `device` are in `blocks`, one a device of the group, whole.
  void combine_whole_blocks(std::size_t device, const std::vector<const std::byte*>& blocks) const {
    if (boxes[device].empty()) return;
    std::vector<StridedBox> parts;
    for (const auto* block : blocks) parts.push_back(box_in({const_cast<std::byte*>(block), nullptr}, shape, itemsize, boxes[device]));
    combine_boxes(parts, results[m.local[device]].data, combine);
  }

  void on_node() const {
    BoxesOf to(m.ranks.size()), from(m.ranks.size());
    for (std::size_t p = 0; p < m.ranks.size(); ++p) {
      for (const auto& each : mine) to[p].push_back(lent_bytes(each.data, block_bytes(), each.block));
      for (std::size_t k = 0; k < m.devices[p]; ++k) from[p].push_back(lent_bytes(nullptr, block_bytes(), nullptr));
    }
    const auto transfer = exchange_with_all(m, me, 1, std::move(to), std::move(from), {}, ticket);
    auto next = transfer ? transfer->adopted().begin() : std::vector<Adopted>::const_iterator{};
    // Blocks come process by process; devices are in the group's order.
    std::vector<std::vector<const std::byte*>> by_process(m.ranks.size());
    for (std::size_t p = 0; p < m.ranks.size(); ++p)
      for (std::size_t k = 0; k < m.devices[p]; ++k) {
        if (p == me) {
          by_process[p].push_back(mine[k].data);
        } else {
          by_process[p].push_back(next->block->data() + next->offset);
          ++next;
        }
      }
    std::vector<const std::byte*> blocks;
    for (std::size_t d = 0; d < m.process.size(); ++d) blocks.push_back(by_process[m.process[d]][m.local[d]]);
    run_local_part("a reduction", [&] {
      for (std::size_t d = 0; d < m.process.size(); ++d)
        if (m.process[d] == me) combine_whole_blocks(d, blocks);
    });
  }

  void by_messages() const {
    // What this process's devices want of every other device, one box behind the other.
    std::int64_t wanted = 0;
    for (std::size_t d = 0; d < m.process.size(); ++d)
      if (m.process[d] == me) wanted += box_bytes(d) * static_cast<std::int64_t>(m.process.size() - m.devices[me]);
    std::shared_ptr<Block> arrived;
    run_local_part("a reduction", [&] { arrived = block_store().allocate(static_cast<std::size_t>(wanted)); });
    BoxesOf to(m.ranks.size()), from(m.ranks.size());
    std::vector<std::vector<StridedBox>> parts(m.process.size());  // of each device of this process, by giver
    auto* at = arrived->data();
    for (std::size_t taker = 0; taker < m.process.size(); ++taker)
      for (std::size_t giver = 0; giver < m.process.size(); ++giver) {
        const bool takes = m.process[taker] == me, gives = m.process[giver] == me;
        if (gives && !takes) to[m.process[taker]].push_back(box_in(mine[m.local[giver]], shape, itemsize, boxes[taker]));
        if (!takes) continue;
        if (gives) {
          parts[taker].push_back(box_in(mine[m.local[giver]], shape, itemsize, boxes[taker]));
          continue;
        }
        // Both ends of a box have its extents.
        parts[taker].push_back(box_in({at, arrived.get()}, boxes[taker].shape(), itemsize, Index::whole(boxes[taker].shape())));
        from[m.process[giver]].push_back(parts[taker].back());
        at += box_bytes(taker);
      }
    exchange_with_all(m, me, 1, std::move(to), std::move(from), {arrived}, ticket);
    run_local_part("a reduction", [&] {
      for (std::size_t d = 0; d < m.process.size(); ++d)
        if (m.process[d] == me && !boxes[d].empty()) combine_pieces(parts[d], results[m.local[d]].data);
    });
  }

  /// Of several devices of this process: their own boxes lie in blocks, the others' are dense. Dense copies make them alike.
  void combine_pieces(const std::vector<StridedBox>& parts, std::byte* out) const {
    bool is_first = true;
    std::vector<std::byte> copy;
    for (const auto& part : parts) {
      const auto bytes = part.bytes();
      const std::byte* from = part.base;
      if (part.run_bytes() != bytes) {
        copy.resize(static_cast<std::size_t>(bytes));
        StridedBox dense{copy.data(), part.extents, row_major_strides(Shape(part.extents)), part.itemsize};
        for (auto& stride : dense.strides) stride *= static_cast<std::int64_t>(part.itemsize);
        copy_box(part, dense);
        from = copy.data();
      }
      if (is_first)
        std::memcpy(out, from, static_cast<std::size_t>(bytes));
      else
        combine(out, from, bytes / static_cast<std::int64_t>(itemsize));
      is_first = false;
    }
  }
};

}  // namespace

void reduce_scatter(std::span<const Device> group, std::span<const LocalPart> mine, const Shape& shape, std::size_t itemsize,
                    std::span<const Index> boxes, std::span<const LocalPart> results, const Combine& combine, const Ticket& ticket) {
  if (mine.empty() || shape.num_elements() == 0) return;
  const Members m = members_of(group);
  const Scatter scatter{m, m.own(), mine, shape, itemsize, boxes, results, combine, ticket};
  if (m.all_lend_blocks())
    scatter.on_node();
  else
    scatter.by_messages();
}

}  // namespace meshwise::detail
