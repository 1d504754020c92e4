// Datasets of ordinary HDF5 files read into every kind of sharding; what cannot be read is one error on all ranks.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <sys/file.h>
#include <sys/stat.h>

#include <meshwise/base/error.hpp>
#include <meshwise/io/hdf5.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::io::read;

struct Stored {
  const char* name;
  Dtype dtype;
  hid_t type;
};

std::vector<Stored> stored_types() {
  return {{"int8", Dtype::int8, H5T_STD_I8LE},
          {"int16be", Dtype::int16, H5T_STD_I16BE},
          {"int32", Dtype::int32, H5T_STD_I32LE},
          {"int32be", Dtype::int32, H5T_STD_I32BE},
          {"int64", Dtype::int64, H5T_STD_I64LE},
          {"int64be", Dtype::int64, H5T_STD_I64BE},
          {"uint8", Dtype::uint8, H5T_STD_U8LE},
          {"uint16", Dtype::uint16, H5T_STD_U16LE},
          {"uint32be", Dtype::uint32, H5T_STD_U32BE},
          {"uint64", Dtype::uint64, H5T_STD_U64LE},
          {"half", Dtype::float16, half_type()},
          {"halfbe", Dtype::float16, half_type(true)},
          {"bfloat16", Dtype::bfloat16, bfloat16_type()},
          {"bfloat16be", Dtype::bfloat16, bfloat16_type(true)},
          {"float32", Dtype::float32, H5T_IEEE_F32LE},
          {"float32be", Dtype::float32, H5T_IEEE_F32BE},
          {"float64be", Dtype::float64, H5T_IEEE_F64BE},
          {"float64", Dtype::float64, H5T_IEEE_F64LE},
          {"bool", Dtype::bool_, bool_type()},
          {"complex64", Dtype::complex64, complex_type(H5T_IEEE_F32LE)},
          {"complex64be", Dtype::complex64, complex_type(H5T_IEEE_F32BE)},
          {"complex128", Dtype::complex128, complex_type(H5T_IEEE_F64LE)}};
}

TEST(Hdf5Read, EveryTypeContiguousAndCompressed) {
  const Folder folder;
  const auto file = folder / "types.h5";
  const Shape shape{13, 5};
  on_first([&] {
    Maker make(file);
    for (const auto& s : stored_types()) {
      make.add(std::string("/plain/") + s.name, shape, s.dtype, s.type);
      make.add(std::string("/chunks/") + s.name, shape, s.dtype, s.type, Shape{4, 3});
    }
  });
  for (const auto& s : stored_types())
    for (const auto* group : {"/plain/", "/chunks/"})
      for (const auto& sharding : layouts(1))
        expect_test_values(read(file, group + std::string(s.name), sharding), shape, s.dtype, sharding);
}

TEST(Hdf5Read, EveryLayoutOfEveryShape) {
  const Folder folder;
  const auto file = folder / "shapes.h5";
  const std::vector<Shape> shapes{{}, {0}, {1}, {3}, {17}, {64}, {0, 4}, {5, 0}, {1, 7}, {12, 8}, {13, 11}, {2, 3, 5}, {4, 1, 2, 3}};
  on_first([&] {
    Maker make(file);
    for (std::size_t i = 0; i < shapes.size(); ++i) make.add(fmt::format("/s{}", i), shapes[i], Dtype::float32, H5T_IEEE_F32LE);
  });
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (const auto& sharding : layouts(shapes[i].ndim()))
      expect_test_values(read(file, fmt::format("s{}", i), sharding), shapes[i], Dtype::float32, sharding);
}

TEST(Hdf5Read, WithoutAShardingEveryRankHasTheValue) {
  const Folder folder;
  const auto file = folder / "whole.h5";
  on_first([&] { Maker(file).add("/a/b", {6, 7}, Dtype::int64, H5T_STD_I64BE, Shape{2, 7}); });
  const auto x = read(file, "/a/b");
  EXPECT_FALSE(x.committed());
  EXPECT_EQ(wrong_values<std::int64_t>(x.local_value(), {6, 7}, Index::whole({6, 7})), 0);
}

TEST(Hdf5Read, LinksEnumsAndOddNames) {
  const Folder folder;
  const auto file = folder / "odd.h5";
  on_first([&] {
    Maker make(file);
    make.add("/a b/é/x", {5}, Dtype::int16, H5T_STD_I16LE);
    H5Lcreate_soft("/a b/é/x", make.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    const auto colours = H5Tenum_create(H5T_STD_I16BE);  // an enum that is no bool is its integers
    for (int i = -60; i < 60; ++i) {
      const auto big = static_cast<std::int16_t>(__builtin_bswap16(static_cast<std::uint16_t>(i)));
      H5Tenum_insert(colours, fmt::format("c{}", i).c_str(), &big);
    }
    make.add("/colours", {5}, Dtype::int16, H5T_STD_I16BE);
    const hsize_t five = 5;
    const auto space = H5Screate_simple(1, &five, nullptr);
    const auto dataset = H5Dcreate2(make.id(), "enum", colours, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    std::vector<std::uint16_t> values;
    for (int i = 0; i < 5; ++i)
      values.push_back(__builtin_bswap16(static_cast<std::uint16_t>(static_cast<std::int16_t>(value_at(Dtype::int16, i)))));
    EXPECT_GE(H5Dwrite(dataset, colours, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(colours);
  });
  const mw::NamedSharding rows(mw::make_mesh({mw::devices().size()}, {"x"}), P("x"));
  for (const auto* name : {"/a b/é/x", "a b//é/x/", "soft", "enum"}) expect_test_values(read(file, name, rows), {5}, Dtype::int16, rows);
}

// Sums over the elements of every shard that is nobody's copy: f adds element i of value v to them.
template <class T, std::size_t N, class F>
std::array<std::int64_t, N> totals(const mw::Array& x, F&& f) {
  std::array<std::int64_t, N> sums{};
  for (const auto& shard : x.addressable_shards()) {
    if (shard.replica_id() != 0) continue;
    const auto view = shard.data().template view<T>();
    for (std::int64_t k = 0; k < view.size(); ++k) f(sums, std::int64_t{view[k]}, linear_index(x.shape(), shard.index(), k));
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(N), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sums;
}

TEST(Hdf5Read, DigitsAndFlower) {
  const std::string data = MESHWISE_SOURCE_DIR "/examples/data/";
  const auto n = mw::devices().size();
  const auto mesh = n % 2 ? mw::make_mesh({n, 1}, {"data", "model"}) : mw::make_mesh({n / 2, 2}, {"data", "model"});
  const std::array<std::int64_t, 16> two_rows{0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0};
  for (const auto& spec : {P("data"), P("data", "model"), P("model", nullptr, "data"), P()}) {
    const auto images = read(data + "digits.h5", "/images", mw::NamedSharding(mesh, spec));
    ASSERT_EQ(images.shape(), (Shape{1797, 8, 8}));
    ASSERT_EQ(images.dtype(), mw::uint8);
    const auto found = totals<std::uint8_t, 2>(images, [&](auto& sums, auto v, auto i) {
      sums[0] += v;
      sums[1] += i < 16 && v == two_rows[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(found[0], 561718);
    EXPECT_EQ(found[1], 16);
  }
  const auto labels = read(data + "digits.h5", "labels", mw::NamedSharding(mesh, P("data")));
  ASSERT_EQ(labels.dtype(), mw::int64);
  EXPECT_EQ((totals<std::int64_t, 10>(labels, [](auto& sums, auto v, auto) { ++sums[static_cast<std::size_t>(v)]; })),
            (std::array<std::int64_t, 10>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  for (const auto& spec : {P("data", "model"), P(nullptr, {"model", "data"})}) {
    const auto image = read(data + "flower.h5", "/image", mw::NamedSharding(mesh, spec));
    ASSERT_EQ(image.shape(), (Shape{427, 640, 3}));
    EXPECT_EQ((totals<std::uint8_t, 3>(image, [](auto& sums, auto v, auto i) { sums[static_cast<std::size_t>(i % 3)] += v; })),
              (std::array<std::int64_t, 3>{15067061, 20107708, 15577018}));
  }
}

mw::NamedSharding rows_everywhere() { return {mw::make_mesh({mw::devices().size()}, {"x"}), P("x")}; }

// One error, and the next call works.
template <class E = mw::CheckpointError>
std::string refused(const std::string& file, const std::string& dataset, const mw::Sharding& sharding, const std::string& good) {
  const auto words = error_everywhere<E>([&] { read(file, dataset, sharding); });
  EXPECT_HAS(words, file);
  expect_test_values(read(good, "/x", rows_everywhere()), {9}, Dtype::int32, rows_everywhere());
  return words;
}

class Hdf5Errors : public testing::Test {
 protected:
  void SetUp() override {
    on_first([&] {
      Maker make(file_);
      make.add("/x", {9}, Dtype::int32, H5T_STD_I32LE);
      make.add("/g/images", {4, 8, 8}, Dtype::uint8, H5T_STD_U8LE);
      const auto text = H5Tcopy(H5T_C_S1);
      H5Tset_size(text, 12);
      const auto point = H5Tcreate(H5T_COMPOUND, 8);
      H5Tinsert(point, "lat", 0, H5T_NATIVE_FLOAT);
      H5Tinsert(point, "lon", 4, H5T_NATIVE_FLOAT);
      const hsize_t three = 3;
      const auto space = H5Screate_simple(1, &three, nullptr), nothing = H5Screate(H5S_NULL);
      H5Dclose(H5Dcreate2(make.id(), "names", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Dclose(H5Dcreate2(make.id(), "points", point, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Dclose(H5Dcreate2(make.id(), "long", H5T_NATIVE_LDOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Dclose(H5Dcreate2(make.id(), "empty", H5T_NATIVE_FLOAT, nothing, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Lcreate_soft("/nowhere", make.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
      for (const auto type : {text, point}) H5Tclose(type);
      for (const auto s : {space, nothing}) H5Sclose(s);
    });
  }
  std::string refuse(const std::string& dataset) { return refused(file_, dataset, rows_everywhere(), file_); }
  Folder folder_;
  std::string file_ = folder_ / "data.h5";
};

TEST_F(Hdf5Errors, MissingDatasetSaysWhatThereIs) {
  for (const auto* name : {"/image", "g/image", "/x/y", "z/g/images"}) {
    const auto words = refuse(name);
    EXPECT_HAS(words, fmt::format("io::read('{}', '{}'): rank 0: there is no such dataset", file_, name));
    EXPECT_HAS(words, "the file holds ");
    EXPECT_HAS(words, "/g/images uint8[4,8,8]");
    EXPECT_HAS(words, "/x int32[9]");
    EXPECT_HAS(words, "/names string[12][3]");
  }
  EXPECT_HAS(refuse("/"), "a dataset needs a name");
  EXPECT_HAS(refuse("dangling"), "there is /dangling (a link to nothing)");
}

TEST_F(Hdf5Errors, WhatIsNoArray) {
  EXPECT_HAS(refuse("/g"), "that is a group, not a dataset; /g holds /g/images uint8[4,8,8]");
  EXPECT_HAS(refuse("/names"), "it is string[12][3]");
  EXPECT_HAS(refuse("/points"), "it is compound{lat,lon}[3]");
  EXPECT_HAS(refuse("/long"), "it is float of 128 bits[3]");
  EXPECT_HAS(refuse("/empty"), "it is float32 without a shape");
}

TEST_F(Hdf5Errors, SpecThatDoesNotFit) {
  const mw::NamedSharding four(mw::make_mesh({mw::devices().size()}, {"x"}), P(nullptr, nullptr, nullptr, "x"));
  EXPECT_HAS(refused(file_, "/g/images", four, file_),
             "the dataset is uint8[4,8,8], so a spec has at most 3 entries, and P(None, None, None, 'x') has 4");
}

TEST_F(Hdf5Errors, WhatIsNoHdf5File) {
  const auto text = folder_ / "text.h5", half = folder_ / "half.h5";
  on_first([&] {
    std::ofstream(text) << "not at all";
    std::ifstream whole(file_, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(whole), {});
    std::ofstream(half, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  });
  const auto bad = [&](const std::string& path) { return refused(path, "/x", rows_everywhere(), file_); };
  EXPECT_HAS(bad(folder_ / "none.h5"), "No such file or directory");
  EXPECT_HAS(bad("none.h5"), "the current folder is ");
  EXPECT_HAS(bad(folder_.path()), "it is a directory");
  EXPECT_HAS(bad("/dev/null"), "not a regular file");
  EXPECT_HAS(bad(text), "it is not an HDF5 file");
  EXPECT_HAS(bad(half), "truncated file");
}

TEST_F(Hdf5Errors, NothingIsPrintedAndTheProgramsOwnHandlerStays) {
  int calls = 0;
  H5E_auto2_t before = nullptr, now = nullptr;
  void *data_before = nullptr, *data_now = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
  testing::internal::CaptureStderr();
  refuse("/image");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const H5E_auto2_t own = [](hid_t, void* counter) -> herr_t { return ++*static_cast<int*>(counter), 0; };
  H5Eset_auto2(H5E_DEFAULT, own, &calls);
  refuse("/image");
  EXPECT_EQ(calls, 0);
  H5Eget_auto2(H5E_DEFAULT, &now, &data_now);
  EXPECT_TRUE(now == own && data_now == &calls);
  H5Eset_auto2(H5E_DEFAULT, before, data_before);
}

// A relative path, and one rank in another folder: its own failure reaches all, and the next call works.
TEST_F(Hdf5Errors, OneRankCannotOpenTheFile) {
  if (mw::process_count() == 1) GTEST_SKIP() << "needs two ranks";
  const auto last = mw::process_count() - 1;
  const auto before = std::filesystem::current_path();
  on_first([&] {
    std::filesystem::create_directory(folder_ / "elsewhere");
    std::filesystem::create_directory(folder_ / "other");
    Maker(folder_ / "other/data.h5").add("/x", {8}, Dtype::int32, H5T_STD_I32LE);
  });
  std::filesystem::current_path(mw::process_index() == last ? folder_ / "elsewhere" : folder_.path());
  auto words = refused("data.h5", "/x", rows_everywhere(), file_);
  EXPECT_HAS(words, fmt::format("rank {}: No such file or directory (the current folder is {})", last, folder_ / "elsewhere"));
  words = error_everywhere<mw::CheckpointError>([] { read("data.h5", "/x"); });
  EXPECT_HAS(words, fmt::format("rank {}: No such file", last));
  if (mw::process_index() == last) std::filesystem::current_path(folder_ / "other");
  EXPECT_HAS(refused("data.h5", "/x", rows_everywhere(), file_), "here it is int32[8], for rank 0 it is int32[9]");
  std::filesystem::current_path(before);
}

TEST_F(Hdf5Errors, RanksThatAskForDifferentDatasets) {
  if (mw::process_count() == 1) GTEST_SKIP() << "needs two ranks";
  const auto name = fmt::format("/w{}", mw::process_index() == 1 ? 1 : 0);
  const auto words = refused<mw::MismatchError>(file_, name, rows_everywhere(), file_);
  EXPECT_HAS(words, "every rank must pass the same");
  EXPECT_HAS(words, fmt::format("rank 1: io::read('{}', '/w1')", file_));
}

TEST_F(Hdf5Errors, U129LockedFile) {
  int descriptor = -1;
  on_first([&] {
    descriptor = ::open(file_.c_str(), O_RDONLY);
    ASSERT_EQ(::flock(descriptor, LOCK_EX | LOCK_NB), 0);
  });
  const auto words = error_everywhere<mw::CheckpointError>([&] { read(file_, "/x", rows_everywhere()); });
  EXPECT_HAS(words, file_);
  EXPECT_HAS(words, "Resource temporarily unavailable");
  EXPECT_HAS(words, "HDF5_USE_FILE_LOCKING=FALSE");
  on_first([&] { ::close(descriptor); });
  expect_test_values(read(file_, "/x", rows_everywhere()), {9}, Dtype::int32, rows_everywhere());
}

TEST_F(Hdf5Errors, U130ReadOnlyFileInAReadOnlyFolder) {
  on_first([&] {
    ::chmod(file_.c_str(), 0444);
    ::chmod(folder_.path().c_str(), 0555);
  });
  expect_test_values(read(file_, "/x", rows_everywhere()), {9}, Dtype::int32, rows_everywhere());
  on_first([&] { ::chmod(folder_.path().c_str(), 0755); });
}

}  // namespace
