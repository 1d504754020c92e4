// Trees saved and loaded: every value, on any mesh, whatever the layouts it was saved and is wanted in.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=2,4 MESHWISE_STORE=private
// variant: nodes ranks=4 MESHWISE_NODE_SIZE=2
// links: hdf5 mpi
#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include "support/hdf5_files.hpp"
#include "support/random_placement.hpp"
#include "support/row_major_numbers.hpp"

namespace {

using namespace hdf5_files;
using mw::Array;
using mw::NamedSharding;
using mw::Tree;
using mw::io::Checkpointer;
using support::numbered;

// Bytes of the two values are equal on every rank.
void expect_same(const Array& a, const Array& b, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  const auto x = mw::device_get(a).contiguous(), y = mw::device_get(b).contiguous();
  EXPECT_TRUE(x.nbytes() == 0 || std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.nbytes())) == 0) << what;
}

TEST(Checkpoint, EveryDtypeComesBackOnAnotherMesh) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  Tree tree, like;
  for (const auto dtype : all_dtypes) {
    const auto values = (numbered({13, 6}, mw::int32) % 120).astype(dtype);
    tree.set(std::string(name(dtype)), mw::device_put(values, line(P("x"))));
    like.set(std::string(name(dtype)), mw::device_put(mw::zeros({13, 6}, dtype), backwards(P(nullptr, "x"))));
  }
  const auto report = checkpoints.save(7, tree);
  EXPECT_EQ(report.step, 7);
  EXPECT_EQ(report.bytes, 13 * 6 * (1 + 1 + 2 + 4 + 8 + 1 + 2 + 4 + 8 + 2 + 2 + 4 + 8 + 8 + 16));
  const auto loaded = checkpoints.load(checkpoints.latest(), like);
  for (const auto dtype : all_dtypes) {
    const std::string key(name(dtype));
    expect_same(loaded[key], tree[key], key);
    EXPECT_TRUE(loaded[key].sharding() == like[key].sharding()) << key;
    EXPECT_TRUE(loaded[key].committed());
  }
}

TEST(Checkpoint, ValuesAreWhereTheyBelong) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(0, Tree{{"w", mw::device_put(numbered({40, 30}, mw::float64), line(P("x")))}});
  for (const auto& target : {line(P("x")), line(P(nullptr, "x")), line(P()), backwards(P("x"))}) {
    const auto loaded = checkpoints.load(0, Tree{{"w", mw::device_put(mw::zeros({40, 30}, mw::float64), target)}});
    EXPECT_EQ(support::wrong_numbers<double>(loaded["w"]), 0) << to_string(target);
  }
}

TEST(Checkpoint, LargeArraysInEveryPairOfLayouts) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  // Several blocks a rank, none of whose borders is a row's.
  const Shape shape{1031, 3, 1000};
  const auto layouts = std::vector{line(P("x")), line(P(nullptr, nullptr, "x")), line(P()), backwards(P(nullptr, "x"))};
  std::int64_t step = 0;
  for (const auto& from : layouts) {
    checkpoints.save(step, Tree{{"w", mw::device_put(numbered(shape, mw::float32), from)}});
    for (const auto& to : layouts) {
      const auto loaded = checkpoints.load(step, Tree{{"w", mw::device_put(mw::zeros(shape, mw::float32), to)}});
      EXPECT_EQ(support::wrong_numbers<float>(loaded["w"]), 0) << to_string(from) << " to " << to_string(to);
      EXPECT_LE(loaded.report.bytes_read, loaded.report.bytes * 11 / 10);
    }
    checkpoints.remove(step++);
  }
}

TEST(Checkpoint, RandomPlacements) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run", {.keep = mw::io::keep_last(1)});
  meshwise::testing::RandomPlacement random(5);
  for (std::int64_t round = 0; round < 12; ++round) {
    Tree tree, like;
    for (int leaf = 0; leaf < 4; ++leaf) {
      const auto ndim = random.below(4);
      const auto shape = random.shape(ndim);
      const auto key = std::to_string(leaf);
      tree.set(key, mw::device_put(numbered(shape, mw::int32), random.sharding(ndim)));
      like.set(key, mw::device_put(mw::zeros(shape, mw::int32), random.sharding(ndim)));
    }
    checkpoints.save(round, tree);
    const auto loaded = checkpoints.load(round, like);
    for (int leaf = 0; leaf < 4; ++leaf)
      EXPECT_EQ(support::wrong_numbers<std::int32_t>(loaded[std::to_string(leaf)]), 0) << round << " " << leaf;
  }
}

TEST(Checkpoint, TreesScalarsEmptiesAndOddNames) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto rows = line(P("x"));
  const Tree tree{{"a/b", mw::device_put(mw::arange(5), rows)},
                  {".", 7},
                  {"..", mw::device_put(mw::zeros({0, 4}), rows)},
                  {"", mw::device_put(mw::zeros({4, 0}), line(P(nullptr, "x")))},
                  {"with space", Tree::list({mw::device_put(mw::arange(3), rows), Tree::tuple({2.5, Tree{}}), true})},
                  {"na\xC3\xAFve%", mw::device_put(mw::ones({2}), line(P()))},
                  {"not utf\xFF\n", mw::arange(4)},
                  {"key", mw::random::key(17)}};
  checkpoints.save(3, tree);
  const auto loaded = checkpoints.load(3, tree);
  const auto whole = checkpoints.load(3);
  EXPECT_EQ(to_string(tree).size(), to_string(static_cast<const Tree&>(loaded)).size());
  const auto before = tree_flatten_with_path(tree), after = tree_flatten_with_path(loaded), bare = tree_flatten_with_path(whole);
  ASSERT_EQ(before.size(), after.size());
  ASSERT_EQ(before.size(), bare.size());
  for (std::size_t k = 0; k < before.size(); ++k) {
    EXPECT_EQ(before[k].path, after[k].path);
    EXPECT_EQ(before[k].path, bare[k].path);
    EXPECT_EQ(before[k].leaf.committed(), after[k].leaf.committed()) << before[k].path;
    expect_same(before[k].leaf, after[k].leaf, before[k].path);
    expect_same(before[k].leaf, bare[k].leaf, before[k].path);
  }
  EXPECT_EQ(loaded["with space"][1][0].item<float>(), 2.5f);
}

TEST(Checkpoint, AnArrayAlone) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, mw::device_put(mw::arange(10), line(P("x"))));
  EXPECT_EQ(checkpoints.load(1).leaf().sum().item<std::int32_t>(), 45);
}

TEST(Checkpoint, SeveralMeshesInOneTree) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto n = mw::devices().size();
  const NamedSharding first(mw::make_mesh({(n + 1) / 2}, {"x"}), P("x")),
      last(mw::make_mesh({1}, {"x"}, {.devices = mw::devices().last(1)}), P());
  const Tree tree{{"a", mw::device_put(numbered({9, 2}, mw::int64), first)},
                  {"b", mw::device_put(numbered({5}, mw::int64), last)},
                  {"c", numbered({7}, mw::int64)}};
  checkpoints.save(1, tree);
  const auto loaded = checkpoints.load(1, Tree{{"a", mw::device_put(mw::zeros({9, 2}, mw::int64), last)},
                                               {"b", mw::zeros({5}, mw::int64)},
                                               {"c", mw::device_put(mw::zeros({7}, mw::int64), first)}});
  EXPECT_EQ(support::wrong_numbers<std::int64_t>(loaded["a"]), 0);
  EXPECT_EQ(support::wrong_numbers<std::int64_t>(loaded["c"]), 0);
  expect_same(loaded["b"], tree["b"], "b");
}

TEST(Checkpoint, ReplicasAreWrittenOnce) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const std::int64_t bytes = 4 << 20;
  const auto report = checkpoints.save(1, Tree{{"w", mw::device_put(mw::arange(bytes / 4, mw::int32), line(P()))}});
  EXPECT_EQ(report.bytes, bytes);
  std::int64_t on_disk = 0, largest = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(checkpoints.folder() + "/step_00000001")) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename() != "shards") continue;
    on_disk += static_cast<std::int64_t>(entry.file_size());
    largest = std::max(largest, static_cast<std::int64_t>(entry.file_size()));
  }
  EXPECT_LE(on_disk, bytes + mw::process_count() * 16384);
  EXPECT_LE(largest, bytes / mw::process_count() + 65536);  // shared out among the holders
}

TEST(Checkpoint, ManySmallArrays) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  Tree tree, like;
  const auto rows = line(P("x"));
  for (int k = 0; k < 1500; ++k) {
    tree.set(std::to_string(k), mw::device_put(mw::full({17}, k, mw::int32), rows));
    like.set(std::to_string(k), mw::device_put(mw::zeros({17}, mw::int32), backwards(P("x"))));
  }
  checkpoints.save(1, tree);
  const auto loaded = checkpoints.load(1, like);
  std::int64_t wrong = 0;
  for (int k = 0; k < 1500; ++k)
    for (const auto& shard : loaded[std::to_string(k)].addressable_shards())
      for (const auto value : shard.data().view<std::int32_t>()) wrong += value != k;
  EXPECT_EQ(wrong, 0);
}

TEST(Checkpoint, PartsOfArrays) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto x = numbered({64, 48}, mw::int32);
  checkpoints.save(1, Tree{{"layers", Tree::list({Tree{{"w", mw::device_put(x, line(P("x")))}}})}});
  const Index box{{3, 50}, {10, 33}};
  const auto part = checkpoints.load_array(1, "layers/0/w", line(P(nullptr, "x")), box);
  expect_same(part, x[{mw::Slice(3, 50), mw::Slice(10, 33)}], "a box");
  expect_same(checkpoints.load_array(1, "layers/0/w"), x, "the whole");
  EXPECT_EQ(checkpoints.load_array(1, "layers/0/w", {}, Index{{5, 5}, {0, 48}}).shape(), (Shape{0, 48}));
  EXPECT_THROW(checkpoints.load_array(1, "layers/0/w", {}, Index{{0, 65}, {0, 1}}), mw::IndexError);
  EXPECT_THROW(checkpoints.load_array(1, "layers/0/b"), mw::CheckpointError);
}

TEST(Checkpoint, MetadataStepsAndLatest) {
  const Folder folder;
  Checkpointer checkpoints(folder / "not/yet/there");
  EXPECT_FALSE(checkpoints.latest());
  EXPECT_TRUE(checkpoints.steps().empty());
  const Tree tree{{"x", mw::device_put(mw::arange(8), line(P("x")))}};
  checkpoints.save(12, tree, {.metadata = R"({"lr": 0.5, "names": ["a"]})"});
  checkpoints.save(100000000000, tree);
  checkpoints.save(2, tree);
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{2, 12, 100000000000}));
  EXPECT_EQ(checkpoints.latest().step, 100000000000);
  EXPECT_EQ(checkpoints.metadata(12), R"({"lr":0.5,"names":["a"]})");
  EXPECT_EQ(checkpoints.metadata(2), "");
  checkpoints.remove(12);
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{2, 100000000000}));
}

}  // namespace
