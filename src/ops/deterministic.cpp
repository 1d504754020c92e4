#include "meshwise/ops/deterministic.hpp"

#include "meshwise/runtime/environment.hpp"

namespace meshwise {

namespace {
int innermost = -1;  // no scope: what the setting says
}

deterministic::deterministic(bool on) : outer_(innermost) { innermost = on ? 1 : 0; }
deterministic::~deterministic() { innermost = outer_; }

bool is_deterministic() {
  if (innermost >= 0) return innermost == 1;
  static const bool on = setting("MESHWISE_DETERMINISTIC") == "on" || setting("MESHWISE_DETERMINISTIC") == "1";
  return on;
}

}  // namespace meshwise
