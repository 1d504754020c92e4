#pragma once
// What an Array handle points to. The list of what a state can be is here, so that operations never know more.

#include <memory>
#include <string>
#include <vector>

#include "array/recipe.hpp"
#include "meshwise/array/array.hpp"
#include "meshwise/runtime/transport.hpp"

namespace meshwise::detail {

/// Local. One of this rank's shards: position in the sharding's device list, and the values. While another rank's block is on its way `lent` is its
/// number among the transfer's adopted blocks, and `data` has no memory.
struct LocalShard {
  std::int64_t position = 0;
  LocalArray data{};
  std::int64_t lent = -1;
};

/// Local. Waits for the transfer, if any, and gives shards that wait for a lent block their memory.
void settle(std::vector<LocalShard>& shards, std::shared_ptr<Transfer>& transfer);

struct State {
  enum class Kind : std::uint8_t {
    shards,      // committed, or computed on its devices: each device's box in `shards` on its rank (pending while `transfer` is set)
    recipe,      // uncommitted: a rule for the values
    everywhere,  // uncommitted: the whole value in every process
    traced,      // what a function that jit records would have here: value `number` of `trace`
  };
  Kind kind = Kind::shards;
  Shape shape{};
  Dtype dtype = Dtype::float32;
  Sharding sharding;
  bool committed = false;

  std::vector<LocalShard> shards{};
  std::shared_ptr<Transfer> transfer{};  // set while bytes are in flight; waiting clears it
  Recipe recipe{};
  LocalArray everywhere{};
  std::uint64_t trace = 0;              // whose value it is
  std::int64_t number = -1;
  std::string deleted_by{};              // why it is gone: "donated to device_put", "freed"

  explicit State(Sharding s) : sharding(std::move(s)) {}
};

/// Local. Throws DonatedError naming `operation`, the argument and where it went, when x was donated or freed; Error when it is a value of a trace that is over.
void check_alive(const Array& x, std::string_view operation, std::string_view argument);
/// Local. Throws Error where x is a traced value.
void check_has_values(const Array& x);
/// Local. Waits for the transfer, if any, and hands back this rank's shards.
const std::vector<LocalShard>& ready_shards(const Array& x);

Array make_recipe_array(Recipe recipe);                       // uncommitted, on the default device
Array make_everywhere_array(LocalArray value);                // uncommitted, on the default device
/// Local. A value of a trace: `kind` traced.
Array make_traced_array(const Shape& shape, Dtype dtype, const Sharding& sharding, bool committed, std::uint64_t trace, std::int64_t number);
Array make_sharded_array(const Shape& shape, Dtype dtype, const Sharding& sharding, bool committed, std::vector<LocalShard> shards,
                         std::shared_ptr<Transfer> transfer = nullptr);

/// Collective. The whole value on every rank (device_get under the name `operation`).
LocalArray get_everywhere(const Array& x, std::string_view operation);

/// Local. Deletes the value for all handles on this rank; `reason` completes "which was ...".
void delete_state(const Array& x, std::string reason);
/// Local. The same of a donated value, which comes back when an agreement around the call fails.
void donate_state(const Array& x, std::string reason);
/// Local. The sharding of uncommitted arrays: the default device's.
Sharding default_sharding();

/// Local. x's values in `box`, without communication: x is uncommitted (recipe or everywhere).
LocalArray uncommitted_box(const Array& x, const Index& box);

}  // namespace meshwise::detail
