#pragma once
// What metadata alone decides of an operation: the result's layout, and how each device computes its part. Made once, kept for the next call alike.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/dispatch.hpp"

namespace meshwise::detail {

/// Local. How an operation with a local form is computed on this rank's devices.
struct Computation {
  struct OnDevice {
    std::int64_t position = 0;
    Index result_box{};
    std::vector<Index> operand_boxes{};  // empty for a literal
    std::size_t twin = 0;                // the first device of this rank with these boxes: itself, or one whose block it shares
  };
  Sharding computed;                               // where the kernel's results lie: the result's, or what is brought there afterwards
  bool in_place = false;                           // computed is as good as the result's
  std::vector<std::optional<Sharding>> operands{}; // where the kernel wants each operand; absent for literals
  AxisSplit partial{};                             // the mesh axes that the results are partial over
  std::vector<OnDevice> devices{};
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
