// Bytes and messages that reshards between hosts hand to MPI, all ranks together, over the least that any plan must: what a host wants and doesn't
// have, and one message from each rank that has some of it to each that gets it. Ranks of a host share memory, so nothing else is sent.
// suite: redistribution
// hosts: 2x1 2x2 4x1
#include "bench.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

std::int64_t over_ranks(std::int64_t mine) {
  std::int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void print_ratio(const std::string& what, std::int64_t bytes, std::int64_t sent, std::int64_t least) {
  const double ratio = least > 0 ? static_cast<double>(sent) / static_cast<double>(least) : sent == 0 ? 1 : 2;
  bench::print({"reshard_traffic", what, "lower bound", bytes, static_cast<double>(sent), static_cast<double>(least), ratio, 1.0, ratio == 1});
}

void report(const std::string& what, const mw::Array& x, const NamedSharding& target) {
  const auto plan = mw::plan_report(x, target);
  std::int64_t least = 0, messages = 0;
  for (const auto& rank : plan.ranks) {
    least += rank.bytes_lower_bound;
    messages += rank.network.messages_in;
  }
  mw::quiesce();
  mw::barrier();
  const auto before = mw::runtime_stats();
  const auto y = mw::device_put(x, target);
  mw::block_until_ready(y);
  mw::quiesce();
  const auto after = mw::runtime_stats();
  print_ratio(what + ": bytes", x.nbytes(), over_ranks(after.bytes_sent - before.bytes_sent), least);
  print_ratio(what + ": messages", x.nbytes(), over_ranks(after.messages_sent - before.messages_sent), messages);
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto n = mw::process_count();
  constexpr std::int64_t side = 16;  // each message in one piece
  const auto mesh = mw::make_mesh({n}, {"x"}), back = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(mw::none, "x")), everywhere(mesh, P());
  const auto x = mw::device_put(mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side}), rows);
  report("rows to columns", x, columns);
  report("rows to everywhere", x, everywhere);
  report("rows to the rows of reversed devices", x, NamedSharding(back, P("x")));
  report("everywhere to columns", mw::device_put(x, everywhere), columns);
}
