// Datasets that grow: made by append itself or by another program, chunked and compressed; on an error they are as they were.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <sys/resource.h>

#include <csignal>
#include <meshwise/array/device_put.hpp>
#include <meshwise/base/error.hpp>
#include <meshwise/io/hdf5.hpp>
#include <meshwise/ops/index.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::io::append;
using mw::io::read;

// Elements [from, to) along an axis of the test array of `shape`.
mw::Array slab(const Shape& shape, Dtype dtype, std::int64_t axis, std::int64_t from, std::int64_t to, const mw::Sharding& sharding) {
  auto part = shape;
  part[axis] = to - from;
  return mw::make_array_from_callback(part, dtype, sharding, [&](const Index& box, mw::LocalArray& out) {
    auto there = box;
    there[axis].start += from;
    there[axis].stop += from;
    mw::visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto view = out.mutable_view<T>();
      for (std::int64_t k = 0; k < view.size(); ++k) view[k] = make_value<T>(linear_index(shape, there, k));
    });
  });
}

void expect_stored(const std::string& file, const std::string& name, const Shape& shape, Dtype dtype) {
  on_first([&] { expect_dataset(file, name, shape, dtype, H5D_CHUNKED); });
}

TEST(Hdf5Append, GrowsAlongEveryAxis) {
  const Folder folder;
  const auto file = folder / "grow.h5";
  const Shape shape{11, 7, 5};
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (const auto dtype : {Dtype::float32, Dtype::bool_, Dtype::complex128, Dtype::bfloat16}) {
      const auto name = fmt::format("/a{}/{}", axis, mw::name(dtype));
      const auto all = layouts(3);
      const auto end = shape[axis];
      const std::vector<std::int64_t> cuts{0, 2, 2, 3, end};
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
        append(file, name, slab(shape, dtype, axis, cuts[i], cuts[i + 1], all[(i * 3 + static_cast<std::size_t>(axis)) % all.size()]),
               i % 2 ? axis : axis - 3);
      expect_stored(file, name, shape, dtype);
      expect_test_values(read(file, name, line(P("x"))), shape, dtype, line(P("x")));
    }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"grow.h5"});
}

TEST(Hdf5Append, EveryLayout) {
  const Folder folder;
  const auto file = folder / "layouts.h5";
  const Shape shape{24, 6};
  std::int64_t row = 0;
  for (const auto& sharding : layouts(2)) {
    append(file, "/x", slab(shape, Dtype::int32, 0, row, row + 2, sharding));
    row += 2;
  }
  expect_stored(file, "/x", {row, 6}, Dtype::int32);
  append(file, "/recipe", mw::arange(100000));
  append(file, "/recipe", mw::device_put(mw::arange(100000), line(P("x"))));
  const auto back = read(file, "/recipe");
  const auto view = back.view<std::int32_t>();
  ASSERT_EQ(view.size(), 200000);
  int wrong = 0;
  for (std::int64_t k = 0; k < 200000; ++k) wrong += view[k] != k % 100000;
  EXPECT_EQ(wrong, 0);
}

TEST(Hdf5Append, EmptyFirstAndStridedShards) {
  const Folder folder;
  const auto file = folder / "empty.h5";
  append(file, "/log", mw::device_put(mw::zeros({0, 3}, mw::int16), line(P("x"))));
  expect_stored(file, "/log", {0, 3}, Dtype::int16);
  append(file, "/log", slab({5, 3}, Dtype::int16, 0, 0, 5, line(P("x"))));
  expect_stored(file, "/log", {5, 3}, Dtype::int16);
  std::vector<mw::LocalArray> pieces;
  const auto sharding = line(P("x"));
  for (const auto& [device, box] : sharding.devices_indices_map({10, 12})) {
    if (device.rank != mw::process_index()) continue;
    mw::LocalArray turned({box.shape()[1], box.shape()[0]}, Dtype::float32);
    auto view = turned.mutable_view<float>();
    for (std::int64_t i = 0; i < box.shape()[0]; ++i)
      for (std::int64_t j = 0; j < box.shape()[1]; ++j) view(j, i) = make_value<float>((box[0].start + i) * 12 + j);
    pieces.push_back(turned.transposed({1, 0}));
  }
  append(file, "/turned", mw::make_array_from_single_device_arrays({10, 12}, sharding, pieces));
  expect_stored(file, "/turned", {10, 12}, Dtype::float32);
}

// Another program's: compressed, big-endian, chunks that no shard's edge falls on, and a largest length.
void make_extensible(const std::string& file, const std::string& name, const Shape& shape, const Shape& most, Dtype dtype, hid_t type,
                     const Shape& chunks) {
  const auto open = std::filesystem::exists(file) ? H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                                                  : H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const std::vector<hsize_t> lengths(shape.begin(), shape.end()), pieces(chunks.begin(), chunks.end());
  std::vector<hsize_t> largest;
  for (const auto n : most) largest.push_back(n < 0 ? H5S_UNLIMITED : static_cast<hsize_t>(n));
  const auto layout = H5Pcreate(H5P_DATASET_CREATE), memory = native_type(dtype);
  if (!pieces.empty()) {
    H5Pset_chunk(layout, static_cast<int>(pieces.size()), pieces.data());
    H5Pset_shuffle(layout);
    H5Pset_deflate(layout, 4);
  }
  const auto space = H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), largest.data());
  const auto dataset = H5Dcreate2(open, name.c_str(), type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  const auto bytes = test_bytes(shape, dtype);
  EXPECT_GE(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), 0);
  H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(layout);
  H5Tclose(memory);
  H5Fclose(open);
}

TEST(Hdf5Append, CompressedBigEndianAndToALargestLength) {
  const Folder folder;
  const auto file = folder / "theirs.h5";
  on_first([&] {
    make_extensible(file, "/x", {5, 9}, {-1, 9}, Dtype::float64, H5T_IEEE_F64BE, {4, 5});
    make_extensible(file, "/limited", {5, 9}, {12, 9}, Dtype::int32, H5T_STD_I32LE, {4, 5});
  });
  for (std::int64_t row = 5; row < 26; row += 7)
    append(file, "/x", slab({26, 9}, Dtype::float64, 0, row, row + 7, line(row % 2 ? P("x") : P(nullptr, "x"))));
  expect_test_values(read(file, "/x", line(P("x"))), {26, 9}, Dtype::float64, line(P("x")));
  append(file, "/limited", slab({12, 9}, Dtype::int32, 0, 5, 12, line(P("x"))));
  expect_test_values(read(file, "/limited", line(P("x"))), {12, 9}, Dtype::int32, line(P("x")));
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] {
               append(file, "/limited", slab({13, 9}, Dtype::int32, 0, 12, 13, line(P())));
             }),
             "the dataset int32[12,9] cannot grow to 13 along axis 0: 12 is its largest length there");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] {
               append(file, "/x", slab({26, 10}, Dtype::float64, 1, 9, 10, line(P())), 1);
             }),
             "9 is its largest length there");
}

class Hdf5AppendErrors : public testing::Test {
 protected:
  void SetUp() override {
    append(file_, "/x", slab({9, 4}, Dtype::int32, 0, 0, 9, line(P("x"))));
    mw::io::write(file_, "/fixed", test_array({3}, Dtype::int8, line(P())), {.append = true});
  }
  template <class E>
  std::string refuse(const std::string& file, const std::string& dataset, const mw::Array& x, std::int64_t axis = 0) {
    const auto words = error_everywhere<E>([&] { append(file, dataset, x, axis); });
    expect_stored(file_, "/x", {9, 4}, Dtype::int32);
    mw::barrier();
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"f.h5"});
    return words;
  }
  Folder folder_;
  std::string file_ = folder_ / "f.h5";
};

TEST_F(Hdf5AppendErrors, WhatDoesNotFit) {
  const auto rows = line(P("x"));
  EXPECT_HAS(refuse<mw::ShapeError>(file_, "/x", test_array({2, 5}, Dtype::int32, rows)),
             "the dataset is int32[9,4], x is int32[2@x,5]; all lengths but that of axis 0 must be equal");
  EXPECT_HAS(refuse<mw::ShapeError>(file_, "/x", test_array({4}, Dtype::int32, rows)), "the dataset is int32[9,4]");
  EXPECT_HAS(refuse<mw::ShapeError>(file_, "/x", test_array({}, Dtype::int32, line(P()))), "a scalar has no axis");
  EXPECT_HAS(refuse<mw::DtypeError>(file_, "/x", test_array({2, 4}, Dtype::int64, rows)), "x.astype(int32) converts");
  EXPECT_HAS(refuse<mw::IndexError>(file_, "/x", test_array({2, 4}, Dtype::int32, rows), 2), "axis 2 of an array with 2 axes");
  EXPECT_HAS(refuse<mw::CheckpointError>(file_, "/fixed", test_array({3}, Dtype::int8, rows)), "cannot grow: it is not chunked");
  EXPECT_HAS(refuse<mw::CheckpointError>(file_, "/x/y", test_array({3}, Dtype::int8, rows)), "/x is no group");
  EXPECT_HAS(refuse<mw::CheckpointError>(file_, "/", test_array({3}, Dtype::int8, rows)), "a dataset needs a name");
  EXPECT_HAS(refuse<mw::CheckpointError>(folder_ / "no/such.h5", "/x", test_array({3}, Dtype::int8, rows)), "No such file or directory");
  auto gone = test_array({2, 4}, Dtype::int32, rows);
  gone.free();
  refuse<mw::DonatedError>(file_, "/x", gone);
  if (mw::process_count() == 1) return;
  const auto mine = test_array({2, 4}, Dtype::int32, rows);
  EXPECT_HAS(error_everywhere<mw::MismatchError>([&] { append(file_, mw::process_index() == 1 ? "/y" : "/x", mine); }),
             "rank 1: io::append(");
}

// A full disk, by a limit on the size of files, on the rank that lengthens the dataset or on one that writes later.
TEST_F(Hdf5AppendErrors, NoRoomOnOneRankOrAll) {
  const auto n = mw::devices().size();
  const auto big = mw::make_array_from_callback({128 * n, 1024, 1}, mw::float32, line(P("x")), [](const Index&, mw::LocalArray& out) {
    std::memset(out.data(), 1, static_cast<std::size_t>(out.nbytes()));
  });
  const auto rows = slab({9 + 20000 * n, 4}, Dtype::int32, 0, 9, 9 + 20000 * n, line(P("x")));
  std::signal(SIGXFSZ, SIG_IGN);
  for (const auto on : {std::int64_t{-1}, std::int64_t{0}, mw::process_count() - 1}) {
    const auto limited = [&](const std::string& file, const std::string& name, const mw::Array& x) {
      rlimit before{};
      getrlimit(RLIMIT_FSIZE, &before);
      rlimit limit = before;
      limit.rlim_cur = 500000;
      if (on < 0 || on == mw::process_index()) setrlimit(RLIMIT_FSIZE, &limit);
      const auto words = refuse<mw::CheckpointError>(file, name, x);
      setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_HAS(words, fmt::format("rank {}: ", std::max<std::int64_t>(on, 0)));
      EXPECT_HAS(words, "File too large");
      mw::barrier();
      EXPECT_EQ(read(file_, "/x").shape(), (Shape{9, 4}));
    };
    limited(file_, "/x", rows);
    limited(file_, "/new", big);
    limited(folder_ / "new.h5", "/new", big);
  }
  append(file_, "/x", rows);
  expect_stored(file_, "/x", {9 + 20000 * n, 4}, Dtype::int32);
}

}  // namespace
