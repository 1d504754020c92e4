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
      : jobs_(jobs), target_(target), devices_(target.sharding.devices()), dtype_(dtype), fill_(fill), writer_(writer), topology_(topology()) {
    // A block that is put together from several arrays is nobody's old one, and whose new one it is would be another plan.
    if (jobs.size() != 1 || fill != nullptr || writer) topology_.node_shares_memory = false;
  }

  Moved run(const Ticket& ticket) {
    const auto mine = local_devices();
    for (std::int64_t i = 0; i < mine.size(); ++i)
      for (const auto& job : jobs_) plans_.push_back(plan_device(job.movement, topology_, mine[i]));
    for (const auto position : local_positions(devices_)) receive(position);
    for (std::int64_t i = 0; i < mine.size(); ++i)
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        for (auto& piece : plan(mine[i], j).sends) send(j, std::move(piece));
    auto sends = exchanges(outgoing_), receives = exchanges(incoming_);
    std::vector<std::shared_ptr<Block>> keep = std::move(own_);
    if (!sends.empty() || !receives.empty()) {
      for (const auto& job : jobs_)
        for (const auto& shard : job.source) keep.push_back(shard.data.block());
      for (const auto& shard : moved_.shards)
        if (shard.lent < 0) keep.push_back(shard.data.block());
    }
    number_lent(receives);
    moved_.transfer = post(ticket, std::move(sends), std::move(receives), std::move(keep), std::move(copies_));
    return std::move(moved_);
  }

 private:
  struct Part {
    std::size_t job;
    Piece piece;
  };

  DevicePlan& plan(const Device& device, std::size_t job) { return plans_[static_cast<std::size_t>(device.local_index) * jobs_.size() + job]; }

  void receive(std::int64_t position) {
    const Device device = devices_[position];
    const Index held = target_.box_at(position);
    for (const auto& other : moved_.shards)
      if (other.lent < 0 && target_.box_at(other.position) == held) {
        moved_.shards.push_back({position, other.data});
        return;
      }
    std::vector<Part> parts;
    std::int64_t covered = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      for (auto& piece : plan(device, j).receives) {
        covered += piece.box.num_elements();
        parts.push_back({j, std::move(piece)});
      }
    if (parts.size() == 1 && !writer_ && (share(position, held, parts.front()) || borrow(position, held, parts.front()))) return;
    LocalArray block(held.shape(), dtype_);
    if (fill_ != nullptr && covered < held.num_elements()) fill_value(block, fill_);
    if (writer_) writer_(held, block);
    for (auto& part : parts) {
      const auto& end = jobs_[part.job].movement.target;
      auto memory = box_memory(end, held, block, part.piece.box);
      if (part.piece.source.rank != device.rank) {
        incoming_[part.piece.source.rank].push_back({part.job, std::move(part.piece), std::move(memory)});
      } else {
        copies_.push_back({source_memory(part), std::move(memory)});
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

  /// Whether a piece that the plan hands over between processes is taken as a block: the same answer at both ends.
  bool is_lent(std::size_t job, const Piece& piece) const {
    const auto& target = jobs_[job].movement.target;
    return piece.action == Action::hand_over && lends_blocks_to(piece.source.rank == process_index() ? piece.target.rank : piece.source.rank) &&
           covers(target, target.box_at(*devices_.position_of(piece.target.id)), piece.box);
  }

  /// Another process of the node has the block; it comes when its owner has said where it is.
  bool borrow(std::int64_t position, const Index& held, Part& part) {
    if (part.piece.source.rank == devices_[position].rank || !is_lent(part.job, part.piece)) return false;
    StridedBox memory;
    memory.itemsize = itemsize(dtype_);
    memory.extents = held.shape().lengths();
    memory.strides.assign(memory.extents.size(), 0);
    memory.passing = Passing::lend;
    borrowed_[part.piece.target.id] = moved_.shards.size();
    moved_.shards.push_back({position, LocalArray(held.shape(), dtype_, nullptr, 0, row_major_strides(held.shape()))});
    incoming_[part.piece.source.rank].push_back({part.job, std::move(part.piece), std::move(memory)});
    return true;
  }

  std::pair<Index, const LocalShard*> source_of(const Part& part) const { return source_of(part.job, part.piece.source); }

  std::pair<Index, const LocalShard*> source_of(std::size_t j, const Device& device) const {
    const auto& job = jobs_[j];
    const auto position = *job.movement.source.sharding.devices().position_of(device.id);
    return {job.movement.source.box_at(position), find_shard(job.source, position)};
  }

  StridedBox source_memory(const Part& part) const {
    const auto [held, shard] = source_of(part);
    return box_memory(jobs_[part.job].movement.source, held, shard->data, part.piece.box);
  }

  void send(std::size_t job, Piece piece) {
    const auto& movement = jobs_[job].movement;
    const bool lent = is_lent(job, piece);
    StridedBox memory;
    if (piece.from_new) {
      const auto* const shard = find_shard(moved_.shards, *devices_.position_of(piece.source.id));
      memory = box_memory(movement.target, target_.box_at(shard->position), shard->data, piece.box);
    } else {
      const auto [held, shard] = source_of(job, piece.source);
      const auto window = piece_window(movement.source, held, shard->data, piece.box);
      if (lent && !window_is_fair(window)) {
        LocalArray own(window.shape(), window.dtype());
        copy_values(window, own);
        own_.push_back(own.block());
        memory = box_memory({movement.target.sharding, own.shape()}, Index::whole(own.shape()), own, Index::whole(own.shape()));
      } else {
        memory = box_memory(movement.source, held, shard->data, piece.box);
      }
    }
    memory.passing = lent ? Passing::lend : Passing::copy;
    memory.fresh = piece.from_new;
    outgoing_[piece.target.rank].push_back({job, std::move(piece), std::move(memory)});
  }

  /// Lent blocks are numbered as the transfer will list them.
  void number_lent(const std::vector<Exchange>& receives) {
    std::int64_t next = 0;
    for (const auto& exchange : receives)
      for (const auto& packet : incoming_[exchange.rank])
        if (const auto at = borrowed_.find(packet.piece.target.id); at != borrowed_.end()) moved_.shards[at->second].lent = next++;
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
  Topology topology_;
  std::vector<DevicePlan> plans_{};  // of each of this rank's devices, of each job
  Moved moved_{};
  std::map<std::int64_t, std::vector<Packet>> outgoing_{}, incoming_{};
  std::vector<LocalCopy> copies_{};
  std::map<std::int64_t, std::size_t> borrowed_{};  // shards that wait for a lent block, by device
  std::vector<std::shared_ptr<Block>> own_{};
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
  out.block = block.block().get();
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
