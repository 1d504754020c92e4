// loader FOLDER SEED ACKNOWLEDGED: what the saver notes up to there must be in the folder, and right.
#include <cstdio>
#include <limits>
#include <string>

#include "faults/run_folder.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const mw::Environment env(argc, argv);
  try {
    mw::io::Checkpointer checkpoints(argv[1]);
    if (!faults::all_right(mw::process_index() == 0 ? faults::leftovers(checkpoints.folder()) : "")) return 1;
    const auto newest =
        faults::check_steps(checkpoints, std::stoull(argv[2]), std::stoll(argv[3]), std::numeric_limits<std::int64_t>::max());
    if (newest == -2) return 1;
    if (mw::process_index() == 0) std::printf("found step %lld\n", static_cast<long long>(newest));
    return 0;
  } catch (const mw::CheckpointError& error) {
    if (mw::process_index() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
