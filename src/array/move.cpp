#include "array/move.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/node.hpp"

namespace meshwise::detail {

namespace {

/// A piece of one job, on its way to or from a peer.
struct Packet {
  std::size_t job;
  Piece piece;
  StridedBox memory;
};

bool packet_before(const Packet& a, const Packet& b) {
  return a.job != b.job ? a.job < b.job : piece_order(a.piece, b.piece);
}

const LocalShard* find_shard(std::span<const LocalShard> shards, std::int64_t position) {
  for (const auto& s : shards)
    if (s.position == position) return &s;
  return nullptr;
}

AxisView view_of(const End& end, std::int64_t axis) {
  return end.views.empty() ? AxisView{axis, 0, 1} : end.views[static_cast<std::size_t>(axis)];
}

/// The piece's elements as a window on the local source block.
LocalArray piece_window(const End& end, const Index& held, const LocalArray& block, const Index& box) {
  const auto memory = box_memory(end, held, block, box);
  std::vector<std::int64_t> strides = memory.strides;
  for (auto& s : strides) s /= static_cast<std::int64_t>(memory.itemsize);
  return {Shape(memory.extents), block.dtype(), block.block(), static_cast<std::size_t>(memory.base - block.block()->data()), std::move(strides)};
}

/// The movement box that covers exactly the array box `held`, if the views are plain: one per array axis, in order, step 1.
bool covers(const End& end, const Index& held, const Index& box) {
  if (end.shape.ndim() != box.ndim()) return false;
  for (std::int64_t d = 0; d < box.ndim(); ++d) {
    const auto view = view_of(end, d);
    if (view.axis != d || view.step != 1 || box[d].start + view.start != held[d].start || box[d].stop + view.start != held[d].stop) return false;
  }
  return true;
}

class Builder {
 public:
  Builder(std::span<const MoveJob> jobs, const End& target, Dtype dtype, const std::byte* fill, const LocalWriter& writer)
      : jobs_(jobs), target_(target), devices_(target.sharding.devices()), dtype_(dtype), fill_(fill), writer_(writer) {}

  Moved run(const Ticket& ticket) {
    for (const auto position : local_positions(devices_)) receive(position);
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      for (const auto& shard : jobs_[j].source) send(j, shard);
    auto sends = exchanges(outgoing_), receives = exchanges(incoming_);
    std::vector<std::shared_ptr<Block>> keep;
    if (!sends.empty())
      for (const auto& job : jobs_)
        for (const auto& shard : job.source) keep.push_back(shard.data.block());
    if (!receives.empty())
      for (const auto& shard : moved_.shards) keep.push_back(shard.data.block());
    if (!sends.empty() || !receives.empty()) moved_.transfer = post(ticket, std::move(sends), std::move(receives), std::move(keep));
    for (const auto& [from, to] : copies_) copy_box(from, to);
    return std::move(moved_);
  }

 private:
  struct Part {
    std::size_t job;
    Piece piece;
  };

  void receive(std::int64_t position) {
    const Device device = devices_[position];
    const Index held = target_.box_at(position);
    for (const auto& other : moved_.shards)
      if (target_.box_at(other.position) == held) {
        moved_.shards.push_back({position, other.data});
        return;
      }
    std::vector<Part> parts;
    std::int64_t covered = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      for (auto& piece : plan_device(jobs_[j].movement, topology(), device).receives) {
        covered += piece.box.num_elements();
        parts.push_back({j, std::move(piece)});
      }
    if (parts.size() == 1 && !writer_ && share(position, held, parts.front())) return;
    LocalArray block(held.shape(), dtype_);
    if (fill_ != nullptr && covered < held.num_elements()) fill_value(block, fill_);
    if (writer_) writer_(held, block);
    for (auto& part : parts) {
      const auto& end = jobs_[part.job].movement.target;
      auto memory = box_memory(end, held, block, part.piece.box);
      if (part.piece.source.rank != device.rank) {
        incoming_[part.piece.source.rank].push_back({part.job, std::move(part.piece), std::move(memory)});
      } else {
        copies_.emplace_back(source_memory(part), std::move(memory));
      }
    }
    moved_.shards.push_back({position, std::move(block)});
  }

  /// The one piece is local and is all of the box: no bytes need move.
  bool share(std::int64_t position, const Index& held, const Part& part) {
    const auto& movement = jobs_[part.job].movement;
    const Device device = devices_[position];
    if (part.piece.source.rank != device.rank || !covers(movement.target, held, part.piece.box)) return false;
    const auto& [source_held, shard] = source_of(part);
    auto window = piece_window(movement.source, source_held, shard->data, part.piece.box);
    if (!window_is_fair(window)) return false;
    moved_.shards.push_back({position, std::move(window)});
    return true;
  }

  std::pair<Index, const LocalShard*> source_of(const Part& part) const {
    const auto& job = jobs_[part.job];
    const auto position = *job.movement.source.sharding.devices().position_of(part.piece.source.id);
    return {job.movement.source.box_at(position), find_shard(job.source, position)};
  }

  StridedBox source_memory(const Part& part) const {
    const auto [held, shard] = source_of(part);
    return box_memory(jobs_[part.job].movement.source, held, shard->data, part.piece.box);
  }

  void send(std::size_t job, const LocalShard& shard) {
    const auto& movement = jobs_[job].movement;
    const auto& from = movement.source;
    const Device device = from.sharding.devices()[shard.position];
    const Index held = from.box_at(shard.position);
    for (auto& piece : plan_device(movement, topology(), device).sends) {
      auto memory = box_memory(from, held, shard.data, piece.box);
      outgoing_[piece.target.rank].push_back({job, std::move(piece), std::move(memory)});
    }
  }

  /// Peers after this rank first, so that not everyone starts with rank 0.
  static std::vector<Exchange> exchanges(std::map<std::int64_t, std::vector<Packet>>& by_peer) {
    std::vector<Exchange> out;
    for (auto& [peer, packets] : by_peer) {
      std::sort(packets.begin(), packets.end(), packet_before);
      Exchange exchange{peer, {}};
      for (auto& packet : packets) exchange.boxes.push_back(std::move(packet.memory));
      out.push_back(std::move(exchange));
    }
    const auto middle = std::find_if(out.begin(), out.end(), [](const Exchange& e) { return e.rank > process_index(); });
    std::rotate(out.begin(), middle, out.end());
    return out;
  }

  std::span<const MoveJob> jobs_;
  const End& target_;
  const DeviceList& devices_;
  Dtype dtype_;
  const std::byte* fill_;
  const LocalWriter& writer_;
  Moved moved_{};
  std::map<std::int64_t, std::vector<Packet>> outgoing_{}, incoming_{};
  std::vector<std::pair<StridedBox, StridedBox>> copies_{};
};

}  // namespace

bool window_is_fair(const LocalArray& window) {
  return 2 * window.nbytes() >= static_cast<std::int64_t>(window.block()->size()) || window.size() == 0;
}

std::vector<std::int64_t> local_positions(const DeviceList& devices) {
  std::vector<std::int64_t> positions;
  const auto mine = local_devices();
  for (std::int64_t i = 0; i < mine.size(); ++i)
    if (const auto position = devices.position_of(mine.id(i))) positions.push_back(*position);
  std::sort(positions.begin(), positions.end());
  return positions;
}

StridedBox box_memory(const End& end, const Index& held, const LocalArray& block, const Index& box) {
  StridedBox out;
  out.itemsize = itemsize(block.dtype());
  std::int64_t offset = 0;
  std::vector<bool> named(static_cast<std::size_t>(end.shape.ndim()), false);
  for (std::int64_t d = 0; d < box.ndim(); ++d) {
    const auto view = view_of(end, d);
    const auto stride = block.strides()[static_cast<std::size_t>(view.axis)];
    named[static_cast<std::size_t>(view.axis)] = true;
    offset += (view.start + view.step * box[d].start - held[view.axis].start) * stride;
    out.extents.push_back(box[d].size());
    out.strides.push_back(view.step * stride * static_cast<std::int64_t>(out.itemsize));
  }
  for (std::int64_t a = 0; a < end.shape.ndim(); ++a)
    if (!named[static_cast<std::size_t>(a)]) {
      const auto at = end.fixed.empty() ? 0 : end.fixed[static_cast<std::size_t>(a)];
      offset += (at - held[a].start) * block.strides()[static_cast<std::size_t>(a)];
    }
  out.base = box.empty() ? block.data() : block.data() + offset * static_cast<std::int64_t>(out.itemsize);
  return out;
}

void fill_value(const LocalArray& target, const std::byte* value) {
  const auto size = itemsize(target.dtype());
  if (target.size() == 0) return;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(target.ndim()), 0);
  StridedBox from{const_cast<std::byte*>(value), target.shape().lengths(), strides, size};
  StridedBox to{target.data(), target.shape().lengths(), target.strides(), size};
  for (auto& s : to.strides) s *= static_cast<std::int64_t>(size);
  copy_box(from, to);
}

Moved run_moves(std::span<const MoveJob> jobs, const End& target, Dtype dtype, const std::byte* fill, const Ticket& ticket, const LocalWriter& writer) {
  return Builder(jobs, target, dtype, fill, writer).run(ticket);
}

Moved run_reshard(std::span<const LocalShard> source, const Sharding& from, const Sharding& to, const Shape& shape, Dtype dtype, const Ticket& ticket) {
  const MoveJob job{Movement::reshard(from, to, shape), source};
  return run_moves({&job, 1}, job.movement.target, dtype, nullptr, ticket);
}

}  // namespace meshwise::detail
