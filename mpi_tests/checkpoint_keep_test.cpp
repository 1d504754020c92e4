// Which steps stay, when a step is due, and what is swept.
// ranks: 1 2 4
// links: hdf5 mpi
#include <meshwise/base/error.hpp>
#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include <csignal>
#include <thread>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::Tree;
using namespace mw::io;
using Steps = std::vector<std::int64_t>;

Tree small() { return Tree{{"x", mw::arange(3)}}; }

TEST(CheckpointKeep, Rules) {
  const Folder folder;
  {
    Checkpointer checkpoints(folder / "last", {.keep = keep_last(2)});
    for (const std::int64_t step : {5, 6, 7, 8}) checkpoints.save(step, small());
    EXPECT_EQ(checkpoints.steps(), (Steps{7, 8}));
  }
  {
    Checkpointer checkpoints(folder / "every", {.keep = keep_last(1) | keep_every(10)});
    for (const std::int64_t step : {5, 10, 15, 20, 25, 27}) checkpoints.save(step, small());
    EXPECT_EQ(checkpoints.steps(), (Steps{10, 20, 27}));
  }
  {
    Checkpointer checkpoints(folder / "best", {.keep = best("loss", 2) | best("accuracy", 1, Retention::Order::largest)});
    const double loss[] = {3, 1, 2, NAN, 5}, accuracy[] = {0.9, 0.1, 0.1, 0.2, 0.3};
    for (int step = 0; step < 5; ++step) checkpoints.save(step, small(), {.metrics = {{"loss", loss[step]}, {"accuracy", accuracy[step]}}});
    EXPECT_EQ(checkpoints.steps(), (Steps{0, 1, 2, 4}));
    EXPECT_EQ(checkpoints.save(6, small()).removed, Steps{4});  // has no metric, and is the newest
    EXPECT_EQ(checkpoints.steps(), (Steps{0, 1, 2, 6}));
  }
}

TEST(CheckpointKeep, AnOlderStepThatIsSavedNowStays) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run", {.keep = keep_last(1)});
  checkpoints.save(9, small());
  checkpoints.save(3, small());
  EXPECT_EQ(checkpoints.steps(), (Steps{3, 9}));
}

TEST(CheckpointKeep, LatestIsALinkToAStepThatIsThere) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto linked = [&] {
    std::error_code none;
    return std::filesystem::read_symlink(folder / "run/latest", none).string();
  };
  for (const std::int64_t step : {1, 2, 3}) checkpoints.save(step, small());
  EXPECT_EQ(linked(), "step_00000003");
  checkpoints.remove(2);
  EXPECT_EQ(linked(), "step_00000003");
  checkpoints.remove(3);
  EXPECT_EQ(linked(), "step_00000001");
  checkpoints.remove(1);
  EXPECT_EQ(linked(), "");
}

TEST(CheckpointKeep, Due) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  for (std::int64_t step = 1; step <= 7; ++step) EXPECT_EQ(checkpoints.save_if_due(step, small(), {.steps = 3}), step % 3 == 0);
  EXPECT_EQ(checkpoints.steps(), (Steps{3, 6}));
  EXPECT_FALSE(checkpoints.save_if_due(8, small(), {.seconds = 1000}));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_TRUE(checkpoints.save_if_due(9, small(), {.seconds = 0.05}));
  EXPECT_FALSE(checkpoints.save_if_due(10, small()));
}

TEST(CheckpointKeep, ASignalToOneRankSavesOnAll) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  EXPECT_FALSE(checkpoints.save_if_due(1, small()));
  if (mw::process_index() == mw::process_count() - 1) std::raise(SIGUSR1);
  EXPECT_TRUE(checkpoints.save_if_due(2, small()));
  EXPECT_FALSE(checkpoints.stop_requested());
  EXPECT_FALSE(checkpoints.save_if_due(3, small()));
  if (mw::process_index() == 0) std::raise(SIGTERM);
  EXPECT_TRUE(checkpoints.save_if_due(4, small()));
  EXPECT_TRUE(checkpoints.stop_requested());
  EXPECT_FALSE(checkpoints.save_if_due(5, small()));
  EXPECT_EQ(checkpoints.steps(), (Steps{2, 4}));
}

TEST(CheckpointKeep, WhatCrashesLeftIsSwept) {
  const Folder folder;
  { Checkpointer(folder / "run").save(1, small()); }
  on_first([&] {
    for (const auto* name : {"step_00000002.tmp-0123", "step_00000001.deleting-77", "step_00000003.tmp-x"}) {
      std::filesystem::create_directories(folder / "run/" + name + "/shards");
      std::ofstream(folder / "run/" + name + "/shards/00000.h5") << "half";
    }
    std::filesystem::create_directories(folder / "run/mine");
  });
  Checkpointer checkpoints(folder / "run");
  on_first([&] {
    Folder const* const f = &folder;
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(*f / "run")) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{".lock", "latest", "mine", "step_00000001"}));
  });
  EXPECT_EQ(checkpoints.steps(), Steps{1});
}

TEST(CheckpointKeep, TwoThatSaveIntoOneFolder) {
  const Folder folder;
  Checkpointer first(folder / "run"), second(folder / "run");
  first.save(1, small());
  EXPECT_THROW(second.save(2, small()), mw::CheckpointError);
  EXPECT_EQ(second.load(1)["x"].shape(), (Shape{3}));  // who only reads needs no lock
  EXPECT_EQ(first.steps(), Steps{1});
}

}  // namespace
