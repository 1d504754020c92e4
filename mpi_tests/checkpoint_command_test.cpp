// ranks: 1
// internals: src
// links: hdf5
// What the command `meshwise checkpoint` rests on: reading, verifying and exporting steps by one process. Its lines are tested by command/checkpoint_*.txt,
// its numbers by consumer/check_checkpoint.py.
#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>
#include <random>

#include "io/checkpoint/export.hpp"
#include "io/checkpoint/read_values.hpp"
#include "io/checkpoint/verify.hpp"
#include "support/hdf5_files.hpp"
#include "support/stored_step.hpp"

namespace {

using namespace hdf5_files;
namespace detail = meshwise::detail;
using stored_step::on_mesh;

stored_step::Rule test_values(Dtype dtype) {
  return [dtype](std::int64_t i, std::byte* out) {
    mw::visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto value = make_value<T>(i);
      std::memcpy(out, &value, sizeof value);
    });
  };
}

stored_step::ArrayOfStep test_array(const std::string& name, Dtype dtype, const Shape& shape, std::optional<mw::Sharding> sharding) {
  return {name, dtype, shape, std::move(sharding), test_values(dtype)};
}

// Arrays of several layouts, one of them of several blocks a rank, neighbours in the same block, and nothing.
stored_step::StepOfRun some_step() {
  stored_step::StepOfRun s{7, 4};
  const auto grid = on_mesh({2, 2}, {"x", "y"}, P("x", "y")), columns = on_mesh({4}, {"x"}, P(nullptr, "x")),
             half = on_mesh({2, 2}, {"x", "y"}, P("y"));
  s.arrays = {test_array("grid", Dtype::float32, {13, 22, 3}, grid),       test_array("wide", Dtype::int16, {4100, 2300}, columns),
              test_array("deep", Dtype::float64, {3, 5, 7, 11}, grid),     test_array("twice", Dtype::float32, {9, 33000}, half),
              test_array("scalar", Dtype::complex128, {}, std::nullopt),   test_array("none", Dtype::bool_, {4, 0}, std::nullopt),
              test_array("everywhere", Dtype::bool_, {1001}, std::nullopt)};
  s.tree = "null";
  return s;
}

Index random_box(const Shape& shape, std::mt19937& random) {
  Index box;
  for (const auto length : shape) {
    const auto a = std::uniform_int_distribution<std::int64_t>(0, length)(random),
               b = std::uniform_int_distribution<std::int64_t>(0, length)(random);
    box.push_back({std::min(a, b), std::max(a, b)});
  }
  return box;
}

int wrong(const mw::LocalArray& values, const Shape& shape, const Index& box) {
  return mw::visit(values.dtype(), [&](auto tag) { return wrong_values<typename decltype(tag)::type>(values, shape, box); });
}

TEST(CheckpointCommand, ReadsAnyBoxOfAnyLayout) {
  const Folder folder;
  on_first([&] {
    detail::StepReader step(stored_step::store(folder.path(), some_step()));
    std::mt19937 random(1);
    for (const auto& array : step.manifest().arrays) {
      const auto whole = Index::whole(array.shape);
      EXPECT_EQ(wrong(step.read(array, whole), array.shape, whole), 0) << array.name;
      for (int k = 0; k < 20; ++k) {
        auto box = random_box(array.shape, random);
        if (array.name == "wide") box[0].stop = std::min(box[0].stop, box[0].start + 40);  // reads are checked, not the clock
        EXPECT_EQ(wrong(step.read(array, box), array.shape, box), 0) << array.name << to_string(box);
      }
      for (const std::int64_t most : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{300000}, std::int64_t{1} << 30}) {
        if (most * 100000 < array.nbytes()) continue;
        std::int64_t elements = 0, first = -1;
        step.in_rows(array, most, [&](const Index& box, const mw::LocalArray& values) {
          EXPECT_EQ(values.nbytes() <= std::max<std::int64_t>(most, static_cast<std::int64_t>(mw::itemsize(array.dtype))), true);
          elements += values.size();
          EXPECT_EQ(linear_index(array.shape, box, 0), first + 1);
          first = linear_index(array.shape, box, box.num_elements() - 1);
          EXPECT_EQ(wrong(values, array.shape, box), 0) << array.name << to_string(box);
        });
        EXPECT_EQ(elements, array.shape.num_elements()) << array.name;
      }
    }
  });
}

// Which arrays have a byte, by their boxes alone.
std::vector<std::string> holders(const detail::Manifest& m, const std::string& file, std::int64_t byte) {
  std::vector<std::string> names;
  for (const auto& array : m.arrays)
    for (const auto& box : m.boxes_of(array))
      if (m.files[static_cast<std::size_t>(box.file)].name == file && byte >= box.offset &&
          byte < box.offset + box.box.num_elements() * static_cast<std::int64_t>(mw::itemsize(array.dtype)))
        names.push_back(array.name);
  return names;
}

bool in_a_run(const detail::Commit::File& file, std::int64_t byte) {
  return std::any_of(file.runs.begin(), file.runs.end(),
                     [&](const detail::Extent& run) { return byte >= run.offset && byte < run.offset + run.bytes; });
}

TEST(CheckpointCommand, EveryFlippedBitIsFoundAndNamed) {
  const Folder folder;
  on_first([&] {
    const auto path = stored_step::store(folder.path(), some_step());
    const auto commit = detail::read_commit(path);
    const auto m = detail::read_manifest(path);
    const auto untouched = detail::verify_step(path);
    EXPECT_TRUE(untouched.good()) << to_string(untouched.damage.at(0));
    EXPECT_EQ(untouched.blocks, std::ssize(m.checksums));
    EXPECT_EQ(untouched.files, std::ssize(commit.files) + 1);
    std::vector<std::string> names{"COMMIT"};
    for (const auto& file : commit.files) names.push_back(file.name);
    std::mt19937 random(2);
    for (int k = 0; k < 100; ++k) {
      const auto number = static_cast<std::size_t>(k) % names.size();
      const auto& name = names[number];
      const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path + "/" + name));
      // Half of the flips go where there are few bytes: HDF5's own.
      const auto byte = std::uniform_int_distribution<std::int64_t>(0, k % 2 ? size - 1 : std::min<std::int64_t>(size - 1, 2100))(random);
      const int bit = static_cast<int>(random() % 8);
      stored_step::flip(path + "/" + name, byte, bit);
      const auto report = detail::verify_step(path);
      const auto where = fmt::format("{} byte {} bit {}", name, byte, bit);
      ASSERT_EQ(report.damage.size(), 1u) << where;
      const auto& damage = report.damage[0];
      EXPECT_EQ(damage.file, name) << where;
      if (number >= 2 && in_a_run(commit.files[number - 1], byte)) {
        EXPECT_GE(damage.block, 0) << where;
        EXPECT_TRUE(byte >= damage.offset && byte < damage.offset + damage.bytes && damage.bytes <= detail::block_bytes)
            << where << to_string(damage);
        for (const auto& array : holders(m, name, byte))
          EXPECT_NE(std::find(damage.arrays.begin(), damage.arrays.end(), array), damage.arrays.end()) << where << to_string(damage);
        EXPECT_THROW(
            {
              detail::StepReader step(path);
              for (const auto& array : m.arrays) step.read(array, Index::whole(array.shape));
            },
            mw::CheckpointError)
            << where;
      }
      stored_step::flip(path + "/" + name, byte, bit);
    }
    EXPECT_TRUE(detail::verify_step(path).good());
  });
}

TEST(CheckpointCommand, ShortLongMissingAndForeignFilesAreNamed) {
  const Folder folder;
  namespace fs = std::filesystem;
  on_first([&] {
    const auto path = stored_step::store(folder.path(), some_step());
    auto other = some_step();
    other.uuid[0] = 'f';
    const auto foreign = stored_step::store(folder / "other", other);
    const auto commit = detail::read_commit(path);
    for (const auto& file : commit.files) {
      const auto full = path + "/" + file.name, kept = folder / "kept";
      const auto expect_named = [&](const std::string& what, const std::string& words) {
        const auto report = detail::verify_step(path);
        ASSERT_FALSE(report.good()) << what << file.name;
        EXPECT_EQ(report.damage[0].file, file.name);
        EXPECT_HAS(report.damage[0].words, words);
        EXPECT_THROW(
            {
              detail::StepReader step(path);
              for (const auto& array : step.manifest().arrays) step.read(array, Index::whole(array.shape));
            },
            mw::CheckpointError)
            << what << file.name;
        fs::rename(kept, full);
      };
      fs::copy(full, kept);
      fs::resize_file(full, static_cast<std::uintmax_t>(file.bytes / 2));
      expect_named("short ", "bytes long");
      fs::copy(full, kept);
      fs::resize_file(full, static_cast<std::uintmax_t>(file.bytes + 1));
      expect_named("long ", "bytes long");
      fs::rename(full, kept);
      expect_named("missing ", "missing");
      fs::rename(full, kept);
      fs::create_directory(full);
      {
        const auto report = detail::verify_step(path);
        ASSERT_FALSE(report.good());
        EXPECT_HAS(report.damage[0].words, "is a directory, not a file");
      }
      fs::remove(full);
      fs::rename(kept, full);
      // The same values of another save: only HDF5's own bytes tell.
      fs::rename(full, kept);
      fs::copy(foreign + "/" + file.name, full);
      const auto report = detail::verify_step(path);
      ASSERT_EQ(report.damage.size(), 1u) << file.name;
      EXPECT_EQ(report.damage[0].file, file.name);
      fs::rename(kept, full);
    }
    // A file cut within its values: the arrays beyond the cut are named, the blocks before it are checked.
    const auto& cut = commit.files[1];
    fs::resize_file(path + "/" + cut.name, static_cast<std::uintmax_t>(cut.runs.back().offset + 1));
    const auto report = detail::verify_step(path);
    ASSERT_EQ(report.damage.size(), 1u);
    EXPECT_GT(report.blocks, 0);
    EXPECT_FALSE(report.damage[0].arrays.empty());
  });
}

TEST(CheckpointCommand, ExportsPlainDatasets) {
  const Folder folder;
  on_first([&] {
    auto s = some_step();
    s.arrays.push_back(test_array("params/large", Dtype::int32, {3300, 3000}, on_mesh({4}, {"x"}, P(nullptr, "x"))));  // more than a piece
    s.arrays.back().is_virtual = false;
    detail::StepReader step(stored_step::store(folder.path(), s));
    std::vector<const detail::StoredArray*> arrays;
    for (const auto& array : step.manifest().arrays) arrays.push_back(&array);
    std::int64_t done = 0, total = 0;
    detail::export_hdf5(step, arrays, folder / "out.h5", [&](std::int64_t d, std::int64_t t) { EXPECT_GT(d, done), done = d, total = t; });
    EXPECT_EQ(done, total);
    for (const auto& array : s.arrays) {
      SCOPED_TRACE(array.name);
      expect_dataset(folder / "out.h5", array.name, array.shape, array.dtype);
    }
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.h5", "step_00000007"}));

    // One that fails leaves what was there.
    stored_step::flip(step.folder() + "/shards/00001.h5", step.commit().files[2].runs[0].offset);
    detail::StepReader damaged(step.folder());
    EXPECT_THROW(detail::export_hdf5(damaged, arrays, folder / "out.h5"), mw::CheckpointError);
    expect_dataset(folder / "out.h5", "grid", {13, 22, 3}, Dtype::float32);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.h5", "step_00000007"}));
  });
}

// check_checkpoint.py looks at these. Step 6 has other values in places; of the many small arrays the index has no datasets.
TEST(CheckpointCommand, StepsForOtherPrograms) {
  const char* const path = std::getenv("MESHWISE_TEST_CHECKPOINTS");
  if (path == nullptr) GTEST_SKIP() << "consumer/check_checkpoint.py runs this";
  mw::io::Checkpointer checkpoints(path);
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  mw::Tree::Entries types, changed;
  for (int d = 0; d < 15; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    const auto x = hdf5_files::test_array({13, 6}, dtype, mw::NamedSharding(mesh, d % 2 ? P("x") : P(nullptr, "x")));
    types.emplace(std::string(mw::name(dtype)), x);
    changed.emplace(std::string(mw::name(dtype)),
                    mw::where(mw::greater(mw::abs(mw::astype(x, Dtype::float32)), 40.f), mw::zeros_like(x), x));
  }
  const auto replicated = hdf5_files::test_array({300, 200}, Dtype::float32, mw::NamedSharding(mesh, P()));
  const auto big = hdf5_files::test_array({1200, 1300}, Dtype::float64, mw::NamedSharding(mesh, P(nullptr, "x")));
  const auto scalar = hdf5_files::test_array({}, Dtype::float64, mw::NamedSharding(mesh, P()));
  const auto empty = hdf5_files::test_array({0, 4}, Dtype::int32, mw::NamedSharding(mesh, P()));
  const auto tree = [&](const mw::Tree::Entries& of_types, const mw::Array& last) {
    return mw::Tree{{"params", mw::Tree(of_types)},
                    {"list", mw::Tree::list({mw::Tree(replicated), mw::Tree(scalar)})},
                    {"a/b%", mw::Tree(empty)},
                    {"big", mw::Tree(last)}};
  };
  checkpoints.save(5, tree(types, big), {.metadata = R"({"rate":0.5})", .metrics = {{"loss", 0.25}}});
  checkpoints.save(6, tree(changed, mw::log(big)));
  mw::Tree::Entries many;
  for (int k = 0; k < 1500; ++k) many.emplace(fmt::format("{:04d}", k), mw::full({16}, k, Dtype::int32));
  checkpoints.save(7, mw::Tree(many));
}

}  // namespace
