// What sums that are the same on every layout cost: the deterministic mode against the usual one.
// suite: operations
// ranks: 2 4
#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P;

namespace {

template <class F>
void row(const std::string& what, std::int64_t bytes, F&& f) {
  bench::Rounds rounds;
  Array result;
  const auto mine = rounds.add([&] {
    const mw::deterministic scope;
    mw::block_until_ready(result = f());
  });
  const auto usual = rounds.add([&] { mw::block_until_ready(result = f()); });
  rounds.run(5);
  bench::print_row(rounds, "operations_deterministic", what, bytes, "the usual order of sums", usual, mine, {});
}

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  const auto bytes = (argc > 1 ? std::atoll(argv[1]) : 256) << 20;
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const std::int64_t columns = 4096, rows = bytes / 4 / columns;
  const auto x = mw::device_put(mw::random::normal(mw::random::key(1), {rows, columns}), NamedSharding(mesh, P("x")));
  row("sum", bytes, [&] { return mw::sum(x); });
  row("sum over rows", bytes, [&] { return mw::sum(x, {0}); });
  row("sum over columns", bytes, [&] { return mw::sum(x, {1}); });
  const auto a = mw::device_put(mw::random::normal(mw::random::key(2), {1024, 1024}), NamedSharding(mesh, P("x")));
  row("matmul 1024 x 1024", 4 << 20, [&] { return mw::matmul(a, a); });
  return 0;
}
