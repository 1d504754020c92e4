#include "runtime/undo.hpp"

#include <utility>

#include "runtime/runtime.hpp"

namespace meshwise::detail {

void UndoList::run(FunctionRef<void()> f) {
  const auto first = undos_.size();
  ++depth_;
  try {
    f();
  } catch (...) {
    --depth_;
    while (undos_.size() > first) {
      const auto undo = std::move(undos_.back());
      undos_.pop_back();
      undo();
    }
    throw;
  }
  if (--depth_ == 0) undos_.clear();
}

bool in_agreement() { return runtime().undo.is_open(); }

void undo_on_failure(std::function<void()> undo) { runtime().undo.add(std::move(undo)); }

}  // namespace meshwise::detail
