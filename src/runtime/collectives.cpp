#include "meshwise/runtime/collectives.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/group_exchange.hpp"
#include "runtime/runtime.hpp"
#include "runtime/waiting.hpp"

namespace meshwise::detail {
namespace {

constexpr std::size_t small_limit = std::size_t{32} << 10;  // up to here one all-gather is quicker than two exchanges of slices
constexpr std::size_t gather_limit = std::size_t{256} << 10;

// acc = block of device 0 (+) block of device 1 (+) ...: the group's order, whoever owns the blocks. In tiles that stay in the nearest cache: each block is
// read once, and the result written once.
template <class BlockOf>
void combine_in_order(std::size_t devices, std::byte* acc, std::int64_t count, std::size_t itemsize, const Combine& combine,
                      BlockOf block_of) {
  constexpr std::int64_t tile_bytes = 16 << 10;
  const auto size = static_cast<std::int64_t>(itemsize), tile = std::max<std::int64_t>(tile_bytes / size, 1);
  for (std::int64_t start = 0; start < count; start += tile) {
    const auto length = std::min(tile, count - start);
    std::memcpy(acc + start * size, block_of(0) + start * size, static_cast<std::size_t>(length * size));
    for (std::size_t d = 1; d < devices; ++d) combine(acc + start * size, block_of(d) + start * size, length);
  }
}

void reduce_small(const Members& m, Group& group, std::span<const LocalPart> mine, std::int64_t count, std::size_t itemsize,
                  const Combine& combine, const Ticket& ticket) {
  const std::size_t bytes = static_cast<std::size_t>(count) * itemsize, each = m.most * bytes;
  std::vector<std::byte> own(each), all(each * m.ranks.size()), result(bytes);
  for (std::size_t k = 0; k < mine.size(); ++k) std::memcpy(own.data() + k * bytes, mine[k].data, bytes);
  gather_checked(group, own.data(), each, all.data(), ticket);
  combine_in_order(m.process.size(), result.data(), count, itemsize, combine,
                   [&](std::size_t d) { return all.data() + m.process[d] * each + m.local[d] * bytes; });
  for (const auto& part : mine) std::memcpy(part.data, result.data(), bytes);
}

/// Memory of a block, also of another rank's, to write to.
std::byte* writable(const Block& block) {
  std::byte* const at = runtime().engine.node.store->arena().writable(block.location());
  if (!at) throw OutOfMemoryError("the memory of another rank of the node can't be mapped");
  return at;
}

/// For each process the first of them on its node: that one keeps the result's block, and lends it to the others there.
std::vector<std::size_t> keepers_of(const Members& m) {
  const auto& topology = runtime().topology;
  std::map<std::int64_t, std::size_t> first;
  std::vector<std::size_t> keepers(m.ranks.size());
  for (std::size_t p = 0; p < keepers.size(); ++p) keepers[p] = topology.node_shares_memory ? first.emplace(topology.node_of(m.ranks[p]), p).first->second : p;
  return keepers;
}

// Each process owns a slice of the elements: that slice of every block is combined once, and the result handed to all, once to each node.
std::shared_ptr<Block> reduce_by_slices(const Members& m, std::size_t me, std::span<const LocalPart> mine, std::int64_t count, std::size_t itemsize,
                                        const Combine& combine, const Ticket& ticket) {
  const auto processes = static_cast<std::int64_t>(m.ranks.size());
  const auto size = static_cast<std::int64_t>(itemsize);
  const auto slice = [&](std::size_t p) { return part(static_cast<std::int64_t>(p), processes, count); };
  const Range own = slice(me);
  const std::int64_t own_bytes = own.size() * size;
  const auto bytes = count * size;
  const auto keepers = keepers_of(m);
  const bool keeps = keepers[me] == me, shared = std::count(keepers.begin(), keepers.end(), keepers[me]) > 1;
  std::shared_ptr<Block> gathered, result, whole;
  run_local_part("a reduction", [&] {
    gathered = block_store().allocate(static_cast<std::size_t>(own_bytes) * m.process.size());
    result = block_store().allocate(static_cast<std::size_t>(own_bytes));
    if (keeps && shared) whole = block_store().allocate(static_cast<std::size_t>(bytes));
  });
  BoxesOf to(m.ranks.size()), from(m.ranks.size());
  std::vector<const std::byte*> parts(m.process.size());  // per device
  for (std::size_t d = 0; d < m.process.size(); ++d) {
    if (m.process[d] == me) {
      parts[d] = mine[m.local[d]].data + own.start * size;
      continue;
    }
    auto* const at = gathered->data() + static_cast<std::int64_t>(d) * own_bytes;
    parts[d] = at;
    from[m.process[d]].push_back(dense_bytes(at, own_bytes, gathered.get()));
  }
  for (std::size_t p = 0; p < m.ranks.size(); ++p)
    for (const auto& each : mine) to[p].push_back(dense_bytes(each.data + slice(p).start * size, slice(p).size() * size, each.block));
  exchange_with_all(m, me, 1, std::move(to), std::move(from), {gathered}, ticket);
  if (own_bytes > 0) combine_in_order(parts.size(), result->data(), own.size(), itemsize, combine, [&](std::size_t d) { return parts[d]; });
  // Where it is no new block, a slice of this process's own is overwritten only with what its owner made of it: by then the owner has read it.
  auto* const at = whole ? whole->data() : mine[0].data;
  const auto* const block = whole ? whole.get() : mine[0].block;
  if (keeps) std::memcpy(at + own.start * size, result->data(), static_cast<std::size_t>(own_bytes));
  BoxesOf back_to(m.ranks.size()), back_from(m.ranks.size());
  for (std::size_t p = 0; p < m.ranks.size(); ++p) {
    if (keepers[p] == p) back_to[p] = {dense_bytes(result->data(), own_bytes, result.get())};
    if (keeps) back_from[p] = {dense_bytes(at + slice(p).start * size, slice(p).size() * size, block)};
    if (p != me && keepers[p] == me) {
      back_to[p] = {lent_bytes(at, bytes, block)};
      back_to[p].back().fresh = true;
    }
  }
  if (!keeps) back_from[keepers[me]] = {lent_bytes(nullptr, bytes, nullptr)};
  const auto transfer = exchange_with_all(m, me, 2, std::move(back_to), std::move(back_from), {result, whole}, ticket);
  if (!keeps) return transfer->adopted().front().block;
  if (!whole)
    for (std::size_t k = 1; k < mine.size(); ++k) std::memcpy(mine[k].data, mine[0].data, static_cast<std::size_t>(bytes));
  return whole;
}

/// How many processes have written their slices; in a block of its own.
using Written = std::atomic<std::uint32_t>;

// The blocks are read where they are, and the result is one block, of which each process writes its slice.
std::shared_ptr<Block> reduce_on_node(const Members& m, std::size_t me, std::span<const LocalPart> mine, std::int64_t count, std::size_t itemsize,
                                      const Combine& combine, const Ticket& ticket) {
  const auto size = static_cast<std::int64_t>(itemsize), bytes = count * size;
  std::shared_ptr<Block> result, counter;
  if (me == 0)
    run_local_part("a reduction", [&] {
      result = block_store().allocate(static_cast<std::size_t>(bytes));
      counter = block_store().allocate(sizeof(Written));
      new (counter->data()) Written(0);
    });
  BoxesOf to(m.ranks.size()), from(m.ranks.size());
  for (std::size_t p = 0; p < m.ranks.size(); ++p) {
    for (const auto& each : mine) to[p].push_back(lent_bytes(each.data, bytes, each.block));
    for (std::size_t k = 0; k < m.devices[p]; ++k) from[p].push_back(lent_bytes(nullptr, bytes, nullptr));
    if (me == 0) {
      to[p].push_back(lent_bytes(result->data(), bytes, result.get()));
      to[p].push_back(lent_bytes(counter->data(), sizeof(Written), counter.get()));
    }
  }
  if (me != 0) {
    from[0].push_back(lent_bytes(nullptr, bytes, nullptr));
    from[0].push_back(lent_bytes(nullptr, sizeof(Written), nullptr));
  }
  const auto transfer = exchange_with_all(m, me, 1, std::move(to), std::move(from), {}, ticket);
  std::vector<std::vector<const std::byte*>> blocks(m.ranks.size());  // by process
  auto next = transfer->adopted().begin();
  const auto address = [](const Adopted& block) { return block.block->data() + block.offset; };
  for (std::size_t p = 0; p < m.ranks.size(); ++p) {
    for (std::size_t k = 0; k < m.devices[p]; ++k) blocks[p].push_back(p == me ? mine[k].data : address(*next++));
    if (p == 0 && me != 0) {
      result = (next++)->block;
      counter = (next++)->block;
    }
  }
  const Range own = part(static_cast<std::int64_t>(me), static_cast<std::int64_t>(m.ranks.size()), count);
  Written* written = nullptr;
  run_local_part("a reduction", [&] {
    auto* const at = writable(*result);
    written = reinterpret_cast<Written*>(writable(*counter));
    if (own.size() > 0)
      combine_in_order(m.process.size(), at + own.start * size, own.size(), itemsize, combine,
                       [&](std::size_t d) { return blocks[m.process[d]][m.local[d]] + own.start * size; });
  });
  written->fetch_add(1, std::memory_order_release);
  wait_for([&] { return written->load(std::memory_order_acquire) == m.ranks.size(); },
           {.what = "the others' slices of a reduction", .ticket = &ticket, .peers = [&] { return m.ranks; }, .on_node = true});
  return result;
}

}  // namespace

std::shared_ptr<Block> all_reduce(std::span<const Device> group, std::span<const LocalPart> mine, std::int64_t count, std::size_t itemsize,
                                  const Combine& combine, const Ticket& ticket) {
  if (mine.empty() || group.size() == 1 || count == 0) return nullptr;
  const Members m = members_of(group);
  const std::size_t bytes = static_cast<std::size_t>(count) * itemsize;
  if (m.ranks.size() == 1) {
    std::vector<std::byte> result(bytes);
    combine_in_order(mine.size(), result.data(), count, itemsize, combine, [&](std::size_t d) { return mine[d].data; });
    for (const auto& part : mine) std::memcpy(part.data, result.data(), bytes);
    return nullptr;
  }
  if (m.most * bytes <= small_limit) {
    reduce_small(m, find_group(m.ranks, ticket), mine, count, itemsize, combine, ticket);
    return nullptr;
  }
  const auto me = m.own();
  if (m.all_lend_blocks())
    return reduce_on_node(m, me, mine, count, itemsize, combine, ticket);
  return reduce_by_slices(m, me, mine, count, itemsize, combine, ticket);
}

void all_gather(const DeviceList& list, const void* mine, std::size_t bytes, void* out, const Ticket& ticket) {
  const auto ranks = ranks_of(list);
  if (bytes <= gather_limit || ranks.size() == 1) return gather_checked(find_group(ranks, ticket), mine, bytes, out, ticket);
  auto* const own = static_cast<std::byte*>(const_cast<void*>(mine));
  auto* const all = static_cast<std::byte*>(out);
  const auto length = static_cast<std::int64_t>(bytes);
  std::vector<Exchange> sends, receives;
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (ranks[k] == runtime().rank) {
      std::memcpy(all + k * bytes, mine, bytes);
      continue;
    }
    sends.push_back({ranks[k], {dense_bytes(own, length)}});
    receives.push_back({ranks[k], {dense_bytes(all + k * bytes, length)}});
  }
  if (const auto transfer = post_phase(ticket, 1, std::move(sends), std::move(receives), {})) transfer->wait();
}

}  // namespace meshwise::detail
