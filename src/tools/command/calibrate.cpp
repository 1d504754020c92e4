// meshwise calibrate: measures the links of the job it runs in.
#include "meshwise/tools/calibrate.hpp"

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "tools/command/command.hpp"

namespace meshwise::command {

void add_calibrate(CLI::App& app) {
  auto* const calibrate = app.add_subcommand("calibrate", "Measure memory, node and network, for the times that plans estimate");
  calibrate->footer(
      "Alone it measures memory. To measure the links as well start it as you start your programs:\n"
      "  mpirun -n 8 meshwise calibrate\n"
      "The figures are kept in $MESHWISE_CALIBRATION, else $XDG_CACHE_HOME/meshwise/links.json,\n"
      "else ~/.cache/meshwise/links.json; what a job does not have keeps what was measured before.");
  calibrate->callback([] {
    bool failed = false;
    {
      const Environment environment;
      try {
        const auto figures = meshwise::calibrate();
        print("{}Kept in {}\n", to_string(figures), links_path());
        if (process_count() == 1)
          print("One process alone measures memory; node and network take a job of several: mpirun -n 8 meshwise calibrate\n");
      } catch (const Error& error) {  // the same on every rank, and said once; an exception that leaves an Environment ends the job
        failed = true;
        if (process_index() == 0) fmt::print(stderr, "meshwise: {}\n", error.what());
      }
    }
    if (failed) throw CLI::RuntimeError(2);
  });
}

}  // namespace meshwise::command
