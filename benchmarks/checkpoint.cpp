// Saving and loading 512 MiB durably: against raw files, a file per rank; in the background; onto the same and another layout; and what it takes beside the arrays.
// suite: checkpoint
// ranks: 4
#include <meshwise/io/checkpoint.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "support/rounds.hpp"

namespace mw = meshwise;
namespace fs = std::filesystem;
using mw::P;

namespace {

// Where the files go: MESHWISE_BENCH_FOLDER, else the system's folder for temporary files. What it measures is that disk.
class Folder {
 public:
  Folder() {
    const char* wanted = std::getenv("MESHWISE_BENCH_FOLDER");
    std::string path = ((wanted ? fs::path(wanted) : fs::temp_directory_path()) / "meshwise-bench.XXXXXX").string();
    if (mw::process_index() == 0 && ::mkdtemp(path.data()) == nullptr) path.clear();
    MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = path;
  }
  ~Folder() { clear(); }
  void clear() const {
    mw::barrier();
    if (mw::process_index() == 0) fs::remove_all(path_);
    mw::barrier();
  }
  void fresh() const {
    clear();
    if (mw::process_index() == 0) fs::create_directory(path_);
    mw::barrier();
    ::sync();
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void must(bool holds, const char* what) {
  if (!holds) throw mw::Error(what);
}

// The least that durable writing can be: each rank one file, its bytes in one piece.
void raw_write(const std::string& path, const mw::LocalArray& values) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  must(file >= 0, "cannot create a raw file");
  for (std::int64_t done = 0; done < values.nbytes();) {
    const auto written = ::write(file, values.data() + done, static_cast<std::size_t>(std::min<std::int64_t>(values.nbytes() - done, 4 << 20)));
    must(written > 0, "cannot write a raw file");
    done += written;
  }
  must(::fsync(file) == 0 && ::close(file) == 0, "cannot sync a raw file");
}

void raw_read(const std::string& path, std::byte* to, std::int64_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY);
  must(file >= 0, "cannot open a raw file");
  for (std::int64_t done = 0; done < bytes;) {
    const auto got = ::pread(file, to + done, static_cast<std::size_t>(std::min<std::int64_t>(bytes - done, 4 << 20)), done);
    must(got > 0, "cannot read a raw file");
    done += got;
  }
  ::close(file);
}

std::int64_t resident() {
  std::int64_t pages = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    must(std::fscanf(file, "%ld %ld", &pages, &resident) == 2, "statm");
    std::fclose(file);
  }
  return resident * ::sysconf(_SC_PAGESIZE);
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
  const Folder folder;
  for (const auto& each : cases) {
    const auto x = mw::device_put(mw::arange(elements, mw::float64).reshape(each.shape), each.sharding);
    mw::block_until_ready(x);
    const mw::Tree tree{{"w", x}};
    const auto values = x.addressable_data(0).contiguous();
    const auto file = folder / fmt::format("raw{}", mw::process_index());
    std::optional<mw::io::Checkpointer> checkpoints;
    std::int64_t before = 0, after = 0;
    const auto save = [&] {
      before = resident();
      checkpoints->save(1, tree);
      after = resident();
    };
    bench::Rounds rounds;
    const auto us = rounds.add(save, [&] {
      folder.fresh();
      checkpoints.emplace(folder / "run");
    });
    const auto raw = rounds.add([&] { raw_write(file, values); }, [&] { folder.fresh(); });
    mw::io::Saving saving;
    const auto blocked = rounds.add([&] { saving = checkpoints->save_async(1, tree); }, [&] {
      folder.fresh();
      checkpoints.emplace(folder / "run");
    });
    const auto rest = rounds.add([&] { saving.wait(); });
    rounds.run(7);
    bench::print_row(rounds, "checkpoint", fmt::format("durable save, {}", each.name), bytes, "write + fsync, a file a rank", raw, us, 0.9);
    bench::print_row(rounds, "checkpoint", fmt::format("save_async until it returns, {}", each.name), bytes, "a synchronous save", us, blocked, 20);
    bench::print_row(rounds, "checkpoint", fmt::format("save_async and wait, {}", each.name), bytes, "a synchronous save", us, rest, {});
    const auto extra = bench::slowest(static_cast<double>(after - before)) / (1 << 20);
    mw::print("{{\"bench\": \"checkpoint\", \"case\": \"memory beside the arrays in a save, {}\", \"ranks\": {}, \"bytes\": {}, \"MiB\": {:.1f}, \"goal\": 16, \"holds\": {}}}\n",
              each.name, ranks, bytes, extra, extra <= 16);
  }
  // Loads, from memory that the system keeps: the disk's own speed would hide ours.
  const auto& stored = cases[0];
  const auto x = mw::device_put(mw::arange(elements, mw::float64).reshape(stored.shape), stored.sharding);
  folder.fresh();
  mw::io::Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, mw::Tree{{"w", x}});
  const auto values = x.addressable_data(0).contiguous();
  const auto file = folder / fmt::format("raw{}", mw::process_index());
  raw_write(file, values);
  std::vector<std::byte> buffer(static_cast<std::size_t>(values.nbytes()), std::byte{1});
  const auto like = [&](const mw::NamedSharding& target) { return mw::Tree{{"w", mw::device_put(mw::zeros(stored.shape, mw::float64), target)}}; };
  const auto same = like(stored.sharding), columns_like = like({line, P(nullptr, "x")}), blocks = like({grid, P("y", "x")});
  mw::Tree loaded;
  mw::io::LoadReport report;
  std::int64_t before = 0, after = 0;
  const auto load = [&](const mw::Tree& wanted) {
    return [&] {
      before = resident();
      auto result = checkpoints.load(1, wanted);
      report = result.report;
      loaded = std::move(result);
      after = resident();
    };
  };
  bench::Rounds rounds;
  const auto raw = rounds.add([&] { raw_read(file, buffer.data(), values.nbytes()); });
  const auto us = rounds.add(load(same), [&] { loaded = {}; });
  const auto to_columns = rounds.add(load(columns_like), [&] { loaded = {}; });
  const auto to_blocks = rounds.add(load(blocks), [&] { loaded = {}; });
  rounds.run(7);
  bench::print_row(rounds, "checkpoint", "verified load, same sharding", bytes, "pread", raw, us, 0.8);
  bench::print_row(rounds, "checkpoint", "load of rows as columns", bytes, "load onto the same", us, to_columns, 1 / 2.5);
  bench::print_row(rounds, "checkpoint", "load of rows as 2-d blocks of another mesh", bytes, "load onto the same", us, to_blocks, 1 / 2.5);
  mw::print("{{\"bench\": \"checkpoint\", \"case\": \"bytes read / bytes needed, another mesh\", \"ranks\": {}, \"ratio\": {:.3f}, \"goal\": 1.1, \"holds\": {}}}\n", ranks,
            static_cast<double>(report.bytes_read) / static_cast<double>(report.bytes), report.bytes_read * 10 <= report.bytes * 11);
  return 0;
}
