// Operations on whole arrays, against hand-written loops on the same ranks, into memory that is used again, compiled for this machine (-O3 -march=native
// -ffast-math: vectors, and the vector library's functions).
// suite: operations
// ranks: 2 4
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstring>

#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P;

namespace {

// Bits of one or the other: with a branch, or with bool, the compiler makes no vectors of it.
inline float chosen(std::uint8_t first, float x, float y) {
  const auto a = std::bit_cast<std::uint32_t>(x), b = std::bit_cast<std::uint32_t>(y);
  return std::bit_cast<float>(b ^ ((a ^ b) & -static_cast<std::uint32_t>(first)));
}

// f(i) for all i, a line at a time past the caches.
template <class F>
void streamed(float* out, std::int64_t n, F&& f) {
#if defined(__AVX2__)
  alignas(64) float line[16];
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (std::int64_t k = 0; k < 16; ++k) line[k] = f(i + k);
    _mm256_stream_ps(out + i, _mm256_load_ps(line));
    _mm256_stream_ps(out + i + 8, _mm256_load_ps(line + 8));
  }
  _mm_sfence();
#else
  std::int64_t i = 0;
#endif
  for (; i < n; ++i) out[i] = f(i);
}

// Both operands widened, added, and rounded to nearest even.
inline std::uint16_t sum_of_bfloat16(std::uint16_t x, std::uint16_t y) {
  const auto wide = [](std::uint16_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16); };
  const auto u = std::bit_cast<std::uint32_t>(wide(x) + wide(y));
  return static_cast<std::uint16_t>(((u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

class Streams {
 public:
  Streams(std::int64_t bytes) : bytes_(bytes), count_(bytes / 4 / mw::devices().size()) {
    const NamedSharding rows(mw::make_mesh({mw::devices().size()}, {"x"}), P("x"));
    const auto total = count_ * mw::devices().size();
    a = mw::device_put(mw::random::uniform(mw::random::key(1), {total}), rows);
    b = mw::device_put(mw::random::uniform(mw::random::key(2), {total}), rows);
    c = mw::device_put(mw::random::uniform(mw::random::key(3), {total}), rows);
    mask = mw::less(a, 0.5f);
    for (const auto* x : {&a, &b, &c, &mask}) mw::block_until_ready(*x);
    out_.assign(static_cast<std::size_t>(count_) + 16, 0.0f);
  }

  // Ours, and a loop over this rank's elements; the same with stores past the caches, for what it is worth, without a bar.
  template <class Ours, class Loop>
  void row(const std::string& what, std::optional<double> goal, Ours&& ours, Loop&& loop) {
    row(what, goal, ours, loop, nullptr);
  }
  template <class Ours, class Loop, class Streamed>
  void row(const std::string& what, std::optional<double> goal, Ours&& ours, Loop&& loop, Streamed&& streamed) {
    bench::Rounds rounds;
    Array result;
    const auto mine = rounds.add([&] { mw::block_until_ready(result = ours()); });
    const auto *x = at(a), *y = at(b), *z = at(c);
    const auto* m = mask.addressable_data(0).data();
    auto* out = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(out_.data()) + 63) & ~std::uintptr_t{63});
    const auto call = [=, this](auto& f) { return [=, this] { f(x, y, z, reinterpret_cast<const std::uint8_t*>(m), out, count_); }; };
    const auto peer = rounds.add(call(loop));
    if constexpr (std::is_same_v<std::decay_t<Streamed>, std::nullptr_t>) {
      rounds.run(5);
    } else {
      const auto past = rounds.add(call(streamed));
      rounds.run(5);
      bench::print_row(rounds, "operations_stream", what, bytes_, "a loop with streaming stores", past, mine, {});
    }
    bench::print_row(rounds, "operations_stream", what, bytes_, "a loop into used memory", peer, mine, goal);
  }

  // The sum of a and b in a 16-bit float.
  template <class Loop>
  void halves(mw::Dtype dtype, const std::string& what, std::optional<double> goal, Loop&& loop) {
    const auto x = mw::astype(mw::concatenate({a, a}), dtype), y = mw::astype(mw::concatenate({b, b}), dtype);
    for (const auto* each : {&x, &y}) mw::block_until_ready(*each);
    const auto bits = [](const Array& each) { return reinterpret_cast<const std::uint16_t*>(each.addressable_data(0).data()); };
    bench::Rounds rounds;
    Array result;
    const auto mine = rounds.add([&] { mw::block_until_ready(result = x + y); });
    const auto peer = rounds.add([&] { loop(bits(x), bits(y), reinterpret_cast<std::uint16_t*>(out_.data()), 2 * count_); });
    rounds.run(5);
    bench::print_row(rounds, "operations_stream", what, bytes_, "a loop into used memory", peer, mine, goal);
  }

  Array a, b, c, mask;

 private:
  static const float* at(const Array& x) { return reinterpret_cast<const float*>(x.addressable_data(0).data()); }
  std::int64_t bytes_, count_;
  std::vector<float> out_;
};

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  Streams s((argc > 1 ? std::atoll(argv[1]) : 256) << 20);
  using F = const float* __restrict;
  using O = float* __restrict;
  s.row(
      "a + b", 0.95, [&] { return s.a + s.b; },
      [](F x, F y, F, const std::uint8_t*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
      },
      [](F x, F y, F, const std::uint8_t*, O out, std::int64_t n) { streamed(out, n, [=](std::int64_t i) { return x[i] + y[i]; }); });
  s.row(
      "a * b + c", 0.95, [&] { return s.a * s.b + s.c; },
      [](F x, F y, F z, const std::uint8_t*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * y[i] + z[i];
      });
  s.row(
      "where", 0.95, [&] { return mw::where(s.mask, s.a, s.b); },
      [](F x, F y, F, const std::uint8_t* m, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = chosen(m[i], x[i], y[i]);
      },
      [](F x, F y, F, const std::uint8_t* m, O out, std::int64_t n) {
        streamed(out, n, [=](std::int64_t i) { return chosen(m[i], x[i], y[i]); });
      });
  s.halves(mw::bfloat16, "bfloat16 a + b", 0.8,
           [](const std::uint16_t* x, const std::uint16_t* y, std::uint16_t* __restrict out, std::int64_t n) {
             for (std::int64_t i = 0; i < n; ++i) out[i] = sum_of_bfloat16(x[i], y[i]);
           });
#if defined(__F16C__) && defined(__AVX2__)
  s.halves(
      mw::float16, "float16 a + b", {}, [](const std::uint16_t* x, const std::uint16_t* y, std::uint16_t* __restrict out, std::int64_t n) {
        const auto wide = [](const std::uint16_t* at) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))); };
        for (std::int64_t i = 0; i + 8 <= n; i += 8)
          _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                           _mm256_cvtps_ph(_mm256_add_ps(wide(x + i), wide(y + i)), _MM_FROUND_TO_NEAREST_INT));
      });
#endif
  s.row(
      "exp", 0.8, [&] { return mw::exp(s.a); },
      [](F x, F, F, const std::uint8_t*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i]);
      });
  s.row(
      "tanh", 0.8, [&] { return mw::tanh(s.a); },
      [](F x, F, F, const std::uint8_t*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = std::tanh(x[i]);
      });
  s.row(
      "log", 0.8, [&] { return mw::log(s.a); },
      [](F x, F, F, const std::uint8_t*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = std::log(x[i]);
      });
  const auto reading = [](F x, F, F, const std::uint8_t*, O out, std::int64_t n) {
    float sums[16] = {};
    for (std::int64_t i = 0; i + 16 <= n; i += 16)
      for (int k = 0; k < 16; ++k) sums[k] += x[i + k];
    for (const float sum : sums) out[0] += sum;
  };
  s.row(
      "sum", 0.9, [&] { return mw::sum(s.a); }, reading);
  s.row(
      "max", 0.9, [&] { return mw::max(s.a); }, reading);
  s.row(
      "argmax", 0.9, [&] { return mw::argmax(s.a); }, reading);
  s.row(
      "mean", 0.9, [&] { return mw::mean(s.a); }, reading);
  return 0;
}
