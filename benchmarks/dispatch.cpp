// What does an operation cost that has next to nothing to compute? Thread CPU time per call, the minimum of 7 rounds, the slowest rank.
// ranks: 2 4 8
#include "bench.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

constexpr int calls = 2000;

void report(const std::string& what, double mine, double goal) {
  bench::Row row{"dispatch", what, "", 0, bench::slowest(mine), 0, 0, goal, false};
  row.holds = row.ours < goal;
  bench::print(row);
}

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const auto x = mw::device_put(mw::arange(16.0), NamedSharding(mesh, P("x"))), y = mw::device_put(mw::ones({16}), NamedSharding(mesh, P("x")));
  const auto replicated = mw::device_put(mw::ones({16}), NamedSharding(mesh, P()));
  report("x + y, 16 elements", bench::seconds_a_call(calls, [&] { x + y; }), 5e-6);
  report("x + 2.0f, 16 elements", bench::seconds_a_call(calls, [&] { x + 2.0f; }), 5e-6);
  report("exp(x), 16 elements", bench::seconds_a_call(calls, [&] { mw::exp(x); }), 5e-6);
  report("x + replicated, 16 elements", bench::seconds_a_call(calls, [&] { x + replicated; }), 5e-6);
  if (n > 1) {
    // An array on the other half of the devices: this rank is outside, or inside, as its number says.
    const auto there = mw::device_put(mw::arange(16.0), NamedSharding(mw::make_mesh({1}, {"x"}, {.devices = mw::devices().first(1)}), P()));
    const auto mine = bench::seconds_a_call(calls, [&] { there + there; });
    report("an operation on another rank's array", mw::process_index() == 0 ? 0.0 : mine, 5e-6);
  }
  return 0;
}
