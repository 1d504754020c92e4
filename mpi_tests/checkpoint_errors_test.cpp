// What saves and loads refuse: the same words on every rank, nothing left behind, and the next call works.
// ranks: 1 2 3 4
// devices_per_rank: 8 40@2
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <meshwise/base/error.hpp>
#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include <fstream>

#include "support/hdf5_files.hpp"
#include "support/need_devices.hpp"
#include "support/row_major_numbers.hpp"

namespace {

using namespace hdf5_files;
using mw::Array;
using mw::CheckpointError;
using mw::NamedSharding;
using mw::Tree;
using mw::io::Checkpointer;
using support::numbered;

Array rows(const Shape& shape) { return mw::device_put(numbered(shape, mw::float32), line(P("x"))); }

#define EXPECT_SAYS(text, ...) \
  for (const std::string part : {__VA_ARGS__}) EXPECT_NE((text).find(part), std::string::npos) << part << " in " << (text)

TEST(CheckpointErrors, WhatDiffersBetweenFileAndWish) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"w", rows({8, 4})}, {"b", rows({4})}});
  const auto load = [&](const Tree& like, mw::io::LoadOptions options = {}) {
    return error_everywhere<CheckpointError>([&] { checkpoints.load(1, like, options); });
  };
  EXPECT_SAYS(load(Tree{{"w", rows({8, 4})}, {"b", rows({4})}, {"c", rows({2})}}), "c is missing", "float32[2@x]", "load(1)");
  EXPECT_SAYS(load(Tree{{"w", rows({8, 4})}}), "b float32[4@x] is in the checkpoint and not wanted");
  EXPECT_SAYS(load(Tree{{"w", rows({8, 5})}, {"b", rows({4})}}), "w is stored as float32[8@x,4], wanted float32[8@x,5]");
  EXPECT_SAYS(load(Tree{{"w", rows({8, 4}).astype(mw::float64)}, {"b", rows({4})}}),
              "w is stored as float32[8@x,4], wanted float64[8@x,4]");
  EXPECT_SAYS(load(Tree{{"w", rows({8, 4})}, {"b", rows({4})}}, {.paths = {"layers"}}), "nothing in `like` is below the path layers");
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.load(7, Tree{}); }), "step_00000007");
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.load(mw::io::Latest{}, Tree{}); }), "there is no step");
}

TEST(CheckpointErrors, WhatMayDiffer) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"p", Tree{{"w", rows({8, 4})}, {"b", rows({4})}}}, {"o", rows({3})}});
  const auto other = mw::device_put(mw::full({2}, 9.0f), line(P("x")));
  auto loaded = checkpoints.load(1, Tree{{"p", Tree{{"w", rows({8, 4}).astype(mw::float64)}, {"b", other}, {"c", other}}}},
                                 {.missing = true, .extra = true, .convert = true});
  EXPECT_EQ(loaded.report.missing, (std::vector<std::string>{"p/b", "p/c"}));
  EXPECT_EQ(loaded.report.extra, (std::vector<std::string>{"o"}));
  EXPECT_EQ(loaded.report.converted, (std::vector<std::string>{"p/w"}));
  EXPECT_EQ(support::wrong_numbers<double>(loaded["p"]["w"]), 0);
  EXPECT_EQ(loaded["p"]["b"].sum().item<float>(), 18);
  loaded = checkpoints.load(1, Tree{{"p", Tree{{"w", other}, {"b", mw::device_put(mw::zeros({4}), line(P("x")))}}}, {"o", other}},
                            {.paths = {"p/b"}});
  EXPECT_EQ(support::wrong_numbers<float>(loaded["p"]["b"]), 0);
  EXPECT_EQ(loaded["o"].sum().item<float>(), 18);
}

TEST(CheckpointErrors, RanksThatDisagree) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  if (mw::process_count() == 1) return;
  const auto x = rows({8, 4});
  const auto mine = mw::process_index() == mw::process_count() - 1;
  const auto save = [&](std::int64_t step, const Tree& tree, mw::io::SaveOptions options = {}) {
    return error_everywhere<mw::MismatchError>([&] { checkpoints.save(step, tree, options); });
  };
  EXPECT_SAYS(save(mine ? 2 : 1, Tree{{"w", x}}), "rank 0: step 1", "step 2");
  EXPECT_SAYS(save(1, Tree{{mine ? "v" : "w", x}}), "rank 0: ['w'] float32[8@x,4]", "['v'] float32[8@x,4]");
  EXPECT_SAYS(save(1, Tree{{"w", x}}, {.metadata = mine ? "1" : "2"}), "metadata 2", "metadata 1");
  EXPECT_SAYS(save(1, mine ? Tree{{"w", x}, {"z", x}} : Tree{{"w", x}}), "nothing more", "['z']");
  EXPECT_SAYS(error_everywhere<mw::MismatchError>([&] { checkpoints.load(mine ? 3 : 4, Tree{{"w", x}}); }), "load(4)", "load(3)");
  EXPECT_SAYS(error_everywhere<mw::MismatchError>([&] { checkpoints.load_array(1, mine ? "a" : "b"); }), "'a'", "'b'");
  EXPECT_SAYS(error_everywhere<mw::MismatchError>([&] { Checkpointer(folder / (mine ? "a" : "b")); }), "/a'", "/b'");
  on_first([&] { EXPECT_FALSE(std::filesystem::exists(folder / "run")); });
  checkpoints.save(1, Tree{{"w", x}});
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{1});
}

TEST(CheckpointErrors, WhatCannotBeSaved) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto x = rows({8, 4});
  auto gone = rows({8, 4});
  mw::device_put(gone, line(P()), {.donate = true});
  error_everywhere<mw::DonatedError>([&] { checkpoints.save(1, Tree{{"w", gone}}); });
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.save(-1, Tree{{"w", x}}); }), "a step is not negative");
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.save(1, Tree{{"w", x}}, {.metadata = "{a"}); }), "no JSON", "{a");
  checkpoints.save(1, Tree{{"w", x}});
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.save(1, Tree{{"w", x}}); }), "step 1 is there already", "overwrite");
  checkpoints.save(1, Tree{{"w", rows({2})}}, {.overwrite = true});
  EXPECT_EQ(checkpoints.load(1)["w"].shape(), (Shape{2}));
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { mw::io::keep_last(0); }), "positive");
  on_first([&] { std::ofstream(folder / "file") << "x"; });
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { Checkpointer(folder / "file"); }), "/file'", "Not a directory");
  Checkpointer in_a_file(folder / "later");
  on_first([&] { std::ofstream(folder / "later") << "x"; });
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { in_a_file.save(1, Tree{{"w", x}}); }), "not a folder");
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { Checkpointer(""); }), "needs a folder");
}

// The middle of a long list is not printed.
TEST(CheckpointErrors, RanksThatLoadOntoDifferentDevices) {
  NEED_DEVICES(2);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"w", rows({4})}});
  if (mw::process_count() == 1) return;
  auto devices = mw::devices().ids();
  if (!first()) std::swap(devices[devices.size() / 2 - 1], devices[devices.size() / 2]);
  const NamedSharding target(mw::make_mesh({std::ssize(devices)}, {"x"}, {.devices = mw::DeviceList(devices)}), P("x"));
  error_everywhere<mw::MismatchError>([&] { checkpoints.load(1, target); });
  error_everywhere<mw::MismatchError>([&] { checkpoints.load_array(1, "w", target); });
  EXPECT_EQ(checkpoints.load(1)["w"].shape(), Shape{4});
}

TEST(CheckpointErrors, DamageIsFoundAndTheStepBeforeIsTaken) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto x = rows({4096, 300});
  for (const std::int64_t step : {1, 2, 3}) checkpoints.save(step, Tree{{"w", x}, {"b", rows({4})}});
  const auto change = [&](const std::string& file, std::int64_t at) {
    on_first([&] {
      std::fstream stream(checkpoints.folder() + "/" + file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(at);
      const auto byte = static_cast<char>(stream.get() ^ 16);
      stream.seekp(at);
      stream.put(byte);
    });
  };
  change("step_00000003/shards/00000.h5", 100000);
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] {
                checkpoints.load(3, Tree{{"w", x}, {"b", rows({4})}});
              }),
              "step_00000003/shards/00000.h5", "damaged", "values of", "w");
  change("step_00000002/COMMIT", 30);
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{1, 3}));
  const auto loaded = checkpoints.load(checkpoints.latest(), Tree{{"w", x}, {"b", rows({4})}});
  EXPECT_EQ(loaded.report.step, 1);
  ASSERT_EQ(loaded.report.passed_over.size(), 1u);
  EXPECT_EQ(support::wrong_numbers<float>(loaded["w"]), 0);
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.load(2, Tree{{"w", x}, {"b", rows({4})}}); }), "COMMIT is damaged");
  checkpoints.save(2, Tree{{"w", x}, {"b", rows({4})}});  // a step that is of no use to anyone is replaced
  change("step_00000002/index.h5", 3000);
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.load(2); }), "index.h5", "damaged");
  on_first([&] { std::filesystem::remove(checkpoints.folder() + "/step_00000001/shards/00000.h5"); });
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.load(1); }), "00000.h5", "No such file");
  // A wish that no step fulfils is no damage.
  EXPECT_SAYS(error_everywhere<CheckpointError>([&] { checkpoints.load(mw::io::Latest{2}, Tree{{"v", x}}); }), "index.h5");
}

}  // namespace
