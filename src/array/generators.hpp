#pragma once
// The rules of creation: constants, ranges, diagonals.

#include <cstdint>
#include <memory>

#include "array/recipe.hpp"

namespace meshwise::detail {

/// Local. `value`, converted to `dtype`, everywhere. Throws: DtypeError for an integer literal that an integer `dtype` cannot hold.
Recipe constant_recipe(const Shape& shape, const Scalar& value, Dtype dtype);
/// Local. start + i * step, `count` of them; computed in the dtype (float32 for the half types; integers exactly, wrapping).
Recipe arange_recipe(const Scalar& start, const Scalar& step, std::int64_t count, Dtype dtype);
/// Local. start * (1 - i / div) + (stop / div) * i with div = num - 1 (num without the endpoint), the last exactly stop; integers take the floor.
Recipe linspace_recipe(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, Dtype dtype);
/// Local. n x m, 1 where column - row is k.
Recipe eye_recipe(std::int64_t n, std::int64_t m, std::int64_t k, Dtype dtype);

}  // namespace meshwise::detail
