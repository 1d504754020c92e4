// Random orders: sorts by fresh bits, as many rounds as make equal bits harmless.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "array/dispatch.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/random.hpp"
#include "meshwise/runtime/sequence.hpp"
#include "ops/random_draw.hpp"

namespace meshwise {
namespace detail {
namespace {

/// One key a round of sorting `n` elements.
std::vector<KeyWords> round_keys(KeyWords key, std::int64_t n) {
  const auto elements = static_cast<double>(std::max<std::int64_t>(1, n));
  const double rounds = std::ceil(3 * std::log(elements) / std::log(static_cast<double>(std::numeric_limits<std::uint32_t>::max())));
  std::vector<KeyWords> keys;
  for (int r = 0; r < static_cast<int>(rounds); ++r) {
    keys.push_back(random_words(key, 1));
    key = random_words(key, 0);
  }
  return keys;
}

/// Where each element of a line comes from, after all rounds; the line's elements have linear indices first, first + step, ...
std::vector<std::int64_t> sorted_line(const std::vector<KeyWords>& keys, std::int64_t first, std::int64_t step, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::uint32_t> bits(order.size());
  std::vector<std::pair<std::uint32_t, std::int64_t>> pairs(order.size());
  for (const auto& key : keys) {
    random_bits32(key, first, step, count, bits.data());
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {bits[i], order[i]};
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(pairs.begin(), pairs.end(), order.begin(), [](const auto& p) { return p.second; });
  }
  return order;
}

/// The lines of one box of x along `axis`, each in its own order. The box has the axis whole.
LocalArray permuted_lines(const LocalArray& x, const Index& box, const Shape& shape, std::int64_t axis, const std::vector<KeyWords>& keys) {
  LocalArray out(x.shape(), x.dtype());
  const auto size = static_cast<std::int64_t>(itemsize(x.dtype()));
  const auto global = row_major_strides(shape);
  const auto length = x.shape()[axis], along = static_cast<std::int64_t>(axis);
  auto lines = x.shape();
  lines[axis] = 1;
  const auto from_step = x.strides()[static_cast<std::size_t>(along)], to_step = out.strides()[static_cast<std::size_t>(along)];
  for (std::int64_t line = 0; line < lines.num_elements(); ++line) {
    std::int64_t rest = line, linear = 0, from = 0, to = 0;
    for (auto d = x.ndim(); d-- > 0; rest /= lines[d]) {
      const auto i = rest % lines[d];
      const auto s = static_cast<std::size_t>(d);
      linear += (box[d].start + i) * global[s];
      from += i * x.strides()[s];
      to += i * out.strides()[s];
    }
    const auto order = sorted_line(keys, linear, global[static_cast<std::size_t>(along)], length);
    for (std::int64_t i = 0; i < length; ++i)
      std::memcpy(out.data() + (to + i * to_step) * size, x.data() + (from + order[static_cast<std::size_t>(i)] * from_step) * size,
                  static_cast<std::size_t>(size));
  }
  return out;
}

/// The words of a key on every rank that has one of its devices: all of them for an uncommitted one.
KeyWords words_here(const Array& key) {
  if (!key.committed()) return uncommitted_key(key);
  const auto& shards = ready_shards(key);
  return shards.empty() ? KeyWords{} : read_key(shards.front().data);
}

void check_same_devices(const Array& key, const Array& x) {
  if (!key.committed() || !x.committed() || key.sharding().devices() == x.sharding().devices()) return;
  throw CommitmentError(
      fmt::format("random.permutation: received incompatible devices. Got argument key with type {} and with device ids {} on platform CPU "
                  "and argument x "
                  "with type {} and with device ids {} on platform CPU. Move the key, device_put(key, ...), or keep keys "
                  "uncommitted: every rank has them then.",
                  type_string(key), to_string(key.sharding().devices()), type_string(x), to_string(x.sharding().devices())));
}

}  // namespace
}  // namespace detail

namespace random {

using namespace detail;

Array permutation(const Array& key, std::int64_t n) {
  if (n < 0) throw ShapeError(fmt::format("random.permutation: n is {}; it is a number of elements", n));
  const auto dtype = n > std::numeric_limits<std::int32_t>::max() ? int64 : int32;
  return draw_whole("random.permutation", key, {n}, dtype, hash_text("permutation"), [n, dtype](KeyWords words) {
    const auto order = sorted_line(round_keys(words, n), 0, 1, n);
    LocalArray out({n}, dtype);
    if (dtype == int64)
      std::copy(order.begin(), order.end(), reinterpret_cast<std::int64_t*>(out.data()));
    else
      std::transform(order.begin(), order.end(), reinterpret_cast<std::int32_t*>(out.data()),
                     [](auto i) { return static_cast<std::int32_t>(i); });
    return out;
  });
}

Array permutation(const Array& key, const Array& x, std::int64_t axis, bool independent) {
  check_key(key, "random.permutation");
  check_alive(x, "random.permutation", "x");
  const auto at = normalize_axis(axis, x.ndim(), "random.permutation");
  if (!independent) return take(x, permutation(key, x.shape()[at]), at, IndexMode::clip);
  check_same_devices(key, x);
  if (rehearsing()) {
    HeardCall call;
    call.words.head = fmt::format("random.permutation: {}, {} -> {}", type_string(key), type_string(x), type_string(x));
    call.operands = {key, x};
    call.replay = [=](std::span<const Operand> operands) { return permutation(*operands[0].array(), *operands[1].array(), axis, independent); };
    call.shape = x.shape();
    call.dtype = x.dtype();
    if (x.committed() || key.committed()) call.sharding = x.committed() ? x.sharding() : key.sharding();
    return rehearse_call(std::move(call));
  }
  const auto replicated = !key.committed() || key.is_fully_replicated() ? key : reshard(key, PartitionSpec{});
  const auto keys = round_keys(words_here(replicated), x.size());
  // An uncommitted x follows the key.
  const std::array<Operand, 1> operands = {key.committed() && !x.committed() ? device_put(x, replicated.sharding()) : x};
  Request request;
  request.operation = "random.permutation";
  request.rule = LayoutRule::worked_axis;
  request.attributes.axes = {at};
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  request.kernel = [keys, at, shape = x.shape()](std::span<const LocalArray> inputs, const KernelContext& context) {
    return permuted_lines(inputs[0], context.operand_boxes[0], shape, at, keys);
  };
  request.salt = hash_text("independent");
  return dispatch(request);
}

}  // namespace random
}  // namespace meshwise
