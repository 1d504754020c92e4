#include "runtime/runtime.hpp"

#include <fmt/format.h>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {
namespace {
thread_local bool main_thread = false;
}

Runtime& runtime() {
  static auto* const immortal = new Runtime;
  return *immortal;
}

bool on_main_thread() { return main_thread; }
void claim_main_thread() { main_thread = true; }

void check_mpi(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommunicationError(fmt::format("{}: MPI says {}", what, std::string_view(text, static_cast<std::size_t>(length))));
}

}  // namespace meshwise::detail
