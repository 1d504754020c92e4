#pragma once
// What metadata alone decides of an operation: the result's layout, and how each device computes its part. Made once, kept for the next call alike.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/dispatch.hpp"
#include "meshwise/plan/contraction.hpp"

namespace meshwise::detail {

/// Local. How an operation with a local form is computed on this rank's devices.
struct Computation {
  struct OnDevice {
    std::int64_t position = 0;
    Index result_box{};
    std::vector<Index> operand_boxes{};  // empty for a literal
    std::size_t twin = 0;                // the first device of this rank with these boxes: itself, or one whose block it shares
  };
  Sharding computed;                               // where the kernel's outcomes lie
  Sharding combined;                               // where their sums are left: the result's, or what is brought there afterwards
  bool in_place = false;                           // combined is as good as the result's
  std::vector<std::optional<Sharding>> operands{}; // where the kernel wants each operand; absent for literals
  std::vector<bool> windows{};                     // of a contraction's operands: every device has what it wants of it in its own block
  AxisSplit scattered{}, summed{};                 // the mesh axes that outcomes are partial over: sums are left split, or whole, over them
  std::vector<std::string> scattered_axes{}, summed_axes{};
  std::int64_t repeats = 1;                        // devices that compute the same product of a contraction
  std::vector<OnDevice> devices{};
  Panels panels{};                                 // in how many steps
};

struct Layout {
  Mesh mesh;
  Sharding result;
  std::shared_ptr<const std::string> words{};  // what messages say of such a call beside its name and operand
  std::optional<Computation> computation{};    // absent for rules that move boxes
};

/// Local. A hash of all that the layout of a request depends on: rule, attributes, shape, the operands' types; not the literals' values.
std::uint64_t hash_layout(const Request& request);

/// Local. The layout decided for an earlier request alike, if it is remembered; `hash` is its hash_layout.
std::shared_ptr<const Layout> remembered_layout(const Request& request, std::uint64_t hash);

/// Local. Makes the layout of a request whose operands `types` are on `mesh`, `like` being the sharding among them to hand back where it says the
/// same, and remembers it. Throws: ShardingTypeError.
std::shared_ptr<const Layout> decide_layout(const Request& request, std::uint64_t hash, const Sharding& like, std::span<const OperandType> types);

}  // namespace meshwise::detail
