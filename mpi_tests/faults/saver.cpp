// saver FOLDER SEED sync|async|mixed|overwrite|blind STEPS ACKNOWLEDGED: looks whether the folder holds what it must, then saves STEPS steps more, each of
// which it notes in the file ACKNOWLEDGED once it is said to be on disk; blind: saves step 9999999 without a look.
// MESHWISE_TEST_PIDS: a folder for the ranks' process numbers.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "faults/failing_calls.hpp"
#include "faults/run_folder.hpp"

namespace mw = meshwise;

namespace {

void note_process() {
  const char* const folder = std::getenv("MESHWISE_TEST_PIDS");
  if (folder != nullptr) std::ofstream(std::string(folder) + "/" + std::to_string(getpid())) << "\n";
}

class Saver {
 public:
  explicit Saver(char** arguments)
      : folder_(arguments[1]),
        seed_(std::stoull(arguments[2])),
        mode_(arguments[3]),
        steps_(std::stoll(arguments[4])),
        notes_(arguments[5]) {}

  bool run() {
    mw::io::Checkpointer checkpoints(folder_, {.keep = mw::io::keep_last(faults::kept_steps), .bar = false});
    if (mode_ == "blind") return save(checkpoints, 9999999), true;
    if (!faults::all_right(mw::process_index() == 0 ? faults::leftovers(folder_) : "")) return false;
    const auto acked = faults::acknowledged(notes_);  // the one after it may be there too
    const auto newest = faults::check_steps(checkpoints, seed_, acked, acked + 1);
    if (newest == -2) return false;
    note(newest);
    if (mw::process_index() == 0) std::printf("found step %lld\n", static_cast<long long>(newest));
    std::fflush(stdout);
    for (auto step = newest + 1; step <= newest + steps_; ++step) save(checkpoints, step);
    return true;
  }

 private:
  void save(mw::io::Checkpointer& checkpoints, std::int64_t step) {
    const auto tree = faults::grown(step, seed_ + static_cast<std::uint64_t>(step));
    if (mode_ == "async" || (mode_ == "mixed" && step % 2 == 0)) {
      auto saving = checkpoints.save_async(step, tree);
      static_cast<void>(faults::grown(step + 1, seed_));  // what a program does meanwhile
      saving.wait();
    } else {
      checkpoints.save(step, tree);
    }
    note(step);
    // The same once more: whichever of the two is there, it is right.
    if (mode_ == "overwrite") checkpoints.save(step, tree, {.overwrite = true});
  }

  void note(std::int64_t step) const {
    if (step >= 0 && mw::process_index() == 0) std::ofstream(notes_, std::ios::app) << std::to_string(step) + "\n";
  }

  std::string folder_;
  std::uint64_t seed_;
  std::string mode_;
  std::int64_t steps_;
  std::string notes_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  static_cast<void>(meshwise_test_failed());  // or the linker would leave the library out
  note_process();
  const mw::Environment env(argc, argv);
  try {
    return Saver(argv).run() ? 0 : 1;
  } catch (const mw::CheckpointError& error) {  // the same on every rank
    if (mw::process_index() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
