#include "spmd/trace.hpp"

#include <utility>

namespace meshwise::detail {

namespace {
std::uint64_t traces = 0;
}  // namespace

Trace::Trace() : Listener("jit", true), id_(++traces) {}

Array Trace::argument(const Array& x) { return make_traced_array(x.shape(), x.dtype(), x.sharding(), x.committed(), id_, next_++); }

Array Trace::hear(HeardCall call) {
  auto result = make_traced_array(call.shape, call.dtype, call.sharding ? *call.sharding : default_sharding(), call.sharding.has_value(), id_, next_++);
  calls_.push_back(std::move(call));
  return result;
}

std::int64_t Trace::number_of(const Array& x) const {
  const auto& state = *x.state();
  return state.kind == State::Kind::traced && state.trace == id_ ? state.number : -1;
}

}  // namespace meshwise::detail
