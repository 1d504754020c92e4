#pragma once
// What a function does, recorded: calls in order, with the values that go from one to another.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "array/rehearsal.hpp"

namespace meshwise::detail {

/// Local. Records the calls made while it lives. Values are numbered: arguments first, then each call's result.
class Trace : public Listener {
 public:
  Trace();

  /// Local. The argument as the function sees it: of x's type and placement, without its values. All of them before any call.
  Array argument(const Array& x);
  Array hear(HeardCall call) override;

  std::vector<HeardCall>& calls() { return calls_; }
  /// Local. The number of a value of this trace; -1 for any other array.
  std::int64_t number_of(const Array& x) const;

 private:
  std::uint64_t id_;  // never used again: values that outlive their trace are no other one's
  std::int64_t next_ = 0;
  std::vector<HeardCall> calls_{};
};

}  // namespace meshwise::detail
