// The command `meshwise`: what one asks without writing a program.
#include <cstdio>
#include <exception>

#include "meshwise/base/error.hpp"
#include "tools/command/command.hpp"

int main(int argc, char** argv) {
  CLI::App app("meshwise: distributed arrays for MPI programs", "meshwise");
  app.require_subcommand(1);
  meshwise::command::add_plan(app);
  meshwise::command::add_calibrate(app);
  meshwise::command::add_checkpoint(app);
  meshwise::command::add_operations(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // a subcommand's own exit code
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const meshwise::Error& error) {
    std::fprintf(stderr, "meshwise: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "meshwise: %s\n", error.what());
    return 1;
  }
  return 0;
}
