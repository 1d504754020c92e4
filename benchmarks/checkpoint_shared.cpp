// A durable save of 512 MiB against one dataset of a shared HDF5 file, written collectively by MPI-IO and synchronised.
// suite: checkpoint
// ranks: 4
#include <meshwise/io/checkpoint.hpp>

#include "support/disk.hpp"
#include "support/rounds.hpp"
#include "support/shared_hdf5.hpp"

namespace mw = meshwise;
using mw::P;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 512, bytes = mib << 20, elements = bytes / 8;
  const auto line = mw::make_mesh({mw::process_count()}, {"x"});
  const std::int64_t side = 2048, narrow = 16 * mw::process_count();
  struct Case {
    const char* name;
    mw::Shape shape;
    mw::NamedSharding sharding;
    double goal;
    int rounds;  // the peer takes 20 seconds of narrow columns
  };
  const bench::Folder folder;
  const auto file = folder / "shared.h5", mine = folder / fmt::format("raw{}", mw::process_index());
  for (const auto& each : {Case{"rows", {elements / side, side}, {line, P("x")}, 2, 7},
                           Case{"columns of 128 bytes", {elements / narrow, narrow}, {line, P(nullptr, "x")}, 15, 3}}) {
    const auto x = mw::device_put(mw::arange(elements, mw::float64).reshape(each.shape), each.sharding);
    mw::block_until_ready(x);
    const mw::Tree tree{{"x", x}};
    const auto values = x.addressable_data(0).contiguous();
    std::optional<mw::io::Checkpointer> checkpoints;
    bench::Rounds rounds;
    const auto us = rounds.add([&] { checkpoints->save(1, tree); },
                               [&] {
                                 folder.fresh();
                                 checkpoints.emplace(folder / "run");
                               });
    const auto check = [&](const mw::Array& back, const char* whose) {
      if (!mw::all(back == x).item<bool>()) throw mw::Error(std::string(whose) + ": a value is wrong");
    };
    const auto peer = rounds.add(
        [&] {
          bench::write_by_mpi_io(file, x);
          bench::synchronize(file);
        },
        [&] { folder.fresh(); });
    const auto raw = rounds.add([&] { bench::raw_write(mine, values); }, [&] { folder.fresh(); });
    rounds.run(each.rounds);
    const auto what = fmt::format("durable save, {}", each.name);
    bench::print_row(rounds, "checkpoint_shared", what, bytes, "one shared dataset, H5Dwrite collective, fsync", peer, us, each.goal);
    bench::print_row(rounds, "checkpoint_shared", what, bytes, "write + fsync, a file a rank", raw, us, {});
    folder.fresh();
    bench::write_by_mpi_io(file, x);
    check(mw::io::read(file, "/x", each.sharding), "the shared dataset");
    checkpoints.emplace(folder / "run");
    checkpoints->save(1, tree);
    check(checkpoints->load(1, tree)["x"], "the checkpoint");
  }
}
