#pragma once
// The one door: every operation's checks, commitment, layout, ledger and execution happen here and nowhere else.
// An operation is its rule (shapes and dtypes, checked by the operation itself, first) plus its kernel.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/state.hpp"
#include "meshwise/plan/local_form.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/plan/redistribution.hpp"
#include "meshwise/runtime/collectives.hpp"

namespace meshwise::detail {

/// Local. What a kernel knows beside its inputs: where its blocks lie in the whole arrays. A literal operand has an empty box.
struct KernelContext {
  const Index& result_box;                // of the result (or, for partial results, of the result before combining)
  std::span<const Index> operand_boxes;   // of each operand
};

/// Local. Computes one device's block of the result from its blocks of the operands (in their own dtypes, any strides; a literal is 0-d of the dtype the
/// request names). Returns a fresh array, or a window on an input. Called once per distinct block of this rank; touches no MPI.
using Kernel = std::function<LocalArray(std::span<const LocalArray> inputs, const KernelContext& context)>;

/// Local. How partial results over split, reduced axes become the result: by combining the blocks of the devices that share a result box.
struct Reduction {
  Combine combine{};                                            // elementwise on partials
  Dtype partials = Dtype::float32;                              // of what the kernel returns
  std::size_t itemsize = 0;                                     // of what combine combines; 0: of the partials' dtype
  std::function<LocalArray(const LocalArray& partials)> finish{};  // partials (as bytes of the kernel's returned array) -> result block
};

/// Local. Whether a kernel can be given a tile of the result, and the parts of the operands that broadcast to it, or are reduced to it: by map the values are the tile's,
/// by fold the partials of what it is given, to be combined. It looks at the boxes of its context for their shapes, and where they start, alone.
enum class Tiling : std::uint8_t { none, map, fold };

/// Local. One operation, ready to run.
struct Request {
  std::string_view operation{};          // static storage; what messages call it
  LayoutRule rule = LayoutRule::unary;
  Attributes attributes{};
  std::span<const Operand> operands{};
  Dtype literal_dtype = Dtype::float32;  // what literals are stored as for the kernel
  Shape shape{};                         // the result's, already checked
  Dtype dtype = Dtype::float32;
  Kernel kernel{};
  Tiling tiling = Tiling::none;
  std::function<void(std::span<const LocalArray> inputs, LocalArray& out)> into{};  // of some kernels that map: the same into dense memory
  std::function<void(std::span<const LocalArray> inputs, LocalArray& outcome)> accumulate{};  // adds what further panels of operands make to an outcome of the kernel; where there is one, operands (of what is no contraction, the last) may come in panels
  std::optional<Reduction> reduction{};  // set for operations whose local results may be partial
  std::function<Recipe(const Recipe&)> as_recipe{};  // set where the result of a recipe is a recipe: casts and windows
  std::uint64_t salt = 0;                // hash of further attributes (indices, literals are hashed here already)
};

/// Collective. Checks (alive, mesh types, sharding types, devices: SEMANTICS 5.2), decides the layout, brings the operands there, runs the kernel on this rank's devices.
/// Throws: DonatedError, ShardingTypeError, CommitmentError.
Array dispatch(const Request& request);

/// Local. The name messages use for operand i of an operation: x, y; condition, x, y; args[i].
std::string argument_name(std::string_view operation, std::size_t operand, std::size_t count);

/// Local. A region of one operand that becomes a region of the result: result coordinates target_start + c hold operand coordinates given by views.
struct RegionMove {
  std::size_t operand = 0;
  PerAxis<AxisView> source{};   // per movement axis: which operand axis, start, step
  PerAxis<AxisView> target{};   // per movement axis: which result axis, start (step 1)
  Shape extent{};
  PerAxis<std::int64_t> source_fixed{};   // per operand axis: the integer index of an axis no view names
  PerAxis<std::int64_t> target_fixed{};   // per result axis: where on an axis no view names (stack)
  friend bool operator==(const RegionMove&, const RegionMove&) = default;
};

/// Collective. Like dispatch, for operations that only move values: slices, concatenate, stack, pad, flip, roll. The result is filled with `fill` where no move writes.
/// Where one whole local block is a window on one operand's block, no bytes move.
Array dispatch_moves(const Request& request, std::span<const RegionMove> moves, const Scalar& fill = 0);

/// Collective. An operation on shapes alone whose elements keep their row-major order (reshape).
Array dispatch_reshape(const Request& request);

/// Local. x's blocks for this rank's devices of `target`, in mesh order: shared, sliced, made from a recipe, or moved there (waited for).
std::vector<LocalShard> bring(const Array& x, const Sharding& target, const Ticket& ticket);

}  // namespace meshwise::detail
