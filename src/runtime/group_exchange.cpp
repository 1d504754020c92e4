#include "runtime/group_exchange.hpp"

#include <algorithm>

#include "runtime/runtime.hpp"

namespace meshwise::detail {

std::size_t Members::own() const { return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), runtime().rank) - ranks.begin()); }

bool Members::all_lend_blocks() const {
  return std::all_of(ranks.begin(), ranks.end(), [](int rank) { return rank == runtime().rank || lends_blocks_to(rank); });
}

Members members_of(std::span<const Device> group) {
  Members m;
  m.ranks = ranks_of(group);
  m.devices.assign(m.ranks.size(), 0);
  for (const Device& device : group) {
    const auto process =
        static_cast<std::size_t>(std::find(m.ranks.begin(), m.ranks.end(), static_cast<int>(device.rank)) - m.ranks.begin());
    m.process.push_back(process);
    m.local.push_back(m.devices[process]++);
    m.most = std::max(m.most, m.devices[process]);
  }
  return m;
}

StridedBox dense_bytes(std::byte* base, std::int64_t bytes, const Block* block) { return {base, {bytes}, {1}, 1, block}; }

StridedBox lent_bytes(std::byte* at, std::int64_t bytes, const Block* block) {
  auto box = dense_bytes(at, bytes, block);
  box.passing = Passing::lend;
  return box;
}

std::shared_ptr<Transfer> exchange_with_all(const Members& m, std::size_t me, std::uint32_t phase, BoxesOf&& to, BoxesOf&& from,
                                            std::vector<std::shared_ptr<Block>> keep, const Ticket& ticket) {
  std::vector<Exchange> sends, receives;
  for (std::size_t p = 0; p < m.ranks.size(); ++p) {
    if (p == me) continue;
    sends.push_back({m.ranks[p], std::move(to[p])});
    receives.push_back({m.ranks[p], std::move(from[p])});
  }
  auto transfer = post_phase(ticket, phase, std::move(sends), std::move(receives), std::move(keep));
  if (transfer) transfer->wait();
  return transfer;
}

}  // namespace meshwise::detail
