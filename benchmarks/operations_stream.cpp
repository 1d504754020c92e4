// Operations on whole arrays, against hand-written loops on the same ranks, into memory that is used again, compiled for this machine (-O3 -march=native
// -ffast-math: vectors, and the vector library's functions).
// suite: operations
// ranks: 2 4
#include <cmath>
#include <cstring>

#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P;

namespace {

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
    out_.assign(static_cast<std::size_t>(count_), 0.0f);
  }

  // Ours, and a loop over this rank's elements.
  template <class Ours, class Loop>
  void row(const std::string& what, std::optional<double> goal, Ours&& ours, Loop&& loop) {
    bench::Rounds rounds;
    Array result;
    const auto mine = rounds.add([&] { mw::block_until_ready(result = ours()); });
    const auto *x = at(a), *y = at(b), *z = at(c);
    const auto* m = mask.addressable_data(0).data();
    const auto peer = rounds.add([&] { loop(x, y, z, reinterpret_cast<const bool*>(m), out_.data(), count_); });
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
      [](F x, F y, F, const bool*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
      });
  s.row(
      "a * b + c", 0.95, [&] { return s.a * s.b + s.c; },
      [](F x, F y, F z, const bool*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * y[i] + z[i];
      });
  s.row(
      "where", {},  // no bar: the compiler does not vectorise the peer
      [&] { return mw::where(s.mask, s.a, s.b); },
      [](F x, F y, F, const bool* m, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = m[i] ? x[i] : y[i];
      });
  s.row(
      "exp", 0.8, [&] { return mw::exp(s.a); },
      [](F x, F, F, const bool*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i]);
      });
  s.row(
      "tanh", 0.8, [&] { return mw::tanh(s.a); },
      [](F x, F, F, const bool*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = std::tanh(x[i]);
      });
  s.row(
      "log", 0.8, [&] { return mw::log(s.a); },
      [](F x, F, F, const bool*, O out, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) out[i] = std::log(x[i]);
      });
  const auto reading = [](F x, F, F, const bool*, O out, std::int64_t n) {
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
