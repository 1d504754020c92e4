// ranks: 3 4 8
// devices_per_rank: 8 4@2
// links: hdf5 mpi
// What users of such systems ran into, restated: arrays in files. Cases that need more devices than there are are skipped.
#include <gtest/gtest.h>

#include <sys/syscall.h>

#include <atomic>

#include "support/hdf5_files.hpp"
#include "support/need_devices.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P, mw::Shape, mw::make_mesh;
using support::line, support::numbered, support::wrong_numbers;

namespace {
std::atomic<std::int64_t> bytes_written{0};
}

// The executable's definition comes before libc's, for HDF5 too.
extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  const auto written = syscall(SYS_pwrite64, descriptor, bytes, count, at);
  if (written > 0) bytes_written += written;
  return written;
}

namespace {

/// What all ranks together have written since; Collective.
std::int64_t written_everywhere() {
  std::int64_t sum = bytes_written.exchange(0);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

// Copies of the same values were written by each that held one.
TEST(UserCases, U122_ReplicasAreWrittenOnce) {
  NEED_DEVICES(4);
  const auto grid = make_mesh({2, 2}, {"x", "y"}, {.devices = {0, 1, 2, 3}});
  const auto two = make_mesh({2}, {"x"}, {.devices = {1, 3}});
  const auto all = line(mw::devices().size());
  const hdf5_files::Folder folder;
  constexpr std::int64_t bytes = 256 * 1024 * 4, metadata = 1 << 16;
  for (const auto& sharding :
       {NamedSharding(all, P()), NamedSharding(all, P("x")), NamedSharding(grid, P("x")), NamedSharding(grid, P(nullptr, "y")),
        NamedSharding(grid, P("x", "y")), NamedSharding(two, P()), NamedSharding(two, P("x"))}) {
    const auto x = hdf5_files::test_array({256, 1024}, mw::float32, sharding);
    mw::barrier();
    written_everywhere();
    mw::io::write(folder / "x.h5", "/x", x);
    const auto written = written_everywhere();
    EXPECT_GE(written, bytes) << mw::to_string(sharding);
    EXPECT_LT(written, bytes + metadata) << mw::to_string(sharding);
    hdf5_files::on_first([&] { hdf5_files::expect_dataset(folder / "x.h5", "/x", {256, 1024}, mw::float32); });
    mw::io::write_npy(folder / "x.npy", x);
    const auto as_npy = written_everywhere();
    mw::io::write_tree(folder / "t.h5", "/t", mw::Tree{{"a", x}, {"b", x}});
    const auto as_tree = written_everywhere();
    EXPECT_EQ(as_npy, bytes + 128) << mw::to_string(sharding);
    EXPECT_GE(as_tree, 2 * bytes) << mw::to_string(sharding);
    EXPECT_LT(as_tree, 2 * bytes + metadata) << mw::to_string(sharding);
  }
}

// What was stored had another shape than what was asked for, and nobody said so.
TEST(UserCases, U135_AnotherShapeThanTheStoredOne) {
  const hdf5_files::Folder folder;
  const auto file = folder / "x.h5", npy = folder / "x.npy";
  const NamedSharding rows(line(mw::devices().size()), P("x"));
  const auto x = mw::device_put(numbered({10}, mw::float32), rows);
  mw::io::write(file, "/w", x);
  mw::io::write_npy(npy, x);
  for (const auto& box : {mw::Index{{0, 20}}, mw::Index{{0, 2}, {0, 5}}}) {
    const auto words = hdf5_files::error_everywhere<mw::IndexError>([&] { mw::io::read(file, "/w", rows, {.box = box}); });
    for (const auto& part : {file, std::string("/w"), mw::to_string(box), std::string("stored is float32[10]")}) EXPECT_HAS(words, part);
    EXPECT_HAS(hdf5_files::error_everywhere<mw::IndexError>([&] { mw::io::read_npy(npy, rows, {.box = box}); }), "stored is float32[10]");
  }
  EXPECT_HAS(hdf5_files::error_everywhere<mw::ShapeError>([&] {
               mw::io::append(file, "/w", mw::device_put(numbered({2, 5}, mw::float32), rows));
             }),
             "the dataset is float32[10]");
  EXPECT_EQ(wrong_numbers<float>(mw::io::read(file, "/w", rows)), 0);
}

// Rows that are fewer than ranks: the gathered array hung or had the wrong size.
TEST(UserCases, U022_AnUnevenArrayIsSavedAsItIs) {
  NEED_DEVICES(4);
  const NamedSharding rows(line(4), P("x"));
  const hdf5_files::Folder folder;
  const auto x = mw::device_put(numbered({3}, mw::int64), rows);
  for (const auto& shard : x.addressable_shards()) EXPECT_LE(shard.data().size(), 1);
  mw::io::write(folder / "x.h5", "/x", x);
  EXPECT_EQ(mw::sum(x).item<std::int64_t>(), 3);
  const auto back = mw::io::read(folder / "x.h5", "/x", rows), whole = mw::io::read(folder / "x.h5", "/x", NamedSharding(line(4), P()));
  for (const auto& y : {back, whole}) {
    EXPECT_EQ(y.shape(), (Shape{3}));
    EXPECT_EQ(wrong_numbers<std::int64_t>(y), 0);
  }
  hdf5_files::on_first([&] {
    const hid_t file = H5Fopen((folder / "x.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), data = H5Dopen2(file, "/x", H5P_DEFAULT),
                space = H5Dget_space(data);
    ASSERT_EQ(H5Sget_simple_extent_npoints(space), 3);
    std::int64_t values[3] = {-1, -1, -1};
    H5Dread(data, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(values[k], k);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(file);
  });
}

// Ranks that had nothing to write stayed away, and the others waited for them.
TEST(UserCases, U122_EmptyPartsScalarsAndFewDevices) {
  NEED_DEVICES(4);
  const NamedSharding rows(line(4), P("x")), two(make_mesh({2}, {"x"}, {.devices = {1, 3}}), P("x"));
  const hdf5_files::Folder folder;
  const auto file = folder / "x.h5";
  mw::io::write(file, "/empty", mw::device_put(mw::zeros({0, 4}), rows));
  mw::io::write(file, "/scalar", mw::device_put(mw::asarray(7.5), NamedSharding(line(4), P())), {.append = true});
  mw::io::write(file, "/eight", mw::device_put(numbered({8}, mw::float32), two), {.append = true});
  mw::io::write(file, "/three", mw::device_put(numbered({3}, mw::int64), rows), {.append = true});
  const auto empty = mw::io::read(file, "/empty", rows), eight = mw::io::read(file, "/eight", two),
             three = mw::io::read(file, "/three", rows);
  EXPECT_EQ(empty.shape(), (Shape{0, 4}));
  EXPECT_EQ(mw::io::read(file, "/scalar", NamedSharding(line(4), P())).item<float>(), 7.5f);
  EXPECT_EQ(eight.shape(), (Shape{8}));
  EXPECT_EQ(wrong_numbers<float>(eight), 0);
  EXPECT_EQ(three.shape(), (Shape{3}));
  EXPECT_EQ(wrong_numbers<std::int64_t>(three), 0);
}

TEST(UserCases, U054_ShapesWithNothingInThemSurviveTheFile) {
  NEED_DEVICES(4);
  const NamedSharding rows(line(4), P("x")), columns(line(4), P(nullptr, "x"));
  const hdf5_files::Folder folder;
  const auto file = folder / "x.h5";
  for (const auto& shape : {Shape{0, 0}, Shape{0, 5}, Shape{8, 0}}) {
    mw::io::write(file, "/x", mw::device_put(mw::zeros(shape), rows));
    const auto back = mw::io::read(file, "/x", columns);
    EXPECT_EQ(back.shape(), shape);
    EXPECT_EQ(mw::sum(back).item<float>(), 0.0f);
  }
}

// One file in a hundred had wrong values, with three processes and odd shapes.
TEST(UserCases, U126_FiftySavesOfOddShapes) {
  const auto m = line(mw::devices().size());
  const hdf5_files::Folder folder;
  for (int k = 0; k < 50; ++k) {
    mw::io::write(folder / "x.h5", "/x",
                  hdf5_files::test_array({42, 39}, mw::float64, NamedSharding(m, k % 2 == 0 ? P("x") : P(nullptr, "x"))));
    hdf5_files::on_first([&] { hdf5_files::expect_dataset(folder / "x.h5", "/x", {42, 39}, mw::float64); });
    mw::barrier();
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.h5"});
}

// What eight devices had written could only be read, or even be looked at, by eight.
TEST(UserCases, U133_WrittenOnEightReadOnFewer) {
  NEED_DEVICES(8);
  const hdf5_files::Folder folder;
  const auto file = folder / "x.h5";
  mw::io::write(file, "/x",
                mw::device_put(numbered({24, 24}, mw::float32), NamedSharding(make_mesh({4, 2}, {"data", "model"}), P("data", "model"))));
  for (const std::int64_t n : {1, 2, 3, 4, 6})
    for (const auto& spec : {P("x"), P(nullptr, "x"), P()}) {
      const auto x = mw::io::read(file, "/x", NamedSharding(line(n), spec));
      ASSERT_EQ(x.shape(), (Shape{24, 24}));
      EXPECT_EQ(x.dtype(), mw::float32);
      EXPECT_EQ(x.sharding(), NamedSharding(line(n), spec));
      EXPECT_EQ(wrong_numbers<float>(x), 0) << n << " devices, " << mw::to_string(spec);
      for (const auto& shard : x.addressable_shards()) {
        if (n == 3 && spec == P("x")) {
          EXPECT_EQ(shard.data().view<float>()[0], 192.0f * static_cast<float>(shard.device().id));
        }
      }
    }
  EXPECT_EQ(wrong_numbers<float>(mw::io::read(file, "/x")), 0) << "on no devices in particular";
  hdf5_files::on_first([&] {
    const auto open = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(open, "/x", H5P_DEFAULT),
               space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    hsize_t lengths[2] = {};
    EXPECT_EQ(H5Sget_simple_extent_dims(space, lengths, nullptr), 2);
    EXPECT_EQ(lengths[0], 24u);
    EXPECT_EQ(lengths[1], 24u);
    EXPECT_GT(H5Tequal(type, H5T_IEEE_F32LE), 0);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(open);
  });
}

}  // namespace
