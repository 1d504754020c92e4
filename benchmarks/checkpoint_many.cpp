// 10,000 arrays of 2 KiB a rank, saved durably and loaded: what an array costs, and a tree of 256 arrays of 2 MiB.
// suite: checkpoint
// ranks: 4
#include <meshwise/io/checkpoint.hpp>

#include <cstring>

#include "support/disk.hpp"
#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::P;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const bench::Folder folder;
  const std::int64_t arrays = argc > 1 ? std::atoll(argv[1]) : 10000;
  const mw::NamedSharding rows(mw::make_mesh({mw::process_count()}, {"x"}), P("x"));
  mw::Tree tree;
  for (std::int64_t k = 0; k < arrays; ++k)
    tree.set(fmt::format("layer{:05}", k), mw::device_put(mw::full({512 * mw::process_count()}, static_cast<float>(k)), rows));
  std::optional<mw::io::Checkpointer> checkpoints;
  mw::io::SaveReport report;
  bench::Rounds rounds;
  const auto save = rounds.add([&] { report = checkpoints->save(1, tree); },
                               [&] {
                                 folder.fresh();
                                 checkpoints.emplace(folder / "run");
                               });
  mw::io::Loaded loaded;
  const auto load = rounds.add([&] { loaded = checkpoints->load(1, tree); });
  const mw::LocalArray same(mw::Shape{arrays * 512}, mw::float32);
  std::memset(same.data(), 1, static_cast<std::size_t>(same.nbytes()));
  const auto raw = rounds.add([&] { bench::raw_write(folder / fmt::format("raw{}", mw::process_index()), same); }, [&] { folder.fresh(); });
  rounds.run(7);
  const auto row = [&](const char* what, double seconds, double goal) {
    mw::print(
        "{{\"bench\": \"checkpoint_many\", \"case\": \"{}\", \"ranks\": {}, \"bytes\": {}, \"us_an_array\": {:.2f}, \"goal\": {}, "
        "\"holds\": {}}}\n",
        what, mw::process_count(), report.bytes, seconds / static_cast<double>(arrays) * 1e6, goal,
        seconds / static_cast<double>(arrays) * 1e6 <= goal);
  };
  row("a durable save of arrays of 2 KiB a rank", rounds.seconds(save), 15);
  row("the same bytes as a raw file a rank, write + fsync", rounds.seconds(raw), 15);
  row("their load", rounds.seconds(load), 15);
  mw::print("{{\"prepare\": {:.3f}, \"write\": {:.3f}, \"sync\": {:.3f}, \"commit\": {:.3f}}}\n", report.prepare_seconds,
            report.write_seconds, report.sync_seconds, report.commit_seconds);
  return 0;
}
