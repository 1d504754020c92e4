#pragma once
// The command `meshwise`. A subcommand is one file with one of these functions, and a line in main.cpp.

#include <CLI/CLI.hpp>

namespace meshwise::command {

/// Local. Declares a subcommand on `app`; what it does is its callback. A meshwise::Error that leaves it is printed, and the exit code is 2.
void add_plan(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_checkpoint(CLI::App& app);
void add_operations(CLI::App& app);

}  // namespace meshwise::command
