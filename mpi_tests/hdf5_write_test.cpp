// Arrays written as datasets that a plain HDF5 program reads: whole, once, or not at all, and then one error on all ranks.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <meshwise/array/device_put.hpp>
#include <meshwise/base/error.hpp>
#include <meshwise/io/hdf5.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::io::read;
using mw::io::write;

// Rank 0 alone looks at the file, as any program would.
void expect_file(const std::string& file, const std::string& name, const Shape& shape, Dtype dtype) {
  on_first([&] { expect_dataset(file, name, shape, dtype); });
}

TEST(Hdf5Write, EveryDtypeAsAPlainProgramReadsItAndBackOntoAnotherMesh) {
  const Folder folder;
  const auto file = folder / "types.h5";
  const Shape shape{13, 6};
  for (const auto dtype : all_dtypes) {
    const auto name = fmt::format("/params/{}", mw::name(dtype));
    write(file, name, test_array(shape, dtype, line(P("x"))), {.append = true});
    expect_file(file, name, shape, dtype);
    expect_test_values(read(file, name, backwards(P(nullptr, "x"))), shape, dtype, backwards(P(nullptr, "x")));
  }
  for (const auto dtype : all_dtypes) expect_file(file, fmt::format("/params/{}", mw::name(dtype)), shape, dtype);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"types.h5"});
}

// scripts/check_h5py.py runs this alone and reads the file by its own account of the values.
TEST(Hdf5Write, AFileForH5py) {
  const char* file = std::getenv("MESHWISE_TEST_H5PY");
  if (file == nullptr) GTEST_SKIP() << "for scripts/check_h5py.py";
  write(file, "/scalar", test_array({}, Dtype::float64, line(P())));
  write(file, "/empty", test_array({0, 4}, Dtype::int32, line(P("x"))), {.append = true});
  for (const auto dtype : all_dtypes)
    write(file, fmt::format("/params/{}", mw::name(dtype)), test_array({13, 6}, dtype, line(P("x"))), {.append = true});
}

TEST(Hdf5Write, EveryLayoutOfEveryShape) {
  const Folder folder;
  const auto file = folder / "layout.h5";
  for (const Shape& shape :
       {Shape{}, Shape{0}, Shape{1}, Shape{3}, Shape{17}, Shape{0, 4}, Shape{5, 0}, Shape{12, 8}, Shape{13, 11}, Shape{2, 3, 5}})
    for (const auto& sharding : layouts(shape.ndim())) {
      write(file, "/x", test_array(shape, Dtype::int16, sharding));
      expect_file(file, "/x", shape, Dtype::int16);
    }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"layout.h5"});
}

TEST(Hdf5Write, U122EmptyShardsAndScalars) {
  const Folder folder;
  const auto file = folder / "u122.h5";
  const auto all = mw::devices();
  const auto some = mw::make_mesh({(all.size() + 1) / 2}, {"x"}, {.devices = all.last((all.size() + 1) / 2).reversed()});
  write(file, "empty", test_array({0, 4}, Dtype::float32, mw::NamedSharding(some, P("x"))));
  write(file, "scalar", test_array({}, Dtype::float64, mw::NamedSharding(some, P())), {.append = true});
  write(file, "eight", test_array({8}, Dtype::int64, mw::NamedSharding(some, P("x"))), {.append = true});
  write(file, "three", test_array({3}, Dtype::int64, line(P("x"))), {.append = true});
  expect_file(file, "empty", {0, 4}, Dtype::float32);
  expect_file(file, "scalar", {}, Dtype::float64);
  expect_file(file, "eight", {8}, Dtype::int64);
  expect_file(file, "three", {3}, Dtype::int64);
}

TEST(Hdf5Write, U126RepeatedSavesOfOddShapes) {
  const Folder folder;
  const auto file = folder / "u126.h5";
  for (int i = 0; i < 6; ++i) {
    const auto name = fmt::format("/step{}/x", i);
    write(file, name, test_array({42, 39}, Dtype::float64, i % 2 ? line(P("x")) : line(P(nullptr, "x"))), {.append = i > 0});
    expect_file(file, name, {42, 39}, Dtype::float64);
  }
}

TEST(Hdf5Write, U137SizesThatLeaveADeviceWithoutAPart) {
  const Folder folder;
  const auto file = folder / "u137.h5";
  const auto all = mw::devices();
  const auto few = [&](std::int64_t n) { return mw::NamedSharding(mw::make_mesh({n}, {"x"}, {.devices = all.first(n)}), P("x")); };
  write(file, "/w", test_array({6}, Dtype::int32, few(std::min<std::int64_t>(2, all.size()))));
  for (std::int64_t n = 1; n <= all.size(); ++n) expect_test_values(read(file, "/w", few(n)), {6}, Dtype::int32, few(n));
  expect_test_values(read(file, "/w", line(P())), {6}, Dtype::int32, line(P()));
}

TEST(Hdf5Write, U141ThreeMeshAxes) {
  if (mw::devices().size() < 8) GTEST_SKIP() << "needs eight devices";
  const Folder folder;
  const mw::NamedSharding sharding(mw::make_mesh({2, 2, 2}, {"a", "b", "c"}), P({"a", "b"}, "c"));
  write(folder / "u141.h5", "/w", test_array({8, 8}, Dtype::int32, sharding));
  expect_file(folder / "u141.h5", "/w", {8, 8}, Dtype::int32);
}

TEST(Hdf5Write, NarrowColumns) {
  const Folder folder;
  for (const Shape& shape : {Shape{2000, 8}, Shape{3, 700, 9}, Shape{1, 1031, 16}}) {
    const auto spec = shape.ndim() == 2 ? P(nullptr, "x") : P(nullptr, nullptr, "x");
    for (const auto& sharding : {line(spec), backwards(spec)}) {
      write(folder / "columns.h5", "/x", test_array(shape, Dtype::float32, sharding));
      expect_file(folder / "columns.h5", "/x", shape, Dtype::float32);
    }
  }
}

TEST(Hdf5Write, UncommittedArraysAndRecipes) {
  const Folder folder;
  const auto file = folder / "recipes.h5";
  write(file, "/n", mw::arange(100000));
  write(file, "/full", mw::full({1500, 1000}, 2.5), {.append = true});  // larger than the rows of a recipe that are made at a time
  std::vector<std::uint16_t> values;
  for (std::int64_t i = 0; i < 30; ++i) values.push_back(make_value<std::uint16_t>(i));
  write(file, "/host", mw::asarray(values, {6, 5}), {.append = true});
  expect_file(file, "/host", {6, 5}, Dtype::uint16);
  on_first([&] {
    const auto open = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    std::vector<std::int32_t> n(100000);
    std::vector<float> full(1500 * 1000);
    const auto get = [&](const char* name, hid_t type, void* out) {
      const auto dataset = H5Dopen2(open, name, H5P_DEFAULT);
      EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out), 0);
      H5Dclose(dataset);
    };
    get("/n", H5T_NATIVE_INT32, n.data());
    get("/full", H5T_NATIVE_FLOAT, full.data());
    H5Fclose(open);
    int wrong = 0;
    for (std::size_t i = 0; i < n.size(); ++i) wrong += n[i] != static_cast<std::int32_t>(i);
    for (const auto v : full) wrong += v != 2.5f;
    EXPECT_EQ(wrong, 0);
  });
}

TEST(Hdf5Write, ATransferInFlightAndStridedShards) {
  const Folder folder;
  const auto moved = mw::device_put(test_array({31, 9}, Dtype::float64, line(P("x"))), backwards(P("x")));
  write(folder / "moved.h5", "/x", moved);
  expect_file(folder / "moved.h5", "/x", {31, 9}, Dtype::float64);

  const Shape shape{10, 12};
  const auto sharding = line(P("x"));
  std::vector<mw::LocalArray> pieces;  // windows whose rows lie apart in memory
  for (const auto& [device, box] : sharding.devices_indices_map(shape)) {
    if (device.rank != mw::process_index()) continue;
    mw::LocalArray turned({box.shape()[1], box.shape()[0]}, Dtype::float32);
    auto view = turned.mutable_view<float>();
    for (std::int64_t i = 0; i < box.shape()[0]; ++i)
      for (std::int64_t j = 0; j < box.shape()[1]; ++j) view(j, i) = make_value<float>((box[0].start + i) * 12 + j);
    pieces.push_back(turned.transposed({1, 0}));
  }
  write(folder / "turned.h5", "/x", mw::make_array_from_single_device_arrays(shape, sharding, pieces));
  expect_file(folder / "turned.h5", "/x", shape, Dtype::float32);
}

TEST(Hdf5Write, ANewFileReplacesTheOldOneAndAppendAdds) {
  const Folder folder;
  const auto file = folder / "f.h5";
  write(file, "/old", test_array({5}, Dtype::int32, line(P("x"))));
  on_first([&] {
    ::chmod(file.c_str(), 0640);
    std::filesystem::create_symlink("f.h5", folder / "link.h5");
  });
  write(folder / "link.h5", "/a/b/c", test_array({7}, Dtype::int32, line(P("x"))));
  write(file, "a/d", test_array({9}, Dtype::int8, line(P())), {.append = true});
  expect_file(file, "/a/b/c", {7}, Dtype::int32);
  expect_file(file, "/a/d", {9}, Dtype::int8);
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read(file, "/old"); }),
             "there is no such dataset; the file holds /a/b/c int32[7], /a/d int8[9]");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"f.h5", "link.h5"}));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.h5"));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

// A write that cannot be: one error with the path on all ranks, the folder as it was, and the next write works.
class Hdf5WriteErrors : public testing::Test {
 protected:
  void SetUp() override {
    write(file_, "/x", x_);
    names_ = folder_.names();
  }
  template <class E = mw::CheckpointError>
  std::string refuse(const std::string& file, const std::string& dataset, const mw::Array& x, mw::io::WriteOptions options = {}) {
    const auto words = error_everywhere<E>([&] { write(file, dataset, x, options); });
    EXPECT_EQ(folder_.names(), names_);
    expect_file(file_, "/x", {9}, Dtype::int32);
    mw::barrier();
    write(folder_ / "next.h5", "/y", x_);
    expect_file(folder_ / "next.h5", "/y", {9}, Dtype::int32);
    on_first([&] { std::filesystem::remove(folder_ / "next.h5"); });
    return words;
  }
  Folder folder_;
  std::string file_ = folder_ / "f.h5";
  mw::Array x_ = test_array({9}, Dtype::int32, line(P("x")));
  std::vector<std::string> names_;
};

TEST_F(Hdf5WriteErrors, NamesThatCannotBe) {
  EXPECT_HAS(refuse(folder_ / "no/such/f.h5", "/x", x_), "No such file or directory");
  EXPECT_HAS(refuse(folder_.path(), "/x", x_), "it is a directory");
  EXPECT_HAS(refuse("/dev/full", "/x", x_), "it is not a regular file");
  EXPECT_HAS(refuse(folder_ / "g.h5", "//", x_), "a dataset needs a name");
  EXPECT_HAS(refuse(file_, "/x", x_, {.append = true}), "there is something of that name already; the file holds /x int32[9]");
  EXPECT_HAS(refuse(file_, "/x/y", x_, {.append = true}), "/x is no group");
}

TEST_F(Hdf5WriteErrors, AppendToWhatIsNoHdf5File) {
  on_first([&] { std::ofstream(folder_ / "text.txt") << "words"; });
  names_ = folder_.names();
  EXPECT_HAS(refuse(folder_ / "text.txt", "/x", x_, {.append = true}), "it is not an HDF5 file");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "text.txt"), 5u);
}

TEST_F(Hdf5WriteErrors, U123RanksThatPassDifferentNames) {
  if (mw::process_count() == 1) GTEST_SKIP() << "needs two ranks";
  const auto words = refuse<mw::MismatchError>(folder_ / "new.h5", fmt::format("/w{}", mw::process_index()), x_);
  for (std::int64_t r = 0; r < mw::process_count(); ++r)
    EXPECT_HAS(words, fmt::format("rank {}: io::write('{}', '/w{}'", r, folder_ / "new.h5", r));
}

TEST_F(Hdf5WriteErrors, DeletedArrays) {
  auto gone = test_array({9}, Dtype::int32, line(P("x")));
  gone.free();
  refuse<mw::DonatedError>(folder_ / "new.h5", "/x", gone);
  if (mw::process_count() == 1) return;
  auto half_gone = test_array({9}, Dtype::int32, line(P("x")));
  if (mw::process_index() == 1) half_gone.free();
  EXPECT_HAS(refuse<mw::MismatchError>(folder_ / "new.h5", "/x", half_gone), ", a deleted array");
}

TEST_F(Hdf5WriteErrors, U129LockedFile) {
  int descriptor = -1;
  on_first([&] {
    descriptor = ::open(file_.c_str(), O_RDONLY);
    ASSERT_EQ(::flock(descriptor, LOCK_SH | LOCK_NB), 0);
  });
  const auto words = error_everywhere<mw::CheckpointError>([&] { write(file_, "/y", x_, {.append = true}); });
  EXPECT_HAS(words, "HDF5_USE_FILE_LOCKING=FALSE");
  on_first([&] { ::close(descriptor); });
  write(file_, "/y", x_, {.append = true});
  expect_file(file_, "/y", {9}, Dtype::int32);
}

// No more room on the ranks chosen: a limit on the size of files, which fails as a full disk does.
class NoRoom {
 public:
  NoRoom(bool here, rlim_t bytes) : here_(here) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    if (here_) ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~NoRoom() {
    if (here_) ::setrlimit(RLIMIT_FSIZE, &before_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  bool here_;
  rlimit before_{};
};

TEST_F(Hdf5WriteErrors, NoRoomOnOneRankOrAll) {
  const auto n = mw::devices().size();
  const auto big = test_array({64 * n, 1024}, Dtype::float32, line(P("x")));  // 256 KiB a device
  const auto last = mw::process_count() - 1;
  for (const bool append : {false, true})
    for (const auto on : {std::int64_t{-1}, std::int64_t{0}, last}) {
      const auto file = append ? file_ : folder_ / "big.h5";
      std::string words;
      {
        const NoRoom limit(on < 0 || on == mw::process_index(), append || on > 0 ? 100000 : 0);
        words = error_everywhere<mw::CheckpointError>([&] { write(file, "/g/big", big, {.append = append}); });
      }
      EXPECT_HAS(words, fmt::format("io::write('{}', '/g/big', float32[{}@x,1024]", file, 64 * n));
      EXPECT_HAS(words, fmt::format("rank {}: ", on < 0 ? 0 : on));
      EXPECT_HAS(words, "File too large");
      EXPECT_EQ(folder_.names(), names_);
      expect_file(file_, "/x", {9}, Dtype::int32);
      mw::barrier();
      EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read(file_, "/nothing"); }), "the file holds /x int32[9]");
      EXPECT_LT(std::filesystem::file_size(file_), 100000u);
    }
  write(folder_ / "big.h5", "/g/big", big);
  expect_file(folder_ / "big.h5", "/g/big", {64 * n, 1024}, Dtype::float32);
}

}  // namespace
