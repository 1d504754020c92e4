// io::write against the program's own collective HDF5 write to one shared file by MPI-IO (docs/mpi_io.md), 256 MiB of float64.
// suite: files
// ranks: 2 4
#include <filesystem>

#include "support/rounds.hpp"
#include "support/rows_to_columns.hpp"
#include "support/shared_hdf5.hpp"

namespace mw = meshwise;
using bench::synchronize;
using bench::write_by_mpi_io;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv, 256));
  const auto folder = std::filesystem::temp_directory_path().string();
  const auto ours = folder + "/meshwise-ours.h5", theirs = folder + "/meshwise-mpiio.h5";
  const auto mesh = mw::make_mesh({mw::process_count()}, {"x"});
  for (const auto& spec : {mw::P("x"), mw::P(nullptr, "x")}) {
    const auto x =
        mw::device_put(mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side}), mw::NamedSharding(mesh, spec));
    bench::Rounds rounds;
    const auto us = rounds.add([&] { mw::io::write(ours, "/x", x); });
    const auto safe = rounds.add([&] {
      write_by_mpi_io(theirs, x);
      synchronize(theirs);
    });
    const auto cached = rounds.add([&] { write_by_mpi_io(theirs, x); });
    rounds.run(5);
    for (const auto& file : {ours, theirs})
      if (!mw::all(mw::io::read(file, "/x", x.sharding()) == x).item<bool>()) throw mw::Error("a value is wrong in " + file);
    const auto name = fmt::format("{0} x {0} float64, {1}", side, mw::to_string(spec));
    bench::print_row(rounds, "shared_file_mpiio", name, side * side * 8, "H5Dwrite collective, fsync", safe, us, {});
    bench::print_row(rounds, "shared_file_mpiio", name, side * side * 8, "H5Dwrite collective, left in the page cache", cached, us, {});
  }
  mw::barrier();
  if (mw::process_index() == 0)
    for (const auto& file : {ours, theirs}) std::filesystem::remove(file);
}
