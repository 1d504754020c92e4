#pragma once
// Norms, and the cross product.

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise::linalg {

/// Collective. (sum |x|^order)^(1 / order) over axes (all if none are named): order infinity is the largest modulus, -infinity the least, 0 how many are not 0. Real. Throws: IndexError.
Array vector_norm(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, double order = 2);
/// Collective. Of the matrices in the last two axes, real: the root of the sum of squares ("fro"), the sum of singular values ("nuc"); 1 and -1 the largest and least sum of moduli in
/// a column, infinity and -infinity in a row, 2 and -2 the largest and least singular value. Throws: ShapeError below two axes, Error for another order.
Array matrix_norm(const Array& x, bool keepdims = false, std::string_view order = "fro");
Array matrix_norm(const Array& x, bool keepdims, double order);
/// Collective. Of vectors of three along an axis; the other axes broadcast. Throws: ShapeError for another length.
Array cross(const Array& x, const Array& y, std::int64_t axis = -1);

}  // namespace meshwise::linalg
