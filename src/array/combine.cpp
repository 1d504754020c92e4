#include "array/combine.hpp"

#include <algorithm>

#include "base/boxes.hpp"

namespace meshwise::detail {

namespace {

/// The devices that combine with each other, and this rank's shards among them.
struct CombiningGroup {
  std::int64_t first = 0;
  std::vector<Device> devices{};
  std::vector<std::int64_t> positions{};
  std::vector<std::size_t> mine{};  // numbers of shards, in group order
};

/// In the order of their first positions, so that ranks in several of them agree.
std::vector<CombiningGroup> groups_over(const AxisSplit& split, const DeviceList& devices, std::span<const LocalShard> shards) {
  std::vector<std::int64_t> firsts;
  for (const auto& shard : shards) firsts.push_back(split.first_of(shard.position));
  std::sort(firsts.begin(), firsts.end());
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  std::vector<CombiningGroup> groups;
  for (const auto first : firsts) {
    CombiningGroup group{first};
    for (std::int64_t member = 0; member < split.parts; ++member) {
      const auto position = first + split.offset_of(member);
      group.positions.push_back(position);
      group.devices.push_back(devices[position]);
      for (std::size_t s = 0; s < shards.size(); ++s)
        if (shards[s].position == position) group.mine.push_back(s);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

class Combiner {
 public:
  Combiner(std::vector<LocalShard>& shards, const DeviceList& devices, const Reduction& reduction, const Ticket& ticket)
      : shards_(shards), devices_(devices), reduction_(reduction), ticket_(ticket) {}

  /// Every device of a group gets its own box of the sums.
  void scatter(const AxisSplit& split, const End& from, const End& to) {
    for (const auto& group : groups_over(split, devices_, shards_)) {
      const auto whole = from.box_at(group.first);
      if (whole.num_elements() == 0) {
        for (const auto s : group.mine) shards_[s].data = LocalArray(to.box_at(shards_[s].position).shape(), shards_[s].data.dtype());
        continue;
      }
      std::vector<Index> boxes;
      for (const auto position : group.positions) boxes.push_back(relative(to.box_at(position), whole));
      std::vector<LocalPart> parts, results;
      std::vector<LocalArray> made;
      for (const auto s : group.mine) {
        const auto& data = shards_[s].data;
        parts.push_back({data.data(), data.block().get()});
        made.emplace_back(to.box_at(shards_[s].position).shape(), data.dtype());
        results.push_back({made.back().data(), made.back().block().get()});
      }
      const auto& data = shards_[group.mine.front()].data;
      reduce_scatter(group.devices, parts, whole.shape(), item_of(data.dtype()), boxes, results, reduction_.combine, ticket_);
      for (std::size_t k = 0; k < group.mine.size(); ++k) shards_[group.mine[k]].data = std::move(made[k]);
    }
  }

  /// Every device of a group gets all of the sums.
  void sum(const AxisSplit& split) {
    for (const auto& group : groups_over(split, devices_, shards_)) {
      const auto& data = shards_[group.mine.front()].data;
      if (data.size() == 0) continue;
      const auto shape = data.shape();
      const auto dtype = data.dtype();
      const auto size = item_of(dtype);
      std::vector<LocalPart> parts;
      for (const auto s : group.mine) parts.push_back({shards_[s].data.data(), shards_[s].data.block().get()});
      // One block for all, where the ranks of a node share it.
      if (const auto shared =
              all_reduce(group.devices, parts, data.nbytes() / static_cast<std::int64_t>(size), size, reduction_.combine, ticket_))
        for (const auto s : group.mine) shards_[s].data = LocalArray(shape, dtype, shared, 0, row_major_strides(shape));
    }
  }

 private:
  std::size_t item_of(Dtype dtype) const { return reduction_.itemsize != 0 ? reduction_.itemsize : itemsize(dtype); }

  std::vector<LocalShard>& shards_;
  const DeviceList& devices_;
  const Reduction& reduction_;
  const Ticket& ticket_;
};

}  // namespace

void combine_shards(std::vector<LocalShard>& shards, const Computation& how, const End& from, const End& to, const Reduction& reduction,
                    const Ticket& ticket) {
  if (shards.empty()) return;
  Combiner combiner(shards, how.computed.devices(), reduction, ticket);
  if (how.scattered.parts > 1) combiner.scatter(how.scattered, from, to);
  if (how.summed.parts > 1) combiner.sum(how.summed);
}

}  // namespace meshwise::detail
