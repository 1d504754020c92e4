#include "meshwise/ops/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "array/generators.hpp"
#include "array/state.hpp"
#include "meshwise/runtime/sequence.hpp"
#include "ops/random_draw.hpp"

namespace meshwise {
namespace detail {
namespace {

__extension__ using wide = __int128;

// Buffers of the generators that narrow what the kernels draw.
constexpr std::int64_t piece = 512;

template <class Draw>
class Drawn final : public Generator {
 public:
  Drawn(KeyWords key, Dtype dtype, std::uint64_t parameters, Draw draw)
      : key_(key), dtype_(dtype), parameters_(parameters), draw_(std::move(draw)) {}
  Dtype dtype() const override { return dtype_; }
  std::uint64_t hash() const override {
    return mix(mix(parameters_, static_cast<std::uint64_t>(dtype_)), std::uint64_t{key_.a} << 32 | key_.b);
  }
  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    draw_(key_, first, step, count, out);
  }

 private:
  KeyWords key_;
  Dtype dtype_;
  std::uint64_t parameters_;
  Draw draw_;
};

/// draw(key, first, step, count, out) as a generator of any key.
template <class Draw>
GeneratorOf generator_of(Dtype dtype, std::uint64_t parameters, Draw draw) {
  return [=](KeyWords key) { return std::make_shared<Drawn<Draw>>(key, dtype, parameters, draw); };
}

void draw_bits(Dtype dtype, KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) {
  if (dtype == Dtype::uint64) return random_bits64(key, first, step, count, reinterpret_cast<std::uint64_t*>(out));
  if (dtype == Dtype::uint32) return random_bits32(key, first, step, count, reinterpret_cast<std::uint32_t*>(out));
  std::array<std::uint32_t, piece> bits;
  for (std::int64_t done = 0; done < count; done += piece) {
    const auto n = std::min(piece, count - done);
    random_bits32(key, first + done * step, step, n, bits.data());
    if (dtype == Dtype::uint8)
      std::transform(bits.begin(), bits.begin() + n, reinterpret_cast<std::uint8_t*>(out) + done,
                     [](auto b) { return static_cast<std::uint8_t>(b); });
    else
      std::transform(bits.begin(), bits.begin() + n, reinterpret_cast<std::uint16_t*>(out) + done,
                     [](auto b) { return static_cast<std::uint16_t>(b); });
  }
}

/// Element 2j and 2j + 1 are the words of block j.
void draw_keys(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) {
  auto* words = reinterpret_cast<std::uint32_t*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = first + i * step;
    const auto w = random_words(key, at / 2);
    words[i] = at % 2 == 0 ? w.a : w.b;
  }
}

void check_floating(Dtype dtype, std::string_view operation) {
  if (!is_floating(dtype))
    throw DtypeError(
        fmt::format("{}: dtype {} is no floating dtype; the choices are float16, bfloat16, float32 and float64", operation, name(dtype)));
}

/// A bound rounded to the dtype it is used in.
double rounded(const Scalar& bound, Dtype dtype, std::string_view operation) {
  if (bound.kind() == Scalar::Kind::complex) throw DtypeError(fmt::format("{}: a bound is a real number", operation));
  LocalArray value({}, dtype);
  bound.store(dtype, value.data());
  return visit(dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    if constexpr (std::floating_point<T>)
      return static_cast<double>(value.view<T>()[0]);
    else if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>)
      return static_cast<double>(static_cast<float>(value.view<T>()[0]));
    else
      return 0;
  });
}

wide integer_bound(const Scalar& bound) {
  if (bound.kind() != Scalar::Kind::integer && bound.kind() != Scalar::Kind::boolean)
    throw DtypeError("random.randint: minval and maxval are integers; scale random.uniform for real bounds");
  return bound.is_unsigned() ? wide{static_cast<std::uint64_t>(bound.integer())} : wide{bound.integer()};
}

struct Limits {
  wide least, most;
};

Limits limits_of(Dtype dtype) {
  return visit(dtype, [](auto tag) -> Limits {
    using T = typename decltype(tag)::type;
    if constexpr (std::integral<T>)
      return {wide{std::numeric_limits<T>::min()}, wide{std::numeric_limits<T>::max()}};
    else
      return {0, 0};
  });
}

/// The dtype that is drawn: itself from 32 bits on, int32 for narrower ones.
Dtype sampled_dtype(Dtype dtype) { return itemsize(dtype) < 4 ? Dtype::int32 : dtype; }

IntegerRule integer_rule(wide low, wide high, Dtype dtype) {
  const auto own = limits_of(dtype);
  low = std::clamp(low, own.least, own.most);
  high = std::clamp(high, own.least, own.most + 1);
  IntegerRule rule;
  rule.low = static_cast<std::uint64_t>(low);
  // 2^n itself wraps to 0, which the kernels take for it.
  rule.span = high > low ? static_cast<std::uint64_t>(high - low) : 1;
  return rule;
}

void draw_integers(IntegerRule rule, Dtype dtype, KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) {
  rule.high_key = random_words(key, 0);
  rule.low_key = random_words(key, 1);
  if (itemsize(dtype) == 8)
    random_integers64(rule, first, step, count, reinterpret_cast<std::uint64_t*>(out));
  else
    random_integers32(rule, first, step, count, reinterpret_cast<std::uint32_t*>(out));
}

void draw_bernoulli(const UniformRule& rule, double p, KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count,
                    std::byte* out) {
  visit(rule.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::integral<T> && requires(T v) { static_cast<float>(v); }) {
      std::array<T, piece> u;
      auto* hits = reinterpret_cast<bool*>(out);
      for (std::int64_t done = 0; done < count; done += piece) {
        const auto n = std::min(piece, count - done);
        random_uniform(key, rule, first + done * step, step, n, reinterpret_cast<std::byte*>(u.data()));
        for (std::int64_t i = 0; i < n; ++i) {
          const T value = u[static_cast<std::size_t>(i)];
          if constexpr (std::floating_point<T>)
            hits[done + i] = static_cast<double>(value) < p;
          else
            hits[done + i] = static_cast<double>(static_cast<float>(value)) < p;
        }
      }
    }
  });
}

std::uint64_t hash_of(std::string_view operation, std::initializer_list<double> numbers) {
  std::uint64_t h = hash_text(operation);
  for (const double n : numbers) h = mix(h, std::bit_cast<std::uint64_t>(n));
  return h;
}

LocalArray key_array(KeyWords words) {
  const std::array<std::uint32_t, 2> values = {words.a, words.b};
  return LocalArray::from(std::span<const std::uint32_t>(values), {2});
}

}  // namespace
}  // namespace detail

namespace random {

using namespace detail;

Array key(std::int64_t seed) {
  const auto s = static_cast<std::uint64_t>(seed);
  const Shape shape{2};
  if (!rehearsing()) enter_world_call({"random.key", mix(hash_text("random.key"), s), uint32, &shape});
  return make_everywhere_array(key_array({static_cast<std::uint32_t>(s >> 32), static_cast<std::uint32_t>(s)}));
}

Array split(const Array& key, const Shape& shape) {
  auto words = shape;
  words.push_back(2);
  return draw("random.split", key, words, uint32, hash_text("split"), generator_of(uint32, hash_text("split"), draw_keys));
}

Array split(const Array& key, std::int64_t num) { return split(key, Shape{num}); }

Array fold_in(const Array& key, std::int64_t data) {
  const auto step = static_cast<std::uint32_t>(static_cast<std::uint64_t>(data));
  return draw_whole("random.fold_in", key, {2}, uint32, mix(hash_text("fold_in"), step), [step](KeyWords words) {
    return key_array(threefry(words, {0, step}));
  });
}

Array bits(const Array& key, const Shape& shape, Dtype dtype) {
  if (kind(dtype) != DtypeKind::unsigned_integer)
    throw DtypeError(fmt::format("random.bits: dtype {} is not unsigned; the choices are uint8, uint16, uint32 and uint64", name(dtype)));
  const auto hash = hash_text("bits");
  return draw("random.bits", key, shape, dtype, hash, generator_of(dtype, hash, [dtype](auto... at) { draw_bits(dtype, at...); }));
}

Array uniform(const Array& key, const Shape& shape, Dtype dtype, const Scalar& minval, const Scalar& maxval) {
  check_floating(dtype, "random.uniform");
  const UniformRule rule{dtype, rounded(minval, dtype, "random.uniform"), rounded(maxval, dtype, "random.uniform")};
  const auto hash = hash_of("uniform", {rule.low, rule.high});
  return draw("random.uniform", key, shape, dtype, hash,
              generator_of(dtype, hash, [rule](KeyWords words, auto... at) { random_uniform(words, rule, at...); }));
}

Array normal(const Array& key, const Shape& shape, Dtype dtype) {
  check_floating(dtype, "random.normal");
  const auto hash = hash_text("normal");
  return draw("random.normal", key, shape, dtype, hash,
              generator_of(dtype, hash, [dtype](KeyWords words, auto... at) { random_normal(words, dtype, at...); }));
}

Array randint(const Array& key, const Shape& shape, const Scalar& minval, const Scalar& maxval, Dtype dtype) {
  if (!is_integer(dtype)) throw DtypeError(fmt::format("random.randint: dtype {} is no integer dtype", name(dtype)));
  const auto rule = integer_rule(integer_bound(minval), integer_bound(maxval), dtype);
  const auto sampled = sampled_dtype(dtype);
  const auto hash = mix(mix(hash_text("randint"), rule.low), rule.span);
  const auto source = generator_of(sampled, hash, [rule, sampled](auto... at) { draw_integers(rule, sampled, at...); });
  return draw("random.randint", key, shape, dtype, hash,
              [source, dtype](KeyWords words) { return Recipe::over(source(words), {0}).astype(dtype).generator; });
}

Array bernoulli(const Array& key, const Scalar& p, const Shape& shape, Dtype p_dtype) {
  check_floating(p_dtype, "random.bernoulli");
  const double bound = rounded(p, p_dtype, "random.bernoulli");
  const UniformRule rule{p_dtype, 0, 1};
  const auto hash = mix(hash_of("bernoulli", {bound}), static_cast<std::uint64_t>(p_dtype));
  return draw("random.bernoulli", key, shape, bool_, hash,
              generator_of(bool_, hash, [rule, bound](auto... at) { draw_bernoulli(rule, bound, at...); }));
}

}  // namespace random
}  // namespace meshwise
