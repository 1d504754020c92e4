#include "ops/part_exchange.hpp"

#include <algorithm>
#include <utility>

#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

std::vector<StridedBox>& boxes_for(std::vector<Exchange>& exchanges, std::int64_t rank) {
  for (auto& exchange : exchanges)
    if (exchange.rank == rank) return exchange.boxes;
  return exchanges.emplace_back(Exchange{rank, {}}).boxes;
}

}  // namespace

StridedBox PartExchange::box(const LocalArray& x) {
  if (keep_.empty() || keep_.back() != x.block()) keep_.push_back(x.block());
  StridedBox out{.base = x.data(), .extents = x.shape().lengths(), .strides = x.strides(), .itemsize = itemsize(x.dtype()), .block = x.block().get()};
  for (auto& stride : out.strides) stride *= static_cast<std::int64_t>(out.itemsize);
  return out;
}

void PartExchange::add(std::int64_t sender, const LocalArray& from, std::int64_t owner, const LocalArray& to) {
  const auto me = process_index();
  if (owner == me && sender == me)
    copies_.push_back({box(from), box(to)});
  else if (owner == me)
    boxes_for(receives_, sender).push_back(box(to));
  else if (sender == me)
    boxes_for(sends_, owner).push_back(box(from));
}

void PartExchange::run(const Ticket& ticket) {
  if (const auto transfer = post(ticket, std::move(sends_), std::move(receives_), std::move(keep_), std::move(copies_))) transfer->wait();
}

std::vector<std::int64_t> summed(const DeviceList& devices, std::vector<std::vector<std::int64_t>>& own, const Ticket& ticket) {
  std::vector<LocalPart> parts;
  for (auto& numbers : own) parts.push_back({reinterpret_cast<std::byte*>(numbers.data()), nullptr});
  std::vector<Device> group;
  for (std::int64_t position = 0; position < devices.size(); ++position) group.push_back(devices[position]);
  const auto add = [](std::byte* sums, const std::byte* more, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<std::int64_t*>(sums)[i] += reinterpret_cast<const std::int64_t*>(more)[i];
  };
  const auto count = own[0].size();
  const auto block = all_reduce(group, parts, static_cast<std::int64_t>(count), sizeof(std::int64_t), add, ticket);
  if (block) std::copy_n(reinterpret_cast<const std::int64_t*>(block->data()), count, own[0].data());
  return own[0];
}

}  // namespace meshwise::detail
