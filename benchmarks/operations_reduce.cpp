// Reductions along each axis of a matrix and of an array of three axes, cut along the reduced axis and along another, against reading every rank's elements
// once (a sum in registers, -O3 -march=native -ffast-math).
// suite: operations
// ranks: 2 4
#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::PartitionSpec, mw::Shape;

namespace {

float read(const float* __restrict x, std::int64_t n) {
  float sums[64] = {}, total = 0;
  for (std::int64_t i = 0; i + 64 <= n; i += 64)
    for (int k = 0; k < 64; ++k) sums[k] += x[i + k];
  for (const float sum : sums) total += sum;
  return total;
}

struct Reduction {
  const char* name;
  Array (*call)(const Array&, std::int64_t axis);
};
const Reduction reductions[] = {{"sum", [](const Array& x, std::int64_t axis) { return mw::sum(x, {axis}); }},
                                {"max", [](const Array& x, std::int64_t axis) { return mw::max(x, {axis}); }},
                                {"mean", [](const Array& x, std::int64_t axis) { return mw::mean(x, {axis}); }},
                                {"argmax", [](const Array& x, std::int64_t axis) { return mw::argmax(x, axis); }}};

volatile float kept;  // what was read was needed

void rows(const Array& x, const std::string& shape, const std::string& layout, std::int64_t axis) {
  const auto bytes = x.size() * static_cast<std::int64_t>(mw::itemsize(x.dtype()));
  for (const auto& reduction : reductions) {
    bench::Rounds rounds;
    Array result;
    const auto mine = rounds.add([&] { mw::block_until_ready(result = reduction.call(x, axis)); });
    const auto local = x.addressable_data(0);
    const auto peer = rounds.add([&] { kept = read(reinterpret_cast<const float*>(local.data()), local.nbytes() / 4); });
    rounds.run(5);
    const auto what = fmt::format("{} of {} {}, axis {}, {}", reduction.name, name(x.dtype()), shape, axis, layout);
    bench::print_row(rounds, "operations_reduce", what, bytes, "reading it once", peer, mine, 0.9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  const std::int64_t bytes = (argc > 1 ? std::atoll(argv[1]) : 256) << 20;
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  for (const auto dtype : {mw::float32, mw::float64, mw::int32}) {
    const auto count = bytes / static_cast<std::int64_t>(mw::itemsize(dtype)), side = std::int64_t{4096}, planes = count / (256 * 128);
    // Placed before it is computed with: each device's block is dense, no window on a larger one.
    const auto cut = [&](const Shape& shape, const PartitionSpec& spec) {
      const auto random = mw::device_put(mw::random::uniform(mw::random::key(1), shape), NamedSharding(mesh, spec));
      auto x = mw::astype(random * 100.0f, dtype);
      mw::block_until_ready(x);
      return x;
    };
    for (const bool by_rows : {true, false}) {
      const auto matrix = cut(Shape{count / side, side}, by_rows ? P("x") : P(nullptr, "x"));
      for (std::int64_t axis = 0; axis < 2; ++axis) rows(matrix, "matrix", by_rows ? "rows cut" : "columns cut", axis);
    }
    if (dtype != mw::float32) continue;
    for (const bool by_planes : {true, false}) {
      const auto planes_of = cut(Shape{planes, 256, 128}, by_planes ? P("x") : P(nullptr, "x"));
      for (std::int64_t axis = 0; axis < 3; ++axis)
        rows(planes_of, "n x 256 x 128", by_planes ? "first axis cut" : "middle axis cut", axis);
    }
  }
  return 0;
}
