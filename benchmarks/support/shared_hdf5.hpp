#pragma once
// The program's own collective write of an array to one shared HDF5 file by MPI-IO (docs/mpi_io.md): the peer of io::write and of checkpoints.

#include <meshwise/meshwise.hpp>

#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace bench {

inline void worked(bool it_did, const char* what) {
  if (!it_did) throw meshwise::Error(std::string("cannot ") + what);
}

/// x as the dataset /x of a new file: all ranks together, each the boxes of its own devices. One collective call a rank, so one selection of all its
/// boxes; a rank without any takes part with an empty one. Needs a parallel HDF5, and that every rank gets here.
inline void write_by_mpi_io(const std::string& path, const meshwise::Array& x) {
  const auto access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const auto file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  worked(file >= 0, "make the file");
  const std::vector<hsize_t> lengths(x.shape().begin(), x.shape().end());
  const auto space = H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr);
  const auto dataset = H5Dcreate2(file, "/x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

  H5Sselect_none(space);
  std::vector<meshwise::LocalArray> parts;
  hsize_t size = 0;
  for (const auto& shard : x.addressable_shards()) {
    if (shard.replica_id() != 0 || shard.index().empty()) continue;
    std::vector<hsize_t> start, count;
    for (const auto& range : shard.index()) {
      start.push_back(static_cast<hsize_t>(range.start));
      count.push_back(static_cast<hsize_t>(range.size()));
    }
    H5Sselect_hyperslab(space, H5S_SELECT_OR, start.data(), nullptr, count.data(), nullptr);
    parts.push_back(shard.data().contiguous());
    size += static_cast<hsize_t>(parts.back().size());
  }
  std::vector<double> joined;  // in the order of the selection, row by row: with one shard a rank the shard's own, as it lies there
  if (parts.size() != 1)
    for (const auto& part : parts) joined.insert(joined.end(), part.view<double>().data(), part.view<double>().data() + part.size());
  const double* values = parts.size() == 1 ? parts[0].view<double>().data() : joined.data();
  const auto memory = H5Screate_simple(1, &size, nullptr);
  worked(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "write the values");
  for (const auto s : {space, memory}) H5Sclose(s);
  H5Dclose(dataset);
  worked(H5Fclose(file) >= 0, "close the file");
  for (const auto list : {access, transfer}) H5Pclose(list);
}

/// On disk when all ranks have done it, as when io::write returns.
inline void synchronize(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY);
  worked(descriptor >= 0 && fsync(descriptor) == 0, "synchronise the file");
  close(descriptor);
}

}  // namespace bench
