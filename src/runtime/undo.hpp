#pragma once
// The list of what failed agreements undo. Main thread.

#include <vector>

#include "meshwise/base/function_ref.hpp"
#include "meshwise/runtime/undo.hpp"

namespace meshwise::detail {

class UndoList {
 public:
  bool is_open() const { return depth_ > 0; }
  void add(std::function<void()> undo) { undos_.push_back(std::move(undo)); }
  /// Local. What was added within f is undone when f throws, and dropped when the outermost f has returned.
  void run(FunctionRef<void()> f);

 private:
  int depth_ = 0;
  std::vector<std::function<void()>> undos_{};
};

}  // namespace meshwise::detail
