// A durable save of a tree of float32 arrays of 2 MiB (normal, as weights are: nothing to compress), and the same bytes as a raw file a rank, a round
// at a time: our side of the peers that are Python's jobs. benchmarks/peers/rounds.py drives both.
// suite: checkpoint
// ranks: none
#include <meshwise/io/checkpoint.hpp>

#include <cstdio>
#include <cstring>

#include "support/disk.hpp"
#include "support/rounds.hpp"
#include "support/worker.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const std::int64_t arrays = (argc > 1 ? std::atoll(argv[1]) : 512) / 2, rows = 1024, columns = 512;
  const mw::NamedSharding by_rows(mw::make_mesh({mw::process_count()}, {"x"}), mw::P("x"));
  mw::Tree tree;
  const mw::LocalArray same(mw::Shape{arrays, rows / mw::process_count(), columns}, mw::float32);
  for (std::int64_t k = 0; k < arrays; ++k) {
    const auto x = mw::device_put(mw::random::normal(mw::random::key(k), {rows, columns}), by_rows);
    const auto mine = x.addressable_data(0).contiguous();
    std::memcpy(same.data() + k * mine.nbytes(), mine.data(), static_cast<std::size_t>(mine.nbytes()));
    tree.set(fmt::format("layer{:03}", k), x);
  }
  const bench::Folder folder;
  std::optional<mw::io::Checkpointer> checkpoints;
  mw::print("@ ready\n");
  std::fflush(stdout);
  while (bench::asked()) {
    folder.fresh();
    checkpoints.emplace(folder / "run");
    const double us = bench::span_of([&] { checkpoints->save(1, tree); });
    folder.fresh();
    const double raw = bench::span_of([&] { bench::raw_write(folder / fmt::format("raw{}", mw::process_index()), same); });
    mw::print("@ {:.9f} {:.9f}\n", us, raw);
    std::fflush(stdout);
  }
}
