#pragma once
// An oracle for arithmetic: whole numbers (complex ones with whole parts) in 64 bits, small enough to be exact in every dtype, in plain loops.

#include <meshwise/meshwise.hpp>

#include <string>
#include <vector>

#include "support/random_placement.hpp"

namespace meshwise::testing {

struct Whole {
  std::int64_t re = 0, im = 0;
  friend bool operator==(const Whole&, const Whole&) = default;
  friend Whole operator+(Whole a, Whole b) { return {a.re + b.re, a.im + b.im}; }
  friend Whole operator-(Whole a, Whole b) { return {a.re - b.re, a.im - b.im}; }
  friend Whole operator*(Whole a, Whole b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

/// What a whole number is in a dtype: bool is or, integers wrap.
inline Whole in_dtype(Whole v, Dtype dtype) {
  if (dtype == bool_) return {v.re != 0 || v.im != 0 ? 1 : 0, 0};
  if (is_integer(dtype))
    return visit(dtype, [&](auto tag) -> Whole {
      if constexpr (std::integral<typename decltype(tag)::type>)
        return {static_cast<std::int64_t>(static_cast<typename decltype(tag)::type>(v.re)), 0};
      else
        return v;
    });
  return v;
}

/// Values in row-major order, by their dtype's own type.
inline std::vector<Whole> wholes(const LocalArray& x) {
  std::vector<Whole> out;
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T v : x.view<T>()) {
      if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>)
        out.push_back({static_cast<std::int64_t>(static_cast<float>(v)), 0});
      else if constexpr (std::is_arithmetic_v<T>)
        out.push_back({static_cast<std::int64_t>(v), 0});
      else
        out.push_back({static_cast<std::int64_t>(v.real()), static_cast<std::int64_t>(v.imag())});
    }
  });
  return out;
}

/// Small whole numbers, none negative in unsigned types; the same on every rank.
inline LocalArray small_values(RandomPlacement& random, const Shape& shape, Dtype dtype, std::int64_t largest = 4) {
  LocalArray out(shape, dtype);
  const bool below_zero = dtype != bool_ && kind(dtype) != DtypeKind::unsigned_integer;
  const auto draw = [&] { return below_zero ? random.below(2 * largest + 1) - largest : random.below(dtype == bool_ ? 2 : largest + 1); };
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto re = static_cast<double>(draw()), im = is_complex(dtype) ? static_cast<double>(draw()) : 0.0;
    Scalar(std::complex<double>(re, im)).store(dtype, out.data() + static_cast<std::size_t>(i) * itemsize(dtype));
  }
  return out;
}

/// The values somewhere: on `mesh` under some spec, or uncommitted.
inline Array placed(RandomPlacement& random, const LocalArray& values, const Mesh& mesh) {
  const auto x = asarray(values);
  return random.below(5) == 0 ? x : device_put(x, NamedSharding(mesh, random.spec(mesh, values.ndim())));
}

/// The coordinates of element i of `shape`.
inline std::vector<std::int64_t> coordinates(std::int64_t i, const Shape& shape) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.ndim()));
  for (std::int64_t d = shape.ndim(); d-- > 0; i /= shape[d]) at[static_cast<std::size_t>(d)] = i % shape[d];
  return at;
}

/// What is wrong with a result; empty if nothing: dtype, shape, every value, and every shard of this rank being its box of the whole.
inline std::string wrong(const Array& got, const Shape& shape, Dtype dtype, const std::vector<Whole>& want) {
  if (got.dtype() != dtype) return "dtype " + std::string(name(got.dtype())) + ", wanted " + std::string(name(dtype));
  if (!(got.shape() == shape)) return "shape " + to_string(got.shape()) + ", wanted " + to_string(shape);
  const auto whole = device_get(got);
  const auto values = wholes(whole);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(values[i] == want[i]))
      return "element " + std::to_string(i) + " is " + std::to_string(values[i].re) + "+" + std::to_string(values[i].im) + "i, wanted " +
             std::to_string(want[i].re) + "+" + std::to_string(want[i].im) + "i of " + type_string(got);
  for (const auto& shard : got.addressable_shards()) {
    const auto mine = shard.data().contiguous(), part = whole.box(shard.index()).contiguous();
    if (!(mine.shape() == part.shape()) ||
        (mine.size() > 0 && std::memcmp(mine.data(), part.data(), static_cast<std::size_t>(part.nbytes())) != 0))
      return "shard of device " + std::to_string(shard.device().id) + " of " + type_string(got);
  }
  return {};
}

}  // namespace meshwise::testing
