#pragma once
// Which spec a result has: the rules of layout negotiation (SEMANTICS 6; the measured rules are cited in the source).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/mesh.hpp"
#include "meshwise/placement/partition_spec.hpp"

namespace meshwise {

/// Local. The rule an operation follows; several operations share one.
enum class LayoutRule : std::uint8_t {
  unary,                 // keeps the operand's spec
  elementwise,           // any number of operands, broadcasting
  where,                 // condition, x, y
  clip,                  // x, lo, hi
  reduce,                // axes, keepdims
  arg_reduce,            // axes (one, or all), keepdims
  transpose,             // permutation
  expand_dims,           // axes of the result
  squeeze,               // axes of the operand
  broadcast_to,          // result shape
  contract,              // subscripts "ij,jk->ik" (matmul, dot, einsum); out_spec
  reshape,               // result shape; out_spec
  concatenate, stack,    // axis
  worked_axis,           // sort, cumsum, roll: axis
  blockwise,             // axes: each device works on its own block of operand 0 alone
  flip, pad, tile,       // axes worked on
  slice,                 // a range per axis (lax.slice)
  dynamic_slice,
  getitem,               // index items
  at_get,                // index items, out_spec
  gather_get,            // rows by an int vector, out_spec
  take, take_along_axis, // axis
  at_set, dynamic_update_slice,
  whole,                 // random draws: the operand whole on every device, the result replicated
  reshard                // out_spec
};

/// Local. One item of x[...]: a whole or cut range, an integer, a new axis, or an array of integers.
struct IndexItem {
  enum class Kind : std::uint8_t { range, integer, new_axis, array } kind = Kind::range;
  std::int64_t start = 0, stop = 0, step = 1;  // normalized, of the operand's axis; an integer has start
  bool whole = true;                           // the range takes the axis whole (forwards or backwards)
  friend bool operator==(const IndexItem&, const IndexItem&) = default;
};

/// Local. What an operation was asked to do; each rule reads the fields named beside it.
struct Attributes {
  std::vector<std::int64_t> axes{};  // axes or the axis worked on; a transpose's permutation
  bool keepdims = false;
  std::string subscripts{};
  std::vector<IndexItem> items{};    // getitem, slices: one per operand axis (plus new axes)
  std::optional<PartitionSpec> out_spec{};
  bool in_order = false;             // contract: sums run over whole contracted axes, in their order
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

/// Local. An operand as the rules see it: its type on the mesh.
struct OperandType {
  Shape shape{};
  Dtype dtype = Dtype::float32;
  PartitionSpec spec{};
};

/// Local. The spec of the result of shape `result`, all operands on `mesh`: Auto rules, or Explicit where the mesh's axes are Explicit.
/// `operation` is the name messages use. Throws: ShardingTypeError (Explicit), PlacementError for an out_spec that does not fit.
/// SEMANTICS 6.3 decides which spec object comes back.
PartitionSpec propagate(const Mesh& mesh, LayoutRule rule, std::string_view operation, const Attributes& attributes,
                        std::span<const OperandType> operands, const Shape& result);

/// Local. `float32[8@x,16@y]`, `float32[8@(x,y),4]`; replicated `float32[8,4]`.
std::string type_string(Dtype dtype, const Shape& shape, const PartitionSpec& spec);
/// Local. `float32[8,4]`.
std::string type_string(Dtype dtype, const Shape& shape);
/// Local. Number of parts a spec cuts an array into on that mesh.
std::int64_t tiles(const Mesh& mesh, const PartitionSpec& spec);

}  // namespace meshwise
