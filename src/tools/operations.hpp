#pragma once
// The table of operations: what each takes, and what it makes and moves of a sample array, found by asking the operation itself.

#include <string>

namespace meshwise::detail {

/// Local. docs/operations.md. On four devices that need not exist.
std::string operations_document();

}  // namespace meshwise::detail
