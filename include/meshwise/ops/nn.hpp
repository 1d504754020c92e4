#pragma once
// What neural networks are made of beside products; each result lies as its operand.

#include <cstdint>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective. log(sum(exp(x))) over axes (all if none are named), and never overflows: exp is taken of the distance to the largest. Integers are float32 first. All
/// throw IndexError, DtypeError, DonatedError.
Array logsumexp(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
/// Collective. exp(x) / sum(exp(x)) along an axis, and its logarithm.
Array softmax(const Array& x, std::int64_t axis = -1);
Array log_softmax(const Array& x, std::int64_t axis = -1);
/// Collective. Integers [...] -> [..., classes]: 1 at the integer's place along the last axis, else 0; nothing where it has none.
Array one_hot(const Array& x, std::int64_t classes, Dtype dtype = float32);
/// Collective. The larger of x and 0; x times the probability that a normal number is below it (Hendrycks and Gimpel 2016, its tanh form); 1 / (1 + exp(-x)).
Array relu(const Array& x);
Array gelu(const Array& x);
Array sigmoid(const Array& x);

}  // namespace meshwise
