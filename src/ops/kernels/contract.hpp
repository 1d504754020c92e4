#pragma once
// Contractions: any two arrays whose axes carry letters, the letters of the result saying which stay.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

/// Local. A matrix in memory: element (i, j) is i * row_step + j * column_step elements from `data`. Steps of any sign, 0 too.
struct MatrixView {
  const std::byte* data;
  std::int64_t rows, columns;
  std::int64_t row_step, column_step;
};

/// Local. In which order products are summed: as is fastest (BLAS), or one after the other along the contracted axis.
enum class SumOrder : std::uint8_t { any, fixed };

/// Local. out = a b, or with `add` out += a b; dense row-major (a.rows, b.columns). Floats by BLAS, in their own precision; integers wrap; bool is or of ands.
void run_gemm(Dtype dtype, const MatrixView& a, const MatrixView& b, std::byte* out, bool add = false, SumOrder order = SumOrder::any);

/// Local. What products of `work` elements are summed in: float32 for the 16-bit floats, else `work`.
Dtype contraction_accumulator(Dtype work);

/// Local. Adds partial products of dtype `accumulator` (bool: or): what devices that each hold a part of the contracted axes combine by.
void (*contraction_merge(Dtype accumulator))(std::byte* sums, const std::byte* others, std::int64_t count);

/// Local. `subscripts` "ij,jk->ik": the sum over letters that the result lacks, the operands multiplied from the left. Operands of any dtypes and strides,
/// converted to `work` first. Equal letters have equal lengths, or one of them 1. Returns a dense array of contraction_accumulator(work), or a window
/// on an operand that has nothing done to it.
LocalArray run_contract(std::string_view subscripts, Dtype work, std::span<const LocalArray> operands, SumOrder order = SumOrder::any);

/// Local. Adds to `sums`, which run_contract returned for other parts of the contracted axes; without a second array of its size for products of two operands
/// whose letters are in the result's order.
void add_contract(std::string_view subscripts, Dtype work, std::span<const LocalArray> operands, LocalArray& sums, SumOrder order = SumOrder::any);

}  // namespace meshwise::detail
