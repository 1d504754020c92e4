#pragma once
// How random operations read their key and hand out their values.

#include <functional>
#include <memory>
#include <string_view>

#include "array/recipe.hpp"
#include "meshwise/array/array.hpp"
#include "ops/kernels/random_bits.hpp"

namespace meshwise::detail {

/// Local. Throws: DtypeError, ShapeError unless `key` is uint32[2]; DonatedError.
void check_key(const Array& key, std::string_view operation);
/// Local. The words of a dense or strided uint32[2].
KeyWords read_key(const LocalArray& key);
/// Local. The words of an uncommitted key.
KeyWords uncommitted_key(const Array& key);

using GeneratorOf = std::function<std::shared_ptr<const Generator>(KeyWords key)>;

/// Collective. dtype[shape] by the generator of the key: a recipe where the key is uncommitted, else replicated on the key's devices.
/// `parameters` hashes everything else the values depend on.
Array draw(std::string_view operation, const Array& key, const Shape& shape, Dtype dtype, std::uint64_t parameters,
           const GeneratorOf& generator);

/// Collective. Like draw, with the whole value made at once by `values`.
Array draw_whole(std::string_view operation, const Array& key, const Shape& shape, Dtype dtype, std::uint64_t parameters,
                 const std::function<LocalArray(KeyWords key)>& values);

}  // namespace meshwise::detail
