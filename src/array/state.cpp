#include "array/state.hpp"

#include <fmt/format.h>

#include "array/move.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/undo.hpp"

namespace meshwise::detail {

void check_has_values(const Array& x) {
  if (x.state()->kind != State::Kind::traced) return;
  if (rehearsing()) refuse_in_rehearsal(type_string(x));
  throw Error(fmt::format("{} is a value that jit recorded, kept beyond the function it stands in: it was never computed. Return it from the function instead", type_string(x)));
}

void check_alive(const Array& x, std::string_view operation, std::string_view argument) {
  const auto& state = *x.state();
  if (state.kind == State::Kind::traced && !rehearsing()) check_has_values(x);
  if (state.deleted_by.empty()) return;
  throw DonatedError(fmt::format("{}: argument {} is {}, which was {}; its value is gone. Use the result of that call, or keep a copy made before it.",
                                 operation, argument, type_string(x), state.deleted_by));
}

void settle(std::vector<LocalShard>& shards, std::shared_ptr<Transfer>& transfer) {
  if (transfer == nullptr) return;
  transfer->wait();
  for (auto& shard : shards) {
    if (shard.lent < 0) continue;
    const auto& adopted = transfer->adopted()[static_cast<std::size_t>(shard.lent)];
    auto strides = adopted.strides;
    for (auto& stride : strides) stride /= static_cast<std::int64_t>(itemsize(shard.data.dtype()));
    shard = {shard.position, LocalArray(shard.data.shape(), shard.data.dtype(), adopted.block, adopted.offset, std::move(strides))};
  }
  transfer.reset();
}

const std::vector<LocalShard>& ready_shards(const Array& x) {
  auto& state = *x.state();
  check_has_values(x);
  settle(state.shards, state.transfer);
  return state.shards;
}

namespace {
std::shared_ptr<State> uncommitted(const Shape& shape, Dtype dtype, State::Kind kind) {
  auto state = std::make_shared<State>(default_sharding());
  state->kind = kind;
  state->shape = shape;
  state->dtype = dtype;
  return state;
}
}  // namespace

Sharding default_sharding() {
  static thread_local Device last{-1, -1, -1};
  static thread_local std::optional<Sharding> cached;
  const Device device = current_default_device();
  if (!cached || !(device == last)) {
    cached = SingleDeviceSharding(device);
    last = device;
  }
  return *cached;
}

Array make_recipe_array(Recipe recipe) {
  auto state = uncommitted(recipe.shape, recipe.dtype(), State::Kind::recipe);
  state->recipe = std::move(recipe);
  return Array(std::move(state));
}

Array make_everywhere_array(LocalArray value) {
  auto state = uncommitted(value.shape(), value.dtype(), State::Kind::everywhere);
  state->everywhere = std::move(value);
  return Array(std::move(state));
}

Array make_sharded_array(const Shape& shape, Dtype dtype, const Sharding& sharding, bool committed, std::vector<LocalShard> shards,
                         std::shared_ptr<Transfer> transfer) {
  auto state = std::make_shared<State>(sharding);
  state->shape = shape;
  state->dtype = dtype;
  state->committed = committed;
  state->shards = std::move(shards);
  state->transfer = std::move(transfer);
  return Array(std::move(state));
}

Array make_traced_array(const Shape& shape, Dtype dtype, const Sharding& sharding, bool committed, std::uint64_t trace, std::int64_t number) {
  auto state = std::make_shared<State>(sharding);
  state->kind = State::Kind::traced;
  state->shape = shape;
  state->dtype = dtype;
  state->committed = committed;
  state->trace = trace;
  state->number = number;
  return Array(std::move(state));
}

LocalArray uncommitted_box(const Array& x, const Index& box) {
  const auto& state = *x.state();
  check_has_values(x);
  if (state.kind == State::Kind::recipe) return state.recipe.make(box);
  auto window = state.everywhere.box(box);
  if (window_is_fair(window)) return window;
  LocalArray own(window.shape(), window.dtype());
  copy_values(window, own);
  return own;
}

void delete_state(const Array& x, std::string reason) {
  auto& state = *x.state();
  state.deleted_by = std::move(reason);
  state.shards.clear();
  state.transfer.reset();
  state.recipe = {};
  state.everywhere = {};
}

void donate_state(const Array& x, std::string reason) {
  if (in_agreement()) undo_on_failure([state = x.state(), value = *x.state()] { *state = value; });
  delete_state(x, std::move(reason));
}

}  // namespace meshwise::detail
