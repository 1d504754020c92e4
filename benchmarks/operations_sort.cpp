// Sorting float32 along an axis that is cut over the ranks, against what a user would write: std::sort of each rank's share, then one reshard.
// suite: operations
// ranks: 2 4
#include <algorithm>
#include <cstring>

#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  const auto n = mw::devices().size();
  const auto elements = (argc > 1 ? std::atoll(argv[1]) : 256) << 18;  // MiB
  const NamedSharding rows(mw::make_mesh({n}, {"x"}), P("x")), columns(mw::make_mesh({n}, {"x"}), P(nullptr, "x"));
  const auto x = mw::device_put(mw::random::normal(mw::random::key(1), {elements}), rows);
  const auto square = mw::reshape(x, {elements / 4096, 4096});
  mw::block_until_ready(x);
  const auto mine = x.addressable_data(0).contiguous();
  std::vector<float> share(static_cast<std::size_t>(mine.size()));
  bench::Rounds rounds;
  mw::Array sorted, order, moved;
  const auto ours = rounds.add([&] { mw::block_until_ready(sorted = mw::sort(x)); }, [&] { sorted = {}; });
  const auto places = rounds.add([&] { mw::block_until_ready(order = mw::argsort(x)); }, [&] { order = {}; });
  const auto peer = rounds.add(
      [&] {
        std::sort(share.begin(), share.end());
        mw::block_until_ready(moved = mw::reshard(square, columns));
      },
      [&] {
        moved = {};
        std::memcpy(share.data(), mine.data(), share.size() * sizeof(float));
      });
  rounds.run(3);
  const auto bytes = elements * 4;
  bench::print_row(rounds, "operations_sort", "sort of float32 over a split axis", bytes, "std::sort of a share, and a reshard", peer, ours, 0.7);
  bench::print_row(rounds, "operations_sort", "argsort of float32 over a split axis", bytes, "std::sort of a share, and a reshard", peer, places, {});
  return 0;
}
