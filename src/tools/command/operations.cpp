// meshwise operations: the table of operations, docs/operations.md.
#include <cstdio>

#include "meshwise/runtime/environment.hpp"
#include "tools/command/command.hpp"
#include "tools/operations.hpp"

namespace meshwise::command {

void add_operations(CLI::App& app) {
  auto* const operations = app.add_subcommand("operations", "Say what each operation takes, makes and moves of sample arrays: docs/operations.md");
  operations->callback([] {
    const Environment environment;
    std::fputs(detail::operations_document().c_str(), stdout);
  });
}

}  // namespace meshwise::command
