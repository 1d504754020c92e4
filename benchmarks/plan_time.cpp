// What a plan costs: one rank's of 4,096 against looking at every device's box, one that is remembered, and what explain says of a rank of a million.
// suite: redistribution
// ranks: 1
#include "array/move_plan.hpp"
#include "bench.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

constexpr std::int64_t virtual_ranks = 4096;

/// What a planner without arithmetic does: meets this device's boxes with those of all others.
std::int64_t scan(const NamedSharding& from, const NamedSharding& to, const mw::Shape& shape, std::int64_t position) {
  const auto mine = from.index_at(shape, position), wanted = to.index_at(shape, position);
  std::int64_t pieces = 0;
  for (std::int64_t other = 0; other < virtual_ranks; ++other) {
    for (const auto& [a, b] : {std::pair(wanted, from.index_at(shape, other)), std::pair(mine, to.index_at(shape, other))}) {
      mw::Index piece;
      for (std::int64_t d = 0; d < shape.ndim(); ++d) piece.push_back(mw::intersect(a[d], b[d]));
      pieces += piece.empty() ? 0 : 1;
    }
  }
  return pieces;
}

void against_scan() {
  const auto devices = mw::DeviceList::virtual_devices(virtual_ranks);
  const auto mesh = mw::make_mesh({64, 64}, {"x", "y"}, {.devices = devices});
  const mw::Shape shape{65536, 65536};
  const NamedSharding from(mesh, P("x", "y")), to(mesh, P("y", "x"));
  const auto movement = mw::Movement::reshard(from, to, shape);
  std::int64_t ours = 0, theirs = 0, number = 0;
  const auto next = [&] { return 977 * ++number % virtual_ranks; };
  const double planned = bench::seconds_a_call(64, [&] {
    const auto plan = mw::plan_device(movement, {}, devices[next()]);
    ours += static_cast<std::int64_t>(plan.receives.size() + plan.sends.size());
  });
  const double scanned = bench::seconds_a_call(8, [&] { theirs += scan(from, to, shape, next()); });
  if (ours == 0 || theirs == 0) throw mw::Error("nobody planned anything");
  bench::Row row{"plan_time", "one rank's plan of 4,096, P('x', 'y') to P('y', 'x')", "looking at all boxes", shape.num_elements() * 8, planned, scanned, scanned / planned, 100, false};
  row.holds = row.ratio >= 100;
  bench::print(row);
}

void remembered() {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(mw::none, "x"));
  const auto x = mw::device_put(mw::ones({64, 64}), rows);
  const auto& shards = mw::detail::ready_shards(x);
  const void* first = mw::detail::plan_reshard(shards, rows, columns, x.shape(), x.dtype()).get();
  bool same = true;
  const double seconds = bench::seconds_a_call(10'000, [&] { same = same && mw::detail::plan_reshard(shards, rows, columns, x.shape(), x.dtype()).get() == first; });
  if (!same) throw mw::Error("a plan was made anew");
  bench::Row row{"plan_time", "a remembered plan", "", x.nbytes(), seconds, 0, 0, 200e-9, seconds < 200e-9};
  bench::print(row);
}

/// The dearest of these moves counts.
void explained() {
  const auto mesh = mw::make_mesh({1024, 1024}, {"x", "y"}, {.devices = mw::DeviceList::virtual_devices(1 << 20)});
  const mw::Shape shape{1 << 20, 1 << 20};
  const std::pair<mw::PartitionSpec, mw::PartitionSpec> moves[] = {
      {P("x", "y"), P("y", "x")}, {P("x"), P(mw::none, "x")},               {P("x", "y"), P({"x", "y"})},
      {P("x", "y"), P()},         {P({"x", "y"}), P(mw::none, {"x", "y"})}, {P("x"), P("y")}};
  const mw::Topology topologies[] = {{}, {.ranks_per_node = 8}, {.ranks_per_node = 8, .node_shares_memory = true}};
  double dearest = 0;
  for (const auto& [from, to] : moves)
    for (const auto& topology : topologies) {
      const NamedSharding source(mesh, from), target(mesh, to);
      std::size_t ranks = 0;
      const auto explain = [&] { ranks = mw::plan_report(shape, mw::float32, source, target, {.topology = topology}).ranks.size(); };
      const double seconds = bench::seconds_a_call(1, explain);
      dearest = std::max(dearest, seconds / static_cast<double>(ranks));
    }
  bench::print({"plan_time", "explain, a rank of 1,048,576, the dearest of 18 moves", "", shape.num_elements() * 4, dearest, 0, 0, 50e-6, dearest < 50e-6});
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  against_scan();
  remembered();
  explained();
  return 0;
}
