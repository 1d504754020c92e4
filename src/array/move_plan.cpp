#include "array/move_plan.hpp"

#include <algorithm>
#include <map>

#include "array/call.hpp"
#include "array/recent.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/node.hpp"

namespace meshwise::detail {

namespace {

/// A piece of one job, on its way to or from a peer.
struct Packet {
  std::size_t job;
  Piece piece;
  PlannedBox memory;
};

bool packet_before(const Packet& a, const Packet& b) {
  return a.job != b.job ? a.job < b.job : piece_order(a.piece, b.piece);
}

AxisView view_of(const End& end, std::int64_t axis) {
  return end.views.empty() ? AxisView{axis, 0, 1} : end.views[static_cast<std::size_t>(axis)];
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

/// The memory of a movement's box in a block that holds `held` of that array; strides in elements.
PlannedBox memory_of(const End& end, const Index& held, const PerAxis<std::int64_t>& strides, std::size_t item, const Index& box) {
  PlannedBox out;
  out.box.itemsize = item;
  std::int64_t offset = 0;
  for (std::int64_t d = 0; d < box.ndim(); ++d) {
    const auto view = view_of(end, d);
    const auto stride = strides[static_cast<std::size_t>(view.axis)];
    offset += (view.start + view.step * box[d].start - held[view.axis].start) * stride;
    out.box.extents.push_back(box[d].size());
    out.box.strides.push_back(view.step * stride * static_cast<std::int64_t>(item));
  }
  const auto is_viewed = [&](std::int64_t a) {
    return end.views.empty() ? a < box.ndim() : std::any_of(end.views.begin(), end.views.end(), [&](const AxisView& v) { return v.axis == a; });
  };
  for (std::int64_t a = 0; a < end.shape.ndim(); ++a)
    if (!is_viewed(a)) {
      const auto at = end.fixed.empty() ? 0 : end.fixed[static_cast<std::size_t>(a)];
      offset += (at - held[a].start) * strides[static_cast<std::size_t>(a)];
    }
  out.offset = box.empty() ? 0 : offset * static_cast<std::int64_t>(item);
  return out;
}

class Maker {
 public:
  Maker(std::span<const MoveJob> jobs, const End& target, Dtype dtype, bool has_fill, bool has_writer)
      : jobs_(jobs), target_(target), devices_(target.sharding.devices()), item_(itemsize(dtype)), fill_(has_fill), writer_(has_writer), topology_(topology()) {
    // A block that is put together from several arrays is nobody's old one, and whose new one it is would be another plan.
    if (jobs.size() != 1 || has_fill || has_writer) topology_.node_shares_memory = false;
  }

  MovePlan make() {
    const auto mine = local_devices();
    for (std::int64_t i = 0; i < mine.size(); ++i)
      for (const auto& job : jobs_) plans_.push_back(plan_device(job.movement, topology_, mine[i]));
    for (const auto position : local_positions(devices_)) receive(position);
    for (std::int64_t i = 0; i < mine.size(); ++i)
      for (std::size_t j = 0; j < jobs_.size(); ++j)
        for (auto& piece : plan(mine[i], j).sends) send(j, std::move(piece));
    out_.sends = peers(outgoing_);
    out_.receives = peers(incoming_);
    return std::move(out_);
  }

 private:
  struct Part {
    std::size_t job;
    Piece piece;
  };
  struct Source {
    Index held;
    std::size_t number;
    const LocalArray* data;
  };

  DevicePlan& plan(const Device& device, std::size_t job) { return plans_[static_cast<std::size_t>(device.local_index) * jobs_.size() + job]; }

  void receive(std::int64_t position) {
    const Device device = devices_[position];
    PlannedShard shard{.position = position, .held = target_.box_at(position)};
    shard.shape = shard.held.shape();
    for (std::size_t k = 0; k < out_.shards.size(); ++k)
      if (out_.shards[k].way != PlannedShard::Way::borrow && out_.shards[k].held == shard.held) {
        shard.way = PlannedShard::Way::twin;
        shard.twin = k;
        out_.shards.push_back(std::move(shard));
        return;
      }
    std::vector<Part> parts;
    std::int64_t covered = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      for (auto& piece : plan(device, j).receives) {
        covered += piece.box.num_elements();
        parts.push_back({j, std::move(piece)});
      }
    if (parts.size() == 1 && !writer_ && (share(shard, parts.front()) || borrow(shard, parts.front()))) return;
    shard.fill = fill_ && covered < shard.held.num_elements();
    const auto strides = row_major_strides(shard.shape);
    for (auto& part : parts) {
      const auto& end = jobs_[part.job].movement.target;
      auto memory = memory_of(end, shard.held, strides, item_, part.piece.box);
      memory.shard = out_.shards.size();
      if (part.piece.source.rank != device.rank) {
        memory.forwarded = part.piece.from_new;
        incoming_[part.piece.source.rank].push_back({part.job, std::move(part.piece), std::move(memory)});
      } else {
        out_.copies.emplace_back(source_memory(part.job, part.piece), std::move(memory));
      }
    }
    out_.shards.push_back(std::move(shard));
  }

  /// The one piece is local and is all of the box: no bytes need move.
  bool share(PlannedShard& shard, const Part& part) {
    const auto& movement = jobs_[part.job].movement;
    if (part.piece.source.rank != devices_[shard.position].rank || !covers(movement.target, shard.held, part.piece.box)) return false;
    shard.window = source_memory(part.job, part.piece);
    if (!is_fair(shard.window)) return false;
    shard.way = PlannedShard::Way::window;
    out_.shards.push_back(std::move(shard));
    return true;
  }

  /// Another process of the node has the block; it comes when its owner has said where it is.
  bool borrow(PlannedShard& shard, Part& part) {
    if (part.piece.source.rank == devices_[shard.position].rank || !is_lent(part.job, part.piece)) return false;
    PlannedBox memory;
    memory.box = {nullptr, shard.shape.lengths(), PerAxis<std::int64_t>(static_cast<std::size_t>(shard.shape.ndim())), item_};
    memory.box.passing = Passing::lend;
    memory.forwarded = part.piece.from_new;
    memory.shard = out_.shards.size();
    shard.way = PlannedShard::Way::borrow;
    out_.shards.push_back(std::move(shard));
    incoming_[part.piece.source.rank].push_back({part.job, std::move(part.piece), std::move(memory)});
    return true;
  }

  /// Whether a piece that the plan hands over between processes is taken as a block: the same answer at both ends.
  bool is_lent(std::size_t job, const Piece& piece) const {
    if (piece.action != Action::hand_over || !lends_blocks_to(piece.source.rank == process_index() ? piece.target.rank : piece.source.rank)) return false;
    const auto& target = jobs_[job].movement.target;
    // Another device's new block of the very same box, however the movement came to it.
    return piece.from_new || covers(target, target.box_at(*devices_.position_of(piece.target.id)), piece.box);
  }

  Source source_of(std::size_t j, const Device& device) const {
    const auto& job = jobs_[j];
    const auto position = *job.movement.source.sharding.devices().position_of(device.id);
    const auto at = std::find_if(job.source.begin(), job.source.end(), [&](const LocalShard& s) { return s.position == position; });
    return {job.movement.source.box_at(position), static_cast<std::size_t>(at - job.source.begin()), &at->data};
  }

  PlannedBox source_memory(std::size_t job, const Piece& piece) const {
    const auto source = source_of(job, piece.source);
    auto memory = memory_of(jobs_[job].movement.source, source.held, source.data->strides(), item_, piece.box);
    memory.job = static_cast<std::int64_t>(job);
    memory.shard = source.number;
    return memory;
  }

  bool is_fair(const PlannedBox& memory) const {
    const auto& block = jobs_[static_cast<std::size_t>(memory.job)].source[memory.shard].data.block();
    return window_is_fair(memory.box, block->size());
  }

  /// Whether an earlier device of its process has the same box: it shares that one's block, unless each is lent one.
  bool is_twin(const Device& device) const {
    const auto position = *devices_.position_of(device.id);
    const auto each = devices_.devices_per_rank();
    const auto held = target_.box_at(position);
    for (auto id = device.rank * each; id < (device.rank + 1) * each; ++id)
      if (const auto other = devices_.position_of(id); other && *other < position && target_.box_at(*other) == held) return true;
    return false;
  }

  void send(std::size_t job, Piece piece) {
    const bool lent = is_lent(job, piece);
    if (piece.action == Action::hand_over && !lent && is_twin(piece.target)) return;
    PlannedBox memory;
    if (piece.from_new) {
      const auto position = *devices_.position_of(piece.source.id);
      auto at = std::find_if(out_.shards.begin(), out_.shards.end(), [&](const PlannedShard& s) { return s.position == position; });
      if (at->way == PlannedShard::Way::twin) at = out_.shards.begin() + static_cast<std::ptrdiff_t>(at->twin);
      if (at->way == PlannedShard::Way::window) {
        memory = at->window;  // of an old block after all
      } else {
        memory.box.itemsize = item_;
        memory.box.extents = at->shape.lengths();
        memory.box.strides = row_major_strides(at->shape);
        for (auto& stride : memory.box.strides) stride *= static_cast<std::int64_t>(item_);
        memory.shard = static_cast<std::size_t>(at - out_.shards.begin());
        memory.box.fresh = true;
      }
    } else {
      memory = source_memory(job, piece);
      memory.copied_first = lent && !is_fair(memory);
    }
    if (lent) memory.box.passing = Passing::lend;
    memory.forwarded = piece.from_new;
    outgoing_[piece.target.rank].push_back({job, std::move(piece), std::move(memory)});
  }

  /// Peers after this rank first, so that not everyone starts with rank 0.
  static std::vector<MovePlan::Peer> peers(std::map<std::int64_t, std::vector<Packet>>& by_peer) {
    std::vector<MovePlan::Peer> out;
    for (auto& [rank, packets] : by_peer) {
      std::sort(packets.begin(), packets.end(), packet_before);
      MovePlan::Peer peer{rank, {}};
      for (auto& packet : packets) peer.boxes.push_back(std::move(packet.memory));
      out.push_back(std::move(peer));
    }
    const auto middle = std::find_if(out.begin(), out.end(), [](const MovePlan::Peer& p) { return p.rank > process_index(); });
    std::rotate(out.begin(), middle, out.end());
    return out;
  }

  std::span<const MoveJob> jobs_;
  const End& target_;
  const DeviceList& devices_;
  std::size_t item_;
  bool fill_, writer_;
  Topology topology_;
  std::vector<DevicePlan> plans_{};  // of each of this rank's devices, of each job
  MovePlan out_{};
  std::map<std::int64_t, std::vector<Packet>> outgoing_{}, incoming_{};
};

// ---- remembered plans ----

struct Key {
  Sharding from, to;
  Shape shape;
  std::size_t item;
  bool operator==(const Key& other) const { return item == other.item && shape == other.shape && from == other.from && to == other.to; }
};

Recent<Key, MovePlan>& cache() {
  static auto* const immortal = new Recent<Key, MovePlan>(most_kept_plan_bytes);
  return *immortal;
}

}  // namespace

std::size_t kept_plan_bytes() { return cache().bytes(); }

bool lies_plainly(const LocalShard& shard) {
  return shard.data.is_contiguous() && (shard.data.nbytes() == 0 || shard.data.block()->size() == static_cast<std::size_t>(shard.data.nbytes()));
}

std::size_t MovePlan::bytes() const {
  constexpr std::size_t box = sizeof(PlannedBox) + 2 * 4 * sizeof(std::int64_t);
  std::size_t boxes = shards.size() + 2 * copies.size();
  for (const auto* side : {&sends, &receives})
    for (const auto& peer : *side) boxes += peer.boxes.size() + 1;
  return 512 + boxes * box + shards.size() * sizeof(PlannedShard);
}

StridedBox box_memory(const End& end, const Index& held, const LocalArray& block, const Index& box) {
  auto planned = memory_of(end, held, block.strides(), itemsize(block.dtype()), box);
  planned.box.base = block.data() + planned.offset;
  planned.box.block = block.block().get();
  return std::move(planned.box);
}

MovePlan plan_moves(std::span<const MoveJob> jobs, const End& target, Dtype dtype, bool has_fill, bool has_writer) {
  return Maker(jobs, target, dtype, has_fill, has_writer).make();
}

std::shared_ptr<const MovePlan> plan_reshard(std::span<const LocalShard> source, const Sharding& from, const Sharding& to, const Shape& shape, Dtype dtype) {
  const auto make = [&] {
    const MoveJob job{Movement::reshard(from, to, shape), source};
    auto plan = std::make_shared<MovePlan>(plan_moves({&job, 1}, job.movement.target, dtype, false, false));
    plan->words = std::make_shared<const std::string>(reshard_words(from, to));
    return plan;
  };
  if (!std::all_of(source.begin(), source.end(), lies_plainly)) return make();
  Key key{from, to, shape, itemsize(dtype)};
  const auto hash = mix(mix(from.hash(), to.hash()), mix(hash_shape(shape), key.item));
  if (auto found = cache().find(hash, [&](const Key& other) { return other == key; })) return found;
  auto plan = make();
  cache().add(hash, std::move(key), plan, plan->bytes());
  return plan;
}

}  // namespace meshwise::detail
