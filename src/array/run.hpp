#pragma once
// Plans with the addresses of some arrays: what one call posts, a message to each peer however many arrays there are.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "array/move_plan.hpp"
#include "meshwise/base/function_ref.hpp"

namespace meshwise::detail {

/// Local. The new shards of an array whose way `plan` is: windows, twins, and what `build` makes; those that another rank lends have no memory yet.
std::vector<LocalShard> make_shards(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype,
                                    FunctionRef<LocalArray(const PlannedShard&)> build);

/// Local. The result of a call that moves one array; without a transfer where nothing is to be exchanged or copied.
Moved run_plan(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, const std::byte* fill, const LocalWriter& writer,
               const Ticket& ticket);

class Run {
 public:
  /// Local. Makes the new shards of an array whose way `plan` is, and adds what there is to exchange. Those that another rank lends have no memory before post().
  void add(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, const std::byte* fill, const LocalWriter& writer);
  /// Local. The same with new shards that are there already.
  void add_exchange(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, std::vector<LocalShard> shards);

  /// Local. The shards of the arrays in the order in which they were added, and the transfer that all of them wait for.
  std::vector<Moved> post(const Ticket& ticket);

 private:
  struct Leg {
    std::span<const std::span<const LocalShard>> sources;
    Dtype dtype;
    std::vector<LocalShard> shards;
  };
  struct Lent {
    std::int64_t turn;  // of the peer
    std::size_t leg, shard;
  };

  void append(Exchange& exchange, const MovePlan::Peer& peer, const Leg& leg);
  StridedBox box(const Leg& leg, const PlannedBox& planned);

  std::vector<Leg> legs_{};
  std::vector<Exchange> sends_{}, receives_{};
  std::vector<LocalCopy> copies_{};
  std::vector<Lent> lent_{};
  std::vector<std::shared_ptr<Block>> keep_{};
};

}  // namespace meshwise::detail
