#pragma once
// Parts of matrices, which the last two axes are; the axes before them are batches.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective. [..., m, n] with zeros above (below) diagonal k: elements [i, j] with j > i + k (j < i + k). No bytes move. All throw ShapeError below two axes.
Array tril(const Array& x, std::int64_t k = 0);
Array triu(const Array& x, std::int64_t k = 0);
/// Collective. [..., m, n] -> [..., d]: the elements [i, i + offset].
Array diagonal(const Array& x, std::int64_t offset = 0);
/// Collective. [..., m, n] -> [...]: their sum, in sum's dtype.
Array trace(const Array& x, std::int64_t offset = 0, std::optional<Dtype> dtype = {});
/// Collective. Of vectors [n0], [n1], ... as many arrays of shape [n0, n1, ...] ("ij"), or [n1, n0, ...] ("xy"), each varying along its own axis. Throws: ShapeError
/// for other arrays, Error for another word.
std::vector<Array> meshgrid(const std::vector<Array>& vectors, std::string_view indexing = "xy");

}  // namespace meshwise
