// Each call that changes the file system fails once, in each way, on each rank: every rank gets the same error soon, what was there is whole, nothing is left
// over, and the next save works. What is interrupted or cut short just goes on.
// ranks: 2
// devices_per_rank: 4
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "faults/failing_calls.hpp"
#include "faults/on_all_ranks.hpp"
#include "faults/run_folder.hpp"

namespace {

namespace mw = meshwise;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using faults::from, faults::from_any, faults::on_first;

constexpr auto soon = std::chrono::seconds(5);
const std::vector<std::string> changing{"open", "write", "fallocate", "fsync", "rename", "mkdir", "truncate"}, reading{"open", "read"};

/// The words of what was thrown; empty if nothing was.
std::string thrown_by(const std::function<void()>& f) {
  try {
    f();
  } catch (const mw::CheckpointError& error) {
    return error.what();
  }
  return {};
}

/// What a program does to a folder, and what it may find there when that went wrong.
struct Scenario {
  std::string name;
  std::function<void(mw::io::Checkpointer&)> prepare, act;
  std::vector<std::int64_t> before, after;  // steps
  bool is_new = false;                      // the folder is not there before
  bool cleans_up = false;                   // folders are opened also to empty them, and what failed there is done again
};

class Failures : public testing::Test {
 protected:
  faults::Folder folder;
  std::string root;
  int trials = 0, tolerated = 0;

  mw::Tree tree(std::int64_t step) { return faults::grown(step, 7); }

  /// A folder as the scenario begins with it.
  void begin(const Scenario& scenario) {
    meshwise_test_fail("/nowhere", "");
    root = folder.path() + (scenario.is_new ? "/run/deep/er" : "/run");
    on_first([&] {
      fs::remove_all(folder.path() + "/run");
      if (!scenario.is_new) fs::create_directory(root);
    });
  }

  /// The steps are these and right, and there is nothing else; also in a Checkpointer that comes later.
  void expect(mw::io::Checkpointer& checkpoints, const std::vector<std::int64_t>& steps) {
    EXPECT_EQ(checkpoints.steps(), steps);
    for (const auto step : steps) EXPECT_EQ(faults::wrong(checkpoints.load(step, faults::like(8)), step), "") << "step " << step;
    if (mw::process_index() == 0) {
      EXPECT_EQ(faults::leftovers(root), "");
    }
  }

  /// One failure. What comes behind the commit, and what is only for people, may fail without a word.
  void fail_once(const Scenario& scenario, const std::string& call, long number, const std::string& what, int rank) {
    SCOPED_TRACE(scenario.name + ": " + call + " " + std::to_string(number) + ": " + what + " on rank " + std::to_string(rank));
    begin(scenario);
    mw::io::Checkpointer checkpoints(root, {.keep = mw::io::keep_last(2)});
    scenario.prepare(checkpoints);
    mw::barrier();
    meshwise_test_fail(folder.path().c_str(),
                       mw::process_index() == rank ? (call + ":" + std::to_string(number) + ":" + what).c_str() : "");
    const auto start = Clock::now();
    const auto words = thrown_by([&] { scenario.act(checkpoints); });
    EXPECT_LT(Clock::now() - start, soon);
    const auto failed = from(rank, std::string(meshwise_test_failed()));
    meshwise_test_fail("/nowhere", "");
    ++trials;
    EXPECT_NE(failed, "") << "the call was not made";
    EXPECT_EQ(words, from(0, words)) << "ranks have other words";
    const bool goes_on = what == "EINTR" || what == "short";
    if (goes_on) {
      EXPECT_EQ(words, "") << failed;
    }
    const auto path = failed.substr(failed.find(' ') + 1);
    const bool cleaning =
        scenario.cleans_up && call == "open" && (path.ends_with("/shards") || path.find('/', path.find(".tmp-")) == std::string::npos);
    const bool leaves = path.find(".deleting-") != std::string::npos, reads = call == "open" || call == "read";
    const bool retiring =
        leaves || (reads && (path == root || (path.starts_with(root + "/step_") && path.find(".tmp-") == std::string::npos)));
    const bool may_be_silent = cleaning || retiring || path.ends_with("/latest") || path.ends_with("/.lock");
    if (words.empty()) {
      tolerated += goes_on ? 0 : 1;
      EXPECT_TRUE(goes_on || may_be_silent) << "no error, but this failed: " << failed;
      auto steps = scenario.after;
      if (!goes_on && retiring) steps = checkpoints.steps();  // those that nothing wants stay until the next save
      EXPECT_TRUE(std::includes(steps.begin(), steps.end(), scenario.after.begin(), scenario.after.end()));
      expect(checkpoints, steps);
      return;
    }
    EXPECT_NE(words.find(folder.path()), std::string::npos) << words;
    expect(checkpoints, scenario.before);
    EXPECT_EQ(thrown_by([&] { scenario.act(checkpoints); }), "") << "once more, after: " << words;
    expect(checkpoints, scenario.after);
  }

  void run(const Scenario& scenario, const std::vector<std::string>& calls, const std::vector<std::string>& whats) {
    begin(scenario);
    std::vector<std::vector<long>> counts(static_cast<std::size_t>(mw::process_count()), std::vector<long>(calls.size()));
    {
      mw::io::Checkpointer checkpoints(root, {.keep = mw::io::keep_last(2)});
      scenario.prepare(checkpoints);
      mw::barrier();
      meshwise_test_fail(folder.path().c_str(), "");
      scenario.act(checkpoints);
      for (int rank = 0; rank < mw::process_count(); ++rank)
        for (std::size_t c = 0; c < calls.size(); ++c)
          counts[static_cast<std::size_t>(rank)][c] = from(rank, meshwise_test_calls(calls[c].c_str()));
      expect(checkpoints, scenario.after);
    }
    for (int rank = 0; rank < mw::process_count(); ++rank)
      for (std::size_t c = 0; c < calls.size(); ++c)
        for (long number = 0; number < counts[static_cast<std::size_t>(rank)][c]; ++number)
          for (std::size_t w = 0; w < whats.size(); ++w) {
            const auto& what = whats[w];
            if (!all && (w + static_cast<std::size_t>(number) + c) % whats.size() != 0) continue;
            if (what == "short" && calls[c] != "write" && calls[c] != "read") continue;
            fail_once(scenario, calls[c], number, what, rank);
            if (from_any(HasFailure())) return;
          }
    if (mw::process_index() == 0) std::printf("%s: %d failures, %d of them silent\n", scenario.name.c_str(), trials, tolerated);
  }

  const bool all = std::getenv("MESHWISE_TEST_ALL") != nullptr;  // else of each call's ways to fail one
  const std::vector<std::string> ways{"ENOSPC", "EIO", "EDQUOT", "EACCES", "EINTR", "short"};

  Scenario saving(const std::string& name, bool async) {
    return {name,
            [this](auto& checkpoints) {
              checkpoints.save(1, tree(1));
              checkpoints.save(2, tree(2));
            },
            [this, async](auto& checkpoints) {
              if (async)
                checkpoints.save_async(3, tree(3)).wait();
              else
                checkpoints.save(3, tree(3));
            },
            {1, 2},
            {2, 3}};
  }
};

TEST_F(Failures, Save) { run(saving("save", false), changing, ways); }

TEST_F(Failures, SaveInTheBackground) { run(saving("save_async", true), changing, ways); }

TEST_F(Failures, FirstSave) {
  run({"first save", [](auto&) {}, [this](auto& checkpoints) { checkpoints.save(1, tree(1)); }, {}, {1}, true}, changing, ways);
}

// A step that is there is replaced, by the same: at no time is there neither.
TEST_F(Failures, Overwrite) {
  run({"overwrite",
       [this](auto& checkpoints) { checkpoints.save(1, tree(1)); },
       [this](auto& checkpoints) { checkpoints.save(1, tree(1), {.overwrite = true}); },
       {1},
       {1},
       false,
       true},
      changing, ways);
}

TEST_F(Failures, Remove) {
  run({"remove",
       [this](auto& checkpoints) {
         checkpoints.save(1, tree(1));
         checkpoints.save(2, tree(2));
       },
       [](auto& checkpoints) { checkpoints.remove(2); },
       {1, 2},
       {1}},
      changing, {"EIO", "EINTR"});
}

// A step is not taken for none because its record could not be read for once.
TEST_F(Failures, SaveOfAStepThatIsThere) {
  run({"save again",
       [this](auto& checkpoints) { checkpoints.save(1, tree(1)); },
       [this](auto& checkpoints) {
         const auto words = thrown_by([&] { checkpoints.save(1, tree(2)); });
         EXPECT_NE(words, "");
         EXPECT_EQ(faults::wrong(checkpoints.load(1, faults::like(8)), 1), "");
       },
       {1},
       {1}},
      {"open", "read"}, {"EIO", "EACCES", "EINTR"});
}

TEST_F(Failures, Load) {
  run({"load",
       [this](auto& checkpoints) { checkpoints.save(1, tree(1)); },
       [](auto& checkpoints) { EXPECT_EQ(faults::wrong(checkpoints.load(1, faults::like(9)), 1), ""); },
       {1},
       {1}},
      reading, {"EIO", "EACCES", "EINTR", "short"});
}

}  // namespace
