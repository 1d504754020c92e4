// io::write against the program's own collective HDF5 write to one shared file by MPI-IO (docs/mpi_io.md), 256 MiB of float64.
// suite: files
// ranks: 2 4
#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <filesystem>

#include "support/rounds.hpp"
#include "support/rows_to_columns.hpp"

namespace mw = meshwise;

namespace {

void must(bool worked, const char* what) {
  if (!worked) throw mw::Error(std::string("cannot ") + what);
}

/// x as the dataset /x of a new file: all ranks together, each the boxes of its own devices. One collective call a rank, so one selection of all its boxes; a
/// rank without any takes part with an empty one. Needs a parallel HDF5, and that every rank gets here.
void write_by_mpi_io(const std::string& path, const mw::Array& x) {
  const auto access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const auto file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  must(file >= 0, "make the file");
  const std::vector<hsize_t> lengths(x.shape().begin(), x.shape().end());
  const auto space = H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr);
  const auto dataset = H5Dcreate2(file, "/x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

  H5Sselect_none(space);
  std::vector<double> values;  // in the order of the selection, row by row: with one shard a rank, the shard's own
  for (const auto& shard : x.addressable_shards()) {
    if (shard.replica_id() != 0 || shard.index().empty()) continue;
    std::vector<hsize_t> start, count;
    for (const auto& range : shard.index()) {
      start.push_back(static_cast<hsize_t>(range.start));
      count.push_back(static_cast<hsize_t>(range.size()));
    }
    H5Sselect_hyperslab(space, H5S_SELECT_OR, start.data(), nullptr, count.data(), nullptr);
    const auto here = shard.data().contiguous();
    values.insert(values.end(), here.view<double>().data(), here.view<double>().data() + here.size());
  }
  const hsize_t count = values.size();
  const auto memory = H5Screate_simple(1, &count, nullptr);
  must(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values.data()) >= 0, "write the values");
  for (const auto s : {space, memory}) H5Sclose(s);
  H5Dclose(dataset);
  must(H5Fclose(file) >= 0, "close the file");
  for (const auto list : {access, transfer}) H5Pclose(list);
}

/// On disk when all ranks have done it, as when io::write returns.
void synchronize(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY);
  must(descriptor >= 0 && fsync(descriptor) == 0, "synchronise the file");
  close(descriptor);
}

}  // namespace

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
