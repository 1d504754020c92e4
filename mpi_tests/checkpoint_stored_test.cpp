// A checkpoint of each dtype that an earlier meshwise saved on four ranks: it is read for ever. A new format version adds a folder beside it.
// ranks: 1 3 4
// devices_per_rank: 8
// links: hdf5 mpi
#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::NamedSharding;
using mw::Tree;

const std::string stored = MESHWISE_SOURCE_DIR "/mpi_tests/stored/v1";
const Shape shape{13, 6};

// How it was made: mpirun -n 4 checkpoint_stored_test --gtest_also_run_disabled_tests --gtest_filter=*Make
TEST(CheckpointStored, DISABLED_Make) {
  const NamedSharding blocks(mw::make_mesh({2, 2}, {"x", "y"}), P("x", "y"));
  Tree arrays;
  for (const auto dtype : all_dtypes) arrays.set(std::string(name(dtype)), test_array(shape, dtype, blocks));
  mw::io::Checkpointer(stored).save(1,
                                    Tree{{"arrays", arrays},
                                         {"odd/name %", mw::device_put(mw::arange(5), NamedSharding(blocks.mesh(), P()))},
                                         {"list", Tree::list({2.5, Tree::tuple({true, Tree{}}), mw::zeros({0, 3}, mw::int8)})}},
                                    {.metadata = R"({"epoch": 3})", .metrics = {{"loss", 0.25}}});
}

TEST(CheckpointStored, IsReadAsItWasSaved) {
  mw::io::Checkpointer checkpoints(stored);
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{1});
  EXPECT_EQ(checkpoints.metadata(1), R"({"epoch":3})");
  const auto n = mw::devices().size();
  const auto loaded = checkpoints.load(1, NamedSharding(mw::make_mesh({n}, {"x"}), P()));
  const auto rows = checkpoints.load(1)["arrays"];
  for (const auto dtype : all_dtypes) {
    const auto x = loaded["arrays"][std::string(name(dtype))];
    EXPECT_EQ(x.dtype(), dtype);
    ASSERT_EQ(x.shape(), shape);
    const auto wrong = mw::visit(
        dtype, [&](auto tag) { return wrong_values<typename decltype(tag)::type>(x.addressable_data(0), shape, Index::whole(shape)); });
    EXPECT_EQ(wrong, 0) << name(dtype);
    const auto split = checkpoints.load_array(1, "arrays/" + std::string(name(dtype)), NamedSharding(mw::make_mesh({n}, {"x"}), P("x")));
    for (const auto& shard : split.addressable_shards()) {
      const auto wrong_here =
          mw::visit(dtype, [&](auto tag) { return wrong_values<typename decltype(tag)::type>(shard.data(), shape, shard.index()); });
      EXPECT_EQ(wrong_here, 0) << name(dtype);
    }
  }
  EXPECT_EQ(loaded["odd/name %"].sum().item<std::int32_t>(), 10);
  EXPECT_EQ(loaded["list"][0].item<float>(), 2.5f);
  EXPECT_EQ(loaded["list"][1][0].item<bool>(), true);
  EXPECT_EQ(loaded["list"][2].shape(), (Shape{0, 3}));
  EXPECT_EQ(loaded["list"].tree().kind(), Tree::Kind::list);
  EXPECT_EQ(loaded["list"][1].tree().kind(), Tree::Kind::tuple);
}

}  // namespace
