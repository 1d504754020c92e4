#include "ops/part_exchange.hpp"

#include <utility>

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

}  // namespace meshwise::detail
