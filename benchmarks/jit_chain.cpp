// A chain of eight elementwise operations on float32, recorded and run as one pass, against what memory allows: one loop that reads the operands and writes one result, into
// reused memory; and replaying ten tiny operations.
// suite: jit
// ranks: 2 4
#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P;

namespace {

void stream(const float* __restrict x, const float* __restrict y, float* __restrict out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  const std::int64_t bytes = (argc > 1 ? std::atoll(argv[1]) : 256) << 20;
  const NamedSharding rows(mw::make_mesh({mw::devices().size()}, {"x"}), P("x"));
  const auto drawn = [&](std::int64_t seed) {
    auto x = mw::device_put(mw::random::normal(mw::random::key(seed), {bytes / 4}), rows);
    mw::block_until_ready(x);
    return x;
  };
  const auto x = drawn(1), y = drawn(2);
  const auto f = [](const Array& a, const Array& b) { return mw::maximum(mw::abs((a * b + a) * 0.5f - b) + 1.0f, 0.25f) * a; };
  const auto chain = mw::jit(f);
  const auto here = x.addressable_data(0), there = y.addressable_data(0);
  std::vector<float> out(static_cast<std::size_t>(here.size()));
  bench::Rounds rounds;
  Array result;
  const auto ours = rounds.add([&] { mw::block_until_ready(result = chain(x, y)); }, [&] { result = {}; });
  const auto eager = rounds.add([&] { mw::block_until_ready(result = f(x, y)); }, [&] { result = {}; });
  const auto peer = rounds.add([&] { stream(reinterpret_cast<const float*>(here.data()), reinterpret_cast<const float*>(there.data()), out.data(), here.size()); });
  rounds.run(7);
  bench::print_row(rounds, "jit_chain", "eight elementwise operations of float32", bytes, "one loop that reads and writes as much", peer, ours, 0.9);
  bench::print_row(rounds, "jit_chain", "the same without jit", bytes, "one loop that reads and writes as much", peer, eager, {});
  return 0;
}
