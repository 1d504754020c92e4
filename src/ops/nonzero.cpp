// Where an array is not zero: the one shape that values decide, agreed by counting first.

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "array/negotiate.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/reduce.hpp"
#include "meshwise/runtime/watch.hpp"
#include "ops/index_dtype.hpp"
#include "ops/kernels/sort.hpp"
#include "ops/part_exchange.hpp"
#include "ops/split_axis.hpp"

namespace meshwise {

namespace {

// The numbers, in row-major order, of the first `count` true elements; then x's size.
LocalArray numbers_of_true(const LocalArray& truths, std::int64_t count) {
  const auto dense = truths.contiguous();
  LocalArray out(Shape{count}, int64);
  auto* to = reinterpret_cast<std::int64_t*>(out.data());
  auto* const end = to + count;
  for (std::int64_t i = 0; i < dense.size() && to != end; ++i)
    if (dense.data()[i] != std::byte{0}) *to++ = i;
  std::fill(to, end, dense.size());
  return out;
}

LocalArray numbers_of_true(const LocalArray& block, const Index& box, const Shape& shape) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(shape.ndim()), 1);
  for (auto d = steps.size() - 1; d > 0; --d) steps[d - 1] = steps[d] * shape[static_cast<std::int64_t>(d)];
  const auto dense = block.contiguous();
  const auto count = std::count_if(dense.data(), dense.data() + dense.size(), [](std::byte b) { return b != std::byte{0}; });
  LocalArray out(Shape{count}, int64);
  auto* to = reinterpret_cast<std::int64_t*>(out.data());
  const auto inner = box[box.ndim() - 1].size();
  for (std::int64_t line = 0; inner > 0 && line < dense.size() / inner; ++line) {
    std::int64_t number = box[box.ndim() - 1].start, rest = line;
    for (auto d = box.ndim() - 1; d-- > 0; rest /= box[d].size()) number += (box[d].start + rest % box[d].size()) * steps[static_cast<std::size_t>(d)];
    for (std::int64_t i = 0; i < inner; ++i)
      if (dense.data()[line * inner + i] != std::byte{0}) *to++ = number + i;
  }
  return out;
}

/// The same of an array that is cut: what goes to every device is not its blocks but the numbers that each finds in its own.
class GatheredNumbers {
 public:
  GatheredNumbers(const detail::Request& request, const detail::Negotiated& negotiated)
      : x_(*request.operands[0].array()), count_(request.shape[0]), ticket_(negotiated.ticket), sharding_(negotiated.layout->result), devices_(sharding_.devices()) {}

  Array run() {
    std::vector<detail::LocalShard> shards;
    std::vector<LocalArray> lists;
    std::vector<std::int64_t> positions;
    for (const auto& shard : detail::ready_shards(x_)) {
      positions.push_back(shard.position);
      lists.push_back(speaks(shard.position) ? numbers_of_true(shard.data, x_.sharding().index_at(x_.shape(), shard.position), x_.shape())
                                             : LocalArray(Shape{0}, int64));
    }
    if (!positions.empty()) {
      const auto numbers = gathered(lists, positions);
      for (const auto position : positions) shards.push_back({position, numbers});
    }
    return detail::make_sharded_array({count_}, int64, sharding_, true, std::move(shards));
  }

 private:
  bool speaks(std::int64_t position) const { return x_.sharding().replica_id(x_.shape(), position) == 0; }

  LocalArray gathered(const std::vector<LocalArray>& lists, const std::vector<std::int64_t>& positions) const {
    std::vector<std::vector<std::int64_t>> own(lists.size(), std::vector<std::int64_t>(static_cast<std::size_t>(devices_.size()), 0));
    for (std::size_t i = 0; i < lists.size(); ++i) own[i][static_cast<std::size_t>(positions[i])] = lists[i].size();
    const auto lengths = detail::summed(devices_, own, ticket_);
    LocalArray all(Shape{std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})}, int64);
    detail::PartExchange boxes;
    std::int64_t at = 0;
    for (std::int64_t from = 0; from < devices_.size(); ++from) {
      const auto length = lengths[static_cast<std::size_t>(from)];
      const auto here = std::find(positions.begin(), positions.end(), from) - positions.begin();
      std::set<std::int64_t> owners;
      for (std::int64_t to = 0; to < devices_.size() && length > 0; ++to)
        if (owners.insert(devices_[to].rank).second)
          boxes.add(devices_[from].rank, here < std::ssize(positions) ? lists[static_cast<std::size_t>(here)] : LocalArray(), devices_[to].rank,
                    all.box({{at, at + length}}));
      at += length;
    }
    boxes.run(ticket_);
    detail::sort_in_place(all, false);
    LocalArray out(Shape{count_}, int64);
    const auto common = std::min(count_, all.size());
    copy_values(all.box({{0, common}}), out.box({{0, common}}));
    std::fill_n(reinterpret_cast<std::int64_t*>(out.data()) + common, count_ - common, x_.size());
    return out;
  }

  const Array& x_;
  std::int64_t count_;
  const detail::Ticket& ticket_;
  Sharding sharding_;
  const DeviceList& devices_;
};

bool is_cut(const Array& x) {
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (detail::works_in_parts(x, d)) return true;
  return false;
}

Array numbers_of(const detail::Request& request) {
  const auto& x = *request.operands[0].array();
  if (!is_cut(x)) return detail::dispatch(request);
  const auto negotiated = detail::negotiate(request);
  const auto bytes = request.shape[0] * static_cast<std::int64_t>(sizeof(std::int64_t)) * (x.sharding().devices().size() - 1);
  if (detail::rehearsing()) return detail::rehearse_counted(request, negotiated, "the indices to every device", bytes, numbers_of);
  describe(negotiated.ticket, negotiated.layout->words);
  Array result;
  detail::run_local_part(request.operation, [&] { result = GatheredNumbers(request, negotiated).run(); });
  return result;
}

}  // namespace

std::vector<Array> nonzero(const Array& x, std::optional<std::int64_t> size, std::int64_t fill_value) {
  if (x.ndim() == 0) throw ShapeError(fmt::format("nonzero: argument x is {}, a scalar: it has no indices", type_string(x)));
  if (size && *size < 0) throw ShapeError(fmt::format("nonzero: size is {}, and is not negative", *size));
  const auto truths = x.astype(bool_);
  const auto count = size ? *size : count_nonzero(truths).astype(int64).item<std::int64_t>();
  const Operand operands[] = {truths};
  detail::Request request;
  request.operation = "nonzero";
  request.rule = LayoutRule::whole;
  request.operands = operands;
  request.shape = {count};
  request.dtype = int64;
  request.kernel = [=](std::span<const LocalArray> in, const detail::KernelContext&) { return numbers_of_true(in[0], count); };
  const auto numbers = numbers_of(request);
  std::vector<Array> indices;
  std::int64_t after = x.size();
  for (const auto length : x.shape()) {
    after = length == 0 ? 0 : after / length;
    const auto index = length == 0 ? numbers : remainder(floor_divide(numbers, after), length);
    const auto known = size ? where(less(numbers, x.size()), index, fill_value) : index;
    indices.push_back(known.astype(detail::index_dtype(length)));
  }
  return indices;
}

}  // namespace meshwise
