// The main function of all tests that run under MPI. Rank 0 prints. The failures of all ranks reach it
// with the prefix [rank r/n]; verdict and exit code are the same on all ranks. When an ASSERT makes one
// rank leave a test early, the others are told, the test fails everywhere, and the next one starts in step.
//
// All of the harness's own traffic is on its own communicator and goes by PMPI, so that no test counts it.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <meshwise/runtime/environment.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/hooks.hpp"

namespace {

using Clock = std::chrono::steady_clock;

// How a rank stands at the end of a test, and after release what all of them together make of it.
struct Verdict {
  bool failed = false;
  bool fatal = false;  // left the test early
  bool skipped = false;
  bool disagree = false;  // some ranks skipped the test and others did not
};

class Ranks {
 public:
  Ranks() {
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
    if (const char* text = std::getenv("MESHWISE_TEST_PATIENCE"); text) patience_ = std::chrono::seconds(std::atoi(text));
  }
  ~Ranks() { PMPI_Comm_free(&comm_); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }

  // One number of rank 0's for everybody.
  [[nodiscard]] int from_first(int value) const {
    PMPI_Bcast(&value, 1, MPI_INT, 0, comm_);
    return value;
  }

  // Waits until all ranks are here. `text` holds this rank's failures on entry, on rank 0 everybody's on return.
  // Ranks may arrive far apart, but once one has left `where` early the others get only so much time.
  Verdict meet(Verdict mine, std::string& text, const std::string& where) {
    return rank_ == 0 ? gather(mine, text, where) : report(mine, text, where);
  }

 private:
  static constexpr int arrival_tag = 1, release_tag = 2;

  static void pause() {
    meshwise::detail::test_progress();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  [[noreturn]] void give_up(const std::string& text, const std::string& who) const {
    std::cout << text << "[  FAILED  ] " << who << " after " << patience_.count() << " s: the job ends here" << std::endl;
    PMPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  }

  Verdict gather(Verdict all, std::string& text, const std::string& where) {
    std::vector<std::string> texts(static_cast<std::size_t>(size_));
    std::vector<bool> here(texts.size());
    texts[0] = std::move(text);
    here[0] = true;
    auto deadline = all.fatal ? Clock::now() + patience_ : Clock::time_point::max();
    for (int missing = size_ - 1; missing > 0;) {
      int found = 0;
      MPI_Status status;
      PMPI_Iprobe(MPI_ANY_SOURCE, arrival_tag, comm_, &found, &status);
      if (found) {
        int count = 0;
        PMPI_Get_count(&status, MPI_CHAR, &count);
        std::string message(static_cast<std::size_t>(count), '\0');
        PMPI_Recv(message.data(), count, MPI_CHAR, status.MPI_SOURCE, arrival_tag, comm_, MPI_STATUS_IGNORE);
        const auto flags = static_cast<unsigned>(message[0]);
        const bool skipped = (flags & 4U) != 0;
        all.failed |= (flags & 1U) != 0;
        all.disagree |= skipped != all.skipped;
        if ((flags & 2U) != 0 && !std::exchange(all.fatal, true)) deadline = Clock::now() + patience_;
        here[static_cast<std::size_t>(status.MPI_SOURCE)] = true;
        texts[static_cast<std::size_t>(status.MPI_SOURCE)] = message.substr(1);
        --missing;
        continue;
      }
      if (Clock::now() > deadline) {
        std::string who = "some ranks left " + where + " early; still inside it:";
        for (std::size_t r = 0; r < here.size(); ++r) who += here[r] ? "" : " " + std::to_string(r);
        for (const auto& t : texts) text += t;
        give_up(text, who);
      }
      pause();
    }
    text.clear();
    for (const auto& t : texts) text += t;
    all.failed |= all.disagree;
    const char flags = static_cast<char>((all.failed ? 1 : 0) + (all.fatal ? 2 : 0) + (all.disagree ? 8 : 0));
    for (int r = 1; r < size_; ++r) PMPI_Send(&flags, 1, MPI_CHAR, r, release_tag, comm_);
    return all;
  }

  Verdict report(Verdict mine, const std::string& text, const std::string& where) {
    const char arrival = static_cast<char>((mine.failed ? 1 : 0) + (mine.fatal ? 2 : 0) + (mine.skipped ? 4 : 0));
    const std::string message = arrival + text;
    MPI_Request requests[2];
    char flags = 0;
    PMPI_Isend(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, arrival_tag, comm_, &requests[0]);
    PMPI_Irecv(&flags, 1, MPI_CHAR, 0, release_tag, comm_, &requests[1]);
    // Rank 0 knows more and gives up first; this is for a rank 0 that is still inside the test itself.
    const auto deadline = mine.fatal ? Clock::now() + patience_ + std::chrono::seconds(3) : Clock::time_point::max();
    for (int done = 0;;) {
      PMPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
      if (done) break;
      if (Clock::now() > deadline) give_up(text, "this rank left " + where + " early; still inside it: rank 0");
      pause();
    }
    const auto bits = static_cast<unsigned>(flags);
    mine.failed = (bits & 1U) != 0;
    mine.fatal = (bits & 2U) != 0;
    mine.disagree = (bits & 8U) != 0;
    return mine;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::chrono::seconds patience_{20};
};

// Stands in for GoogleTest's printer on every rank and hands the events to it on rank 0.
class Reporter : public testing::EmptyTestEventListener {
 public:
  Reporter(Ranks& ranks, testing::TestEventListener* printer) : ranks_(ranks), printer_(printer) {}

  void OnTestProgramStart(const testing::UnitTest& unit) override { on_first(&Printer::OnTestProgramStart, unit); }
  void OnTestIterationStart(const testing::UnitTest& unit, int i) override { on_first(&Printer::OnTestIterationStart, unit, i); }
  void OnEnvironmentsSetUpStart(const testing::UnitTest& unit) override { on_first(&Printer::OnEnvironmentsSetUpStart, unit); }
  void OnTestSuiteStart(const testing::TestSuite& suite) override { on_first(&Printer::OnTestSuiteStart, suite); }
  void OnTestDisabled(const testing::TestInfo& test) override { on_first(&Printer::OnTestDisabled, test); }
  void OnTestSuiteEnd(const testing::TestSuite& suite) override { on_first(&Printer::OnTestSuiteEnd, suite); }
  void OnEnvironmentsTearDownStart(const testing::UnitTest& unit) override { on_first(&Printer::OnEnvironmentsTearDownStart, unit); }
  void OnTestIterationEnd(const testing::UnitTest& unit, int i) override { on_first(&Printer::OnTestIterationEnd, unit, i); }
  void OnTestProgramEnd(const testing::UnitTest& unit) override { on_first(&Printer::OnTestProgramEnd, unit); }

  void OnTestStart(const testing::TestInfo& test) override {
    mine_ = {};
    on_first(&Printer::OnTestStart, test);
  }

  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (agreeing_ || part.passed()) return;
    mine_.skipped |= part.skipped();
    mine_.failed |= part.failed();
    mine_.fatal |= part.fatally_failed();
    if (part.skipped() && ranks_.rank() != 0) return;
    text_ += prefix() + where(part) + (part.skipped() ? ": Skipped\n" : ": Failure\n") + part.message() + "\n";
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    if (mine_.fatal) meshwise::detail::test_leave_early(("left the test " + name + " early: " + text_).c_str());
    const Verdict all = ranks_.meet(mine_, text_, name);
    if (all.disagree) text_ += "some ranks skipped this test and others did not\n";
    if (ranks_.rank() == 0) std::cout << text_ << std::flush;
    text_.clear();
    if (all.failed && !mine_.failed) {
      agreeing_ = true;  // GoogleTest itself has to know on every rank, for its summary and its exit code
      ADD_FAILURE() << "failed on another rank";
      agreeing_ = false;
    }
    if (all.fatal) meshwise::detail::test_start_in_step();
    on_first(&Printer::OnTestEnd, test);
  }

  // The exit code of all ranks; also prints what failed outside of any test.
  int agree(int code) {
    mine_.failed = code != 0;
    mine_.fatal = mine_.skipped = false;
    const Verdict all = ranks_.meet(mine_, text_, "the program");
    if (ranks_.rank() == 0 && all.failed) std::cout << text_ << std::flush;
    return all.failed ? 1 : 0;
  }

 private:
  using Printer = testing::TestEventListener;

  template <class Event, class... Arguments>
  void on_first(Event event, const Arguments&... arguments) {
    if (ranks_.rank() == 0) (printer_.get()->*event)(arguments...);
  }

  static std::string prefix() {
    return "[rank " + std::to_string(meshwise::process_index()) + "/" + std::to_string(meshwise::process_count()) + "] ";
  }

  static std::string where(const testing::TestPartResult& part) {
    return part.file_name() ? part.file_name() + (":" + std::to_string(part.line_number())) : "unknown file";
  }

  Ranks& ranks_;
  std::unique_ptr<Printer> printer_;  // kept and deleted: the leak checker sees it
  Verdict mine_;
  std::string text_;
  bool agreeing_ = false;
};

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Ranks ranks;
  if (ranks.rank() != 0) testing::GTEST_FLAG(output) = "";
  // A shuffle has to be the same everywhere; left at zero the seed would come from each rank's clock.
  if (testing::GTEST_FLAG(shuffle) && testing::GTEST_FLAG(random_seed) == 0) {
    testing::GTEST_FLAG(random_seed) = ranks.from_first(static_cast<int>(std::time(nullptr) % 99999) + 1);
  }
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  auto* reporter = new Reporter(ranks, listeners.Release(listeners.default_result_printer()));
  listeners.Append(reporter);  // which owns it from here
  return reporter->agree(RUN_ALL_TESTS());
}

}  // namespace

int main(int argc, char** argv) {
  meshwise::Environment env(argc, argv);
  return run(argc, argv);
}
