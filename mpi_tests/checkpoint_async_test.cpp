// Saves in the background: what they hold, when they are steps, and how they end.
// ranks: 1 2 4
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include "support/hdf5_files.hpp"
#include "support/row_major_numbers.hpp"

namespace {

using namespace hdf5_files;
using mw::Array;
using mw::NamedSharding;
using mw::Tree;
using mw::io::Checkpointer;
using support::numbered;

// 24 MiB: several pieces a rank.
Array some() { return mw::device_put(numbered({3072, 1024}, mw::float64), line(P("x"))); }

TEST(CheckpointAsync, IsAStepOnlyOnceItWasWaitedFor) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto x = some();
  auto saving = checkpoints.save_async(4, Tree{{"x", x}});
  EXPECT_TRUE(checkpoints.steps().empty());
  const auto report = saving.wait();
  EXPECT_TRUE(saving.poll());
  EXPECT_EQ(report.bytes, x.nbytes());
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{4});
  EXPECT_EQ(saving.wait().step, 4);  // again: the report
  EXPECT_EQ(support::wrong_numbers<double>(checkpoints.load(4, Tree{{"x", x}})["x"]), 0);
}

// What happens to the arrays after save_async has returned is not in the file: they are let go, donated, and their memory is used again.
TEST(CheckpointAsync, ASnapshotIsOne) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  for (std::int64_t round = 0; round < 4; ++round) {
    auto x = some();
    auto saving = checkpoints.save_async(round, Tree{{"x", x}});
    auto y = mw::device_put(x, line(P(nullptr, "x")), {.donate = true});
    for (int k = 0; k < 3; ++k) y = mw::device_put(y * 0.0 - 1.0, line(k % 2 == 0 ? P("x") : P(nullptr, "x")), {.donate = true});
    x = y;
    y = {};
    x.free();
    saving.wait();
    EXPECT_EQ(support::wrong_numbers<double>(checkpoints.load(round, Tree{{"x", some()}})["x"]), 0) << round;
  }
}

TEST(CheckpointAsync, TheNextSaveCommitsTheOneBefore) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto x = some();
  auto first = checkpoints.save_async(1, Tree{{"x", x}});
  auto second = checkpoints.save_async(2, Tree{{"x", x + 1.0}});
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{1});
  checkpoints.save(3, Tree{{"x", x}});
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(first.wait().step, 1);
  EXPECT_EQ(second.wait().step, 2);
}

TEST(CheckpointAsync, AHandleThatIsDroppedAbandonsTheSave) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"x", mw::arange(3)}});
  { const auto saving = checkpoints.save_async(2, Tree{{"x", some()}}); }
  try {
    const auto saving = checkpoints.save_async(3, Tree{{"x", some()}});
    throw std::runtime_error("on every rank");
  } catch (const std::runtime_error&) {
  }
  mw::barrier();
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{1});
  on_first([&] {
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints.folder()))
      EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
  });
  checkpoints.save(2, Tree{{"x", mw::arange(4)}});
  EXPECT_EQ(checkpoints.load(2)["x"].shape(), (Shape{4}));
}

TEST(CheckpointAsync, RecipesAreMadeInTheBackground) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto noise = mw::random::normal(mw::random::key(3), {1000, 1000});
  auto saving =
      checkpoints.save_async(1, Tree{{"a", numbered({1500, 1000}, mw::int32)}, {"t", numbered({700, 900}, mw::float64).T()}, {"n", noise}});
  saving.wait();
  const auto loaded = checkpoints.load(1, NamedSharding(line(P("x"))));
  EXPECT_EQ(support::wrong_numbers<std::int32_t>(loaded["a"]), 0);
  EXPECT_EQ(support::wrong_numbers<double>(mw::device_put(loaded["t"].T(), line(P("x")))), 0);
  EXPECT_EQ(mw::all(loaded["n"] == mw::device_put(noise, line(P("x")))).item<bool>(), true);
}

TEST(CheckpointAsync, ProgressComesToItsEnd) {
  const Folder folder;
  std::int64_t calls = 0, last = -1;
  Checkpointer checkpoints(folder / "run", {.on_progress = [&](const mw::io::Progress& p) {
                             ++calls;
                             EXPECT_GE(p.done, 0);
                             EXPECT_LE(p.done, p.total);
                             last = p.total - p.done;
                           }});
  const auto x = some();
  auto saving = checkpoints.save_async(1, Tree{{"x", x}});
  EXPECT_EQ(saving.progress().phase, "save");
  saving.wait();
  EXPECT_EQ(saving.progress().done, saving.progress().total);
  EXPECT_GE(calls, 1);
  EXPECT_EQ(last, 0);
  calls = 0;
  checkpoints.save(2, Tree{{"x", x}});
  EXPECT_GE(calls, 1);
  EXPECT_EQ(last, 0);
  calls = 0;
  checkpoints.load(2, Tree{{"x", x}});
  EXPECT_GE(calls, 1);
}

}  // namespace
