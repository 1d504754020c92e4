// Boxes and steps of a dataset: each rank reads its own part of them and nothing else.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <sys/syscall.h>

#include <atomic>
#include <meshwise/base/error.hpp>
#include <meshwise/io/hdf5.hpp>

#include "support/hdf5_files.hpp"

namespace {
std::atomic<std::int64_t> bytes_read{0};
}

// The executable's definition comes before libc's, for HDF5 too.
extern "C" ssize_t pread(int descriptor, void* bytes, size_t count, off_t at) {
  const auto got = syscall(SYS_pread64, descriptor, bytes, count, at);
  if (got > 0) bytes_read += got;
  return got;
}

namespace {

using namespace hdf5_files;
using mw::io::read;
using mw::io::ReadOptions;

std::int64_t length(mw::Range range, std::int64_t step) { return (range.size() + step - 1) / step; }

// This rank's shards of x are the elements box.start + k * step of the test array of `shape`.
void expect_elements(const mw::Array& x, const Shape& shape, const Index& box, const std::vector<std::int64_t>& steps,
                     const mw::Sharding& sharding) {
  Shape wanted;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) wanted.push_back(length(box[d], steps[static_cast<std::size_t>(d)]));
  ASSERT_EQ(x.shape(), wanted);
  EXPECT_TRUE(x.sharding() == sharding);
  for (const auto& shard : x.addressable_shards()) {
    const auto view = shard.data().view<std::int32_t>();
    int wrong = 0;
    for (std::int64_t k = 0; k < view.size(); ++k) {
      std::int64_t rest = k, element = 0, stride = 1;
      for (auto d = shape.ndim(); d-- > 0;) {
        const auto& mine = shard.index()[d];
        element += (box[d].start + (mine.start + rest % mine.size()) * steps[static_cast<std::size_t>(d)]) * stride;
        rest /= mine.size();
        stride *= shape[d];
      }
      wrong += view[k] != make_value<std::int32_t>(element);
    }
    EXPECT_EQ(wrong, 0) << mw::type_string(x) << " of " << mw::to_string(box);
  }
}

TEST(Hdf5Boxes, EveryLayoutContiguousAndCompressed) {
  const Folder folder;
  const auto file = folder / "boxes.h5";
  const Shape shape{13, 6, 5};
  on_first([&] {
    Maker make(file);
    make.add("/plain", shape, Dtype::int32, H5T_STD_I32LE);
    make.add("/chunks", shape, Dtype::int32, H5T_STD_I32BE, Shape{4, 3, 2});
  });
  const std::vector<std::int64_t> ones{1, 1, 1};
  for (const auto* name : {"/plain", "/chunks"})
    for (const auto& sharding : layouts(3)) {
      for (const auto& box : {Index{{0, 13}, {5, 6}, {4, 5}}, Index{{7, 8}, {0, 6}, {0, 5}}, Index{{3, 3}, {0, 6}, {1, 2}}})
        expect_elements(read(file, name, sharding, {.box = box}), shape, box, ones, sharding);
      const Index box{{2, 11}, {1, 5}, {0, 5}};
      for (const auto& steps :
           {std::vector<std::int64_t>{2, 1, 1}, std::vector<std::int64_t>{3, 2, 4}, std::vector<std::int64_t>{1, 1, 100}})
        expect_elements(read(file, name, sharding, {.box = box, .steps = steps}), shape, box, steps, sharding);
      expect_elements(read(file, name, sharding, {.steps = {5, 1, 2}}), shape, Index::whole(shape), {5, 1, 2}, sharding);
    }
}

TEST(Hdf5Boxes, UncommittedAndScalars) {
  const Folder folder;
  const auto file = folder / "boxes.h5";
  on_first([&] {
    Maker make(file);
    make.add("/x", {6, 7}, Dtype::int32, H5T_STD_I32LE);
    make.add("/one", {}, Dtype::int32, H5T_STD_I32LE);
  });
  const auto x = read(file, "/x", {.box = {{1, 6}, {2, 3}}, .steps = {2, 1}});
  EXPECT_FALSE(x.committed());
  ASSERT_EQ(x.shape(), (Shape{3, 1}));
  const auto view = x.view<std::int32_t>();
  for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(view[k], make_value<std::int32_t>((1 + 2 * k) * 7 + 2));
  EXPECT_EQ(read(file, "/one", {.box = {}}).item<std::int32_t>(), make_value<std::int32_t>(0));
}

// What all ranks together read of four megabytes for a quarter of its rows is that quarter, however many they are.
TEST(Hdf5Boxes, OnlyTheBoxIsRead) {
  const Folder folder;
  const auto file = folder / "large.h5";
  on_first([&] { Maker(file).add("/x", {1024, 1024}, Dtype::int32, H5T_STD_I32LE); });
  const auto n = mw::devices().size();
  const mw::NamedSharding rows(mw::make_mesh({n}, {"x"}), P("x"));
  bytes_read = 0;
  const auto x = read(file, "/x", rows, {.box = {{512, 768}, {0, 1024}}});
  const std::int64_t mine = bytes_read, quarter = 256 * 1024 * 4, tables_and_buffer = 80000;
  std::int64_t all = mine;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_LE(mine, quarter / mw::process_count() + 4096 + tables_and_buffer);
  EXPECT_GE(all, quarter);
  expect_elements(x, {1024, 1024}, {{512, 768}, {0, 1024}}, {1, 1}, rows);
}

TEST(Hdf5Boxes, WhatIsNotWithinTheDataset) {
  const Folder folder;
  const auto file = folder / "boxes.h5";
  on_first([&] {
    Maker make(file);
    make.add("/x", {6, 7}, Dtype::int32, H5T_STD_I32LE);
  });
  const mw::NamedSharding all(mw::make_mesh({mw::devices().size()}, {"x"}), P());
  const auto refused = [&](const ReadOptions& options) {
    const auto words = error_everywhere<mw::IndexError>([&] { read(file, "/x", all, options); });
    EXPECT_EQ(error_everywhere<mw::IndexError>([&] { read(file, "/x", options); }), words);
    EXPECT_HAS(words, fmt::format("io::read('{}', '/x', ", file));
    EXPECT_HAS(words, "stored is int32[6,7]");
    return words;
  };
  EXPECT_HAS(refused({.box = {{0, 6}, {3, 8}}}), "the box [0:6, 3:8] is not within the array: axis 1 has [3:8] of 7");
  EXPECT_HAS(refused({.box = {{-1, 6}, {0, 7}}}), "axis 0 has [-1:6] of 6");
  EXPECT_HAS(refused({.box = {{5, 4}, {0, 7}}}), "axis 0 has [5:4] of 6");
  EXPECT_HAS(refused({.box = {{0, 6}}}), "the box [0:6] has 1 axes");
  EXPECT_HAS(refused({.steps = {1, 0}}), "step 0 of axis 1 is not above 0");
  EXPECT_HAS(refused({.steps = {1}}), "there are 1 steps");
  if (mw::process_count() == 1) return;
  const auto words = error_everywhere<mw::MismatchError>([&] { read(file, "/x", {.box = {{0, 1 + mw::process_index()}, {0, 7}}}); });
  EXPECT_HAS(words, "rank 1: io::read('");
  EXPECT_HAS(words, "box [0:2, 0:7]");
  expect_elements(read(file, "/x", all), {6, 7}, Index::whole({6, 7}), {1, 1}, all);
}

}  // namespace
