// Saving and loading 512 MiB durably: against raw files, a file per rank; in the background; onto the same and another layout; and what it takes beside the arrays.
// suite: checkpoint
// ranks: 4
#include <meshwise/io/checkpoint.hpp>

#include <vector>

#include "support/disk.hpp"
#include "support/rounds.hpp"

namespace mw = meshwise;
using mw::P;

namespace {

void print_memory(const std::string& what, std::int64_t bytes, std::int64_t extra) {
  const auto most = bench::slowest(static_cast<double>(extra)) / (1 << 20);
  mw::print(
      "{{\"bench\": \"checkpoint\", \"case\": \"memory of a rank beside the arrays in {}\", \"ranks\": {}, \"bytes\": {}, \"MiB\": {:.1f}, "
      "\"goal\": 16, \"holds\": {}}}\n",
      what, mw::process_count(), bytes, most, most <= 16);
}

struct Case {
  const char* name;
  mw::Shape shape;
  mw::NamedSharding sharding;
};

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 512, bytes = mib << 20, elements = bytes / 8;
  const auto ranks = mw::process_count();
  const auto line = mw::make_mesh({ranks}, {"x"});
  const auto grid = mw::make_mesh({ranks / 2, 2}, {"x", "y"});
  const auto cube = mw::make_mesh({ranks / 4, 2, 2}, {"x", "y", "z"});
  const std::int64_t side = 2048, columns = 16 * ranks;
  const std::vector<Case> cases{{"rows", {elements / side, side}, {line, P("x")}},
                                {"columns of 128 bytes", {elements / columns, columns}, {line, P(nullptr, "x")}},
                                {"2-d blocks", {elements / side, side}, {grid, P("x", "y")}},
                                {"3-d blocks", {elements / side / 64, 64, side}, {cube, P("x", "y", "z")}}};
  const bench::Folder folder;
  {
    // First of all, since the library remembers the most it has had. What the system counts for a rank includes the others' memory that it has looked at.
    auto x = mw::device_put(mw::arange(elements, mw::float64).reshape(cases[0].shape), cases[0].sharding);
    folder.fresh();
    mw::io::Checkpointer checkpoints(folder / "run");
    checkpoints.save(1, mw::Tree{{"w", x}});
    for (const auto& [what, target] : {std::pair("a load onto the same", cases[0].sharding),
                                       std::pair("a load of rows as columns", mw::NamedSharding(line, P(nullptr, "x")))}) {
      x = {};
      mw::trim();
      const auto loaded = checkpoints.load(1, target);
      print_memory(what, bytes, mw::memory_stats().physical_peak - bytes / ranks);
    }
  }
  for (const auto& each : cases) {
    const auto x = mw::device_put(mw::arange(elements, mw::float64).reshape(each.shape), each.sharding);
    mw::block_until_ready(x);
    const mw::Tree tree{{"w", x}};
    const auto values = x.addressable_data(0).contiguous();
    const auto file = folder / fmt::format("raw{}", mw::process_index());
    std::optional<mw::io::Checkpointer> checkpoints;
    const auto save = [&] { checkpoints->save(1, tree); };
    bench::Rounds rounds;
    const auto us = rounds.add(save, [&] {
      folder.fresh();
      checkpoints.emplace(folder / "run");
    });
    const auto raw = rounds.add([&] { bench::raw_write(file, values); }, [&] { folder.fresh(); });
    mw::io::Saving saving;
    const auto blocked = rounds.add([&] { saving = checkpoints->save_async(1, tree); },
                                    [&] {
                                      folder.fresh();
                                      checkpoints.emplace(folder / "run");
                                    });
    const auto rest = rounds.add([&] { saving.wait(); });
    rounds.run(7);
    bench::print_row(rounds, "checkpoint", fmt::format("durable save, {}", each.name), bytes, "write + fsync, a file a rank", raw, us, 0.9);
    bench::print_row(rounds, "checkpoint", fmt::format("save_async until it returns, {}", each.name), bytes, "a synchronous save", us,
                     blocked, 20);
    bench::print_row(rounds, "checkpoint", fmt::format("save_async and wait, {}", each.name), bytes, "a synchronous save", us, rest, {});
    folder.fresh();
    checkpoints.emplace(folder / "run");
    print_memory(fmt::format("a save, {}", each.name), bytes, bench::peak_beyond(save));
  }
  // Loads, from memory that the system keeps: the disk's own speed would hide ours.
  const auto& stored = cases[0];
  const auto x = mw::device_put(mw::arange(elements, mw::float64).reshape(stored.shape), stored.sharding);
  folder.fresh();
  mw::io::Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, mw::Tree{{"w", x}});
  const auto values = x.addressable_data(0).contiguous();
  const auto file = folder / fmt::format("raw{}", mw::process_index());
  bench::raw_write(file, values);
  std::vector<std::byte> buffer(static_cast<std::size_t>(values.nbytes()), std::byte{1});
  const auto like = [&](const mw::NamedSharding& target) {
    return mw::Tree{{"w", mw::device_put(mw::zeros(stored.shape, mw::float64), target)}};
  };
  const auto same = like(stored.sharding), columns_like = like({line, P(nullptr, "x")}), blocks = like({grid, P("y", "x")});
  mw::Tree loaded;
  mw::io::LoadReport report;
  const auto load = [&](const mw::Tree& wanted) {
    return [&] {
      auto result = checkpoints.load(1, wanted);
      report = result.report;
      loaded = std::move(result);
    };
  };
  bench::Rounds rounds;
  const auto raw = rounds.add([&] { bench::raw_read(file, buffer.data(), values.nbytes()); });
  const auto us = rounds.add(load(same), [&] { loaded = {}; });
  const auto to_columns = rounds.add(load(columns_like), [&] { loaded = {}; });
  const auto to_blocks = rounds.add(load(blocks), [&] { loaded = {}; });
  rounds.run(7);
  bench::print_row(rounds, "checkpoint", "verified load, same sharding", bytes, "pread", raw, us, 0.8);
  bench::print_row(rounds, "checkpoint", "load of rows as columns", bytes, "load onto the same", us, to_columns, 1 / 2.5);
  bench::print_row(rounds, "checkpoint", "load of rows as 2-d blocks of another mesh", bytes, "load onto the same", us, to_blocks, 1 / 2.5);
  mw::print(
      "{{\"bench\": \"checkpoint\", \"case\": \"bytes read / bytes needed, another mesh\", \"ranks\": {}, \"ratio\": {:.3f}, \"goal\": "
      "1.1, \"holds\": {}}}\n",
      ranks, static_cast<double>(report.bytes_read) / static_cast<double>(report.bytes), report.bytes_read * 10 <= report.bytes * 11);
  return 0;
}
