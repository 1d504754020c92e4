#pragma once
// Random numbers, JAX's threefry: every element is a function of (key, linear index) only, so no layout changes a value.

#include <cstdint>
#include <optional>

#include "meshwise/array/array.hpp"
#include "meshwise/array/create.hpp"

namespace meshwise::random {

// Keys are uint32[2] arrays and pure values: the same key gives the same draws, always. Draws from an uncommitted key are uncommitted and
// have no memory until placed, and then each device computes its own box only. Draws from a committed key are committed to its devices, replicated.
// Every function throws DtypeError or ShapeError where the key is no uint32[2].

/// Collective. -> uint32[2]: the key of a 64-bit seed.
Array key(std::int64_t seed);
/// Collective. uint32[2] -> uint32[shape..., 2]: new keys; split(k, 5)[:2] equals split(k, 2). Do not split and fold_in the same key.
Array split(const Array& key, const Shape& shape);
Array split(const Array& key, std::int64_t num = 2);
/// Collective. uint32[2] -> uint32[2]: the key for the data-th step of a loop (data modulo 2^32).
Array fold_in(const Array& key, std::int64_t data);

/// Collective. -> dtype[shape], all values equally likely. Throws: DtypeError unless the dtype is unsigned.
Array bits(const Array& key, const Shape& shape = {}, Dtype dtype = uint32);
/// Collective. -> dtype[shape] in [minval, maxval), floating dtypes. maxval is not excluded by rounding: uniform(k, s, float32, 1000, 1001) can give 1001.
Array uniform(const Array& key, const Shape& shape = {}, Dtype dtype = float32, const Scalar& minval = 0, const Scalar& maxval = 1);
/// Collective. -> dtype[shape], standard normal, floating dtypes, by the inverse error function (Giles 2011); within 3 ulp of JAX, whose logarithm differs.
Array normal(const Array& key, const Shape& shape = {}, Dtype dtype = float32);
/// Collective. -> dtype[shape], integers in [minval, maxval); maxval <= minval gives minval.
Array randint(const Array& key, const Shape& shape, const Scalar& minval, const Scalar& maxval, Dtype dtype = int32);
/// Collective. -> bool[shape], true with probability p: uniform of `p_dtype` below p.
Array bernoulli(const Array& key, const Scalar& p = 0.5, const Shape& shape = {}, Dtype p_dtype = float32);

/// Collective. -> int32[n] (int64 from 2^31 on): 0..n-1 in random order. Every rank sorts n pairs.
Array permutation(const Array& key, std::int64_t n);
/// Collective. x with its slices along `axis` in random order; independent: each line along `axis` in an order of its own (the axis is brought together
/// for that). x's spec stays. Throws: IndexError for an axis out of range.
Array permutation(const Array& key, const Array& x, std::int64_t axis = 0, bool independent = false);

}  // namespace meshwise::random
