// What four typical operations take on so many ranks, for scripts/scaling.sh: `scaling strong` with arrays of one size in all,
// `scaling weak` with arrays of that size a rank. Second argument: MiB of an array (default 64).
// ranks: none
#include "support/rows_to_columns.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const std::string mode = argc > 1 ? argv[1] : "strong";
  if (mode != "strong" && mode != "weak") throw mw::Error("scaling strong|weak [MiB]");
  const auto n = mw::process_count();
  const std::int64_t bytes = bench::bytes_wanted(argc - 1, argv + 1, 64);
  const auto side = bench::side_of(bytes), rows = mode == "weak" ? side * n : side;
  const auto mesh = mw::make_mesh({n}, {"x"});
  const NamedSharding by_rows(mesh, P("x")), by_columns(mesh, P(mw::none, "x")), everywhere(mesh, P());
  const auto x = mw::device_put(mw::arange(static_cast<double>(rows * side), mw::float64).reshape({rows, side}), by_rows);
  const auto y = mw::device_put(mw::ones({rows, side}, mw::float64), by_rows);
  // A product has more to compute than to move: a few columns, or it would be all there is.
  const auto few = mw::device_put(mw::ones({side, 64}, mw::float64), everywhere);

  mw::Array kept;
  bench::Rounds rounds;
  const auto add = [&](auto f) {
    return rounds.add([&kept, f] {
      auto next = f();
      mw::block_until_ready(next);
      kept = std::move(next);
    });
  };
  const std::vector<std::pair<std::string, std::size_t>> operations = {
      {"x + y", add([&] { return x + y; })},
      {"x.sum()", add([&] { return x.sum(); })},
      {"matmul(x, 64 columns)", add([&] { return mw::matmul(x, few); })},
      {"rows to columns", add([&] { return mw::device_put(x, by_columns); })}};
  rounds.run(7);
  for (const auto& [name, entry] : operations)
    bench::print({"scaling", mode + ": " + name, "", rows * side * 8, rounds.seconds(entry), 0, 0, {}, false});
}
