// Families of operations as rows. The order is the document's.

#include "tools/operation_rows.hpp"

#include "meshwise/ops/count.hpp"
#include "meshwise/ops/decompositions.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/linalg.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/matrix_parts.hpp"
#include "meshwise/ops/nn.hpp"
#include "meshwise/ops/norms.hpp"
#include "meshwise/ops/reduce.hpp"
#include "meshwise/ops/scan.hpp"
#include "meshwise/ops/sort.hpp"
#include "meshwise/ops/stencil.hpp"
#include "meshwise/ops/windows.hpp"

namespace meshwise::detail {

namespace {

using S = const SampleArrays&;

OperationFamily elementwise() {
  return {"Elementwise",
          {{"negative", [](S s) { return negative(s.x); }},
           {"positive", [](S s) { return positive(s.x); }},
           {"abs", [](S s) { return abs(s.x); }},
           {"sign", [](S s) { return sign(s.x); }},
           {"square", [](S s) { return square(s.x); }},
           {"reciprocal", [](S s) { return reciprocal(s.x); }},
           {"floor", [](S s) { return floor(s.x); }},
           {"ceil", [](S s) { return ceil(s.x); }},
           {"round", [](S s) { return round(s.x); }},
           {"trunc", [](S s) { return trunc(s.x); }},
           {"real", [](S s) { return real(s.x); }},
           {"imag", [](S s) { return imag(s.x); }},
           {"conj", [](S s) { return conj(s.x); }},
           {"isnan", [](S s) { return isnan(s.x); }},
           {"isinf", [](S s) { return isinf(s.x); }},
           {"isfinite", [](S s) { return isfinite(s.x); }},
           {"signbit", [](S s) { return signbit(s.x); }},
           {"sqrt", [](S s) { return sqrt(s.x); }},
           {"exp", [](S s) { return exp(s.x); }},
           {"expm1", [](S s) { return expm1(s.x); }},
           {"log", [](S s) { return log(s.x); }},
           {"log1p", [](S s) { return log1p(s.x); }},
           {"log2", [](S s) { return log2(s.x); }},
           {"log10", [](S s) { return log10(s.x); }},
           {"sin", [](S s) { return sin(s.x); }},
           {"cos", [](S s) { return cos(s.x); }},
           {"tan", [](S s) { return tan(s.x); }},
           {"asin", [](S s) { return asin(s.x); }},
           {"acos", [](S s) { return acos(s.x); }},
           {"atan", [](S s) { return atan(s.x); }},
           {"sinh", [](S s) { return sinh(s.x); }},
           {"cosh", [](S s) { return cosh(s.x); }},
           {"tanh", [](S s) { return tanh(s.x); }},
           {"asinh", [](S s) { return asinh(s.x); }},
           {"acosh", [](S s) { return acosh(s.x); }},
           {"atanh", [](S s) { return atanh(s.x); }},
           {"logical_not", [](S s) { return logical_not(s.x); }},
           {"bitwise_invert", [](S s) { return bitwise_invert(s.x); }},
           {"astype", [](S s) { return astype(s.x, float64); }},
           {"add", [](S s) { return add(s.x, s.y); }, "x, y"},
           {"subtract", [](S s) { return subtract(s.x, s.y); }, "x, y"},
           {"multiply", [](S s) { return multiply(s.x, s.y); }, "x, y"},
           {"divide", [](S s) { return divide(s.x, s.y); }, "x, y"},
           {"floor_divide", [](S s) { return floor_divide(s.x, s.y); }, "x, y"},
           {"remainder", [](S s) { return remainder(s.x, s.y); }, "x, y"},
           {"pow", [](S s) { return pow(s.x, s.y); }, "x, y"},
           {"maximum", [](S s) { return maximum(s.x, s.y); }, "x, y"},
           {"minimum", [](S s) { return minimum(s.x, s.y); }, "x, y"},
           {"atan2", [](S s) { return atan2(s.x, s.y); }, "x, y"},
           {"hypot", [](S s) { return hypot(s.x, s.y); }, "x, y"},
           {"logaddexp", [](S s) { return logaddexp(s.x, s.y); }, "x, y"},
           {"copysign", [](S s) { return copysign(s.x, s.y); }, "x, y"},
           {"nextafter", [](S s) { return nextafter(s.x, s.y); }, "x, y"},
           {"equal", [](S s) { return equal(s.x, s.y); }, "x, y"},
           {"not_equal", [](S s) { return not_equal(s.x, s.y); }, "x, y"},
           {"less", [](S s) { return less(s.x, s.y); }, "x, y"},
           {"less_equal", [](S s) { return less_equal(s.x, s.y); }, "x, y"},
           {"greater", [](S s) { return greater(s.x, s.y); }, "x, y"},
           {"greater_equal", [](S s) { return greater_equal(s.x, s.y); }, "x, y"},
           {"logical_and", [](S s) { return logical_and(s.x, s.y); }, "x, y"},
           {"logical_or", [](S s) { return logical_or(s.x, s.y); }, "x, y"},
           {"logical_xor", [](S s) { return logical_xor(s.x, s.y); }, "x, y"},
           {"bitwise_and", [](S s) { return bitwise_and(s.x, s.y); }, "x, y"},
           {"bitwise_or", [](S s) { return bitwise_or(s.x, s.y); }, "x, y"},
           {"bitwise_xor", [](S s) { return bitwise_xor(s.x, s.y); }, "x, y"},
           {"bitwise_left_shift", [](S s) { return bitwise_left_shift(s.x, s.y); }, "x, y"},
           {"bitwise_right_shift", [](S s) { return bitwise_right_shift(s.x, s.y); }, "x, y"},
           {"where", [](S s) { return where(s.truths, s.x, s.y); }, "truths, x, y"},
           {"clip", [](S s) { return clip(s.x, s.y, {}); }, "x, y"}}};
}

OperationFamily statistics() {
  return {"Statistics",
          {{"sum", [](S s) { return sum(s.x, {1}); }},
           {"prod", [](S s) { return prod(s.x, {1}); }},
           {"mean", [](S s) { return mean(s.x, {1}); }},
           {"var", [](S s) { return var(s.x, {1}); }},
           {"stddev", [](S s) { return stddev(s.x, {1}); }},
           {"max", [](S s) { return max(s.x, {1}); }},
           {"min", [](S s) { return min(s.x, {1}); }},
           {"all", [](S s) { return all(s.x, {1}); }},
           {"any", [](S s) { return any(s.x, {1}); }},
           {"count_nonzero", [](S s) { return count_nonzero(s.x, {1}); }},
           {"argmax", [](S s) { return argmax(s.x, 1); }},
           {"argmin", [](S s) { return argmin(s.x, 1); }},
           {"cumulative_sum", [](S s) { return cumulative_sum(s.x, 1); }},
           {"cumulative_prod", [](S s) { return cumulative_prod(s.x, 1); }},
           {"diff", [](S s) { return diff(s.x, 1); }},
           {"bincount", [](S s) { return bincount(s.indices, {}, 0, 8); }, "indices"},
           {"histogram", {}, "x", "counts of all elements, whole on every device: each adds its own, the sums move"}}};
}

OperationFamily linear_algebra() {
  return {"Linear algebra",
          {{"matmul", [](S s) { return matmul(s.x, s.matrix); }, "x, matrix"},
           {"dot", [](S s) { return dot(s.x, s.matrix); }, "x, matrix"},
           {"einsum",
            [](S s) {
              return einsum("ij,jk->ki", {s.x, s.matrix});
            },
            "x, matrix"},
           {"tensordot", [](S s) { return tensordot(s.x, s.matrix, 1); }, "x, matrix"},
           {"vecdot", [](S s) { return vecdot(s.x, s.y); }, "x, y"},
           {"outer", [](S s) { return outer(s.vector, s.small); }, "vector, small"},
           {"linalg::cholesky", [](S s) { return linalg::cholesky(s.matrix); }, "matrix"},
           {"linalg::qr", [](S s) { return linalg::qr(s.matrix).q; }, "matrix"},
           {"linalg::eigh", [](S s) { return linalg::eigh(s.matrix).eigenvectors; }, "matrix"},
           {"linalg::eigvalsh", [](S s) { return linalg::eigvalsh(s.matrix); }, "matrix"},
           {"linalg::svd", [](S s) { return linalg::svd(s.matrix, false).u; }, "matrix"},
           {"linalg::svdvals", [](S s) { return linalg::svdvals(s.matrix); }, "matrix"},
           {"linalg::solve", [](S s) { return linalg::solve(s.matrix, s.vector); }, "matrix, vector"},
           {"linalg::inv", [](S s) { return linalg::inv(s.matrix); }, "matrix"},
           {"linalg::pinv", [](S s) { return linalg::pinv(s.matrix); }, "matrix"},
           {"linalg::det", [](S s) { return linalg::det(s.matrix); }, "matrix"},
           {"linalg::slogdet", [](S s) { return linalg::slogdet(s.matrix).logabsdet; }, "matrix"},
           {"linalg::matrix_rank", [](S s) { return linalg::matrix_rank(s.matrix); }, "matrix"},
           {"linalg::matrix_power", [](S s) { return linalg::matrix_power(s.matrix, 3); }, "matrix"},
           {"linalg::vector_norm", [](S s) { return linalg::vector_norm(s.x, {1}); }},
           {"linalg::matrix_norm", [](S s) { return linalg::matrix_norm(s.x); }},
           {"linalg::cross", [](S s) { return linalg::cross(s.x[Slice(0, 3)], s.y[Slice(0, 3)], 0); }, "x, y"},
           {"tril", [](S s) { return tril(s.matrix); }, "matrix"},
           {"triu", [](S s) { return triu(s.matrix); }, "matrix"},
           {"diagonal", [](S s) { return diagonal(s.matrix); }, "matrix"},
           {"trace", [](S s) { return trace(s.matrix); }, "matrix"}}};
}

OperationFamily manipulation() {
  return {"Shapes",
          {{"reshape", [](S s) { return reshape(s.x, {-1}); }},
           {"transpose", [](S s) { return transpose(s.x); }},
           {"permute_dims",
            [](S s) {
              return permute_dims(s.x, {1, 0});
            }},
           {"matrix_transpose", [](S s) { return matrix_transpose(s.x); }},
           {"moveaxis", [](S s) { return moveaxis(s.x, 0, 1); }},
           {"swapaxes", [](S s) { return swapaxes(s.x, 0, 1); }},
           {"expand_dims", [](S s) { return expand_dims(s.x, 0); }},
           {"squeeze", [](S s) { return squeeze(expand_dims(s.x, 0), {0}); }},
           {"broadcast_to", [](S s) { return broadcast_to(s.small, s.x.shape()); }, "small"},
           {"broadcast_arrays",
            [](S s) {
              return broadcast_arrays({s.x, s.small})[1];
            },
            "x, small"},
           {"concatenate",
            [](S s) {
              return concatenate({s.x, s.y}, 0);
            },
            "x, y"},
           {"concat",
            [](S s) {
              return concat({s.x, s.y}, 1);
            },
            "x, y"},
           {"stack",
            [](S s) {
              return stack({s.x, s.y});
            },
            "x, y"},
           {"unstack", [](S s) { return unstack(s.x[Slice(0, 4)])[0]; }},
           {"split", [](S s) { return split(s.x, 2)[0]; }},
           {"array_split", [](S s) { return array_split(s.x, 3)[0]; }},
           {"tile",
            [](S s) {
              return tile(s.x, {2, 1});
            }},
           {"repeat", [](S s) { return repeat(s.x, 2, 0); }},
           {"flip", [](S s) { return flip(s.x, {0}); }},
           {"roll", [](S s) { return roll(s.x, 1, 0); }},
           {"pad",
            [](S s) {
              return pad(s.x, {{1, 1}, {0, 0}});
            }},
           {"meshgrid",
            [](S s) {
              return meshgrid({s.vector, s.small})[0];
            },
            "vector, small"}}};
}

OperationFamily indexing() {
  return {"Indexing and searching",
          {{"getitem", [](S s) { return getitem(s.x, {Slice(1, -1)}); }},
           {"slice",
            [](S s) {
              return slice(s.x, {1, 0}, {s.x.shape()[0] - 1, s.x.shape()[1]});
            }},
           {"take", [](S s) { return take(s.x, s.indices, 1); }, "x, indices"},
           {"take_along_axis",
            [](S s) {
              return take_along_axis(s.x, broadcast_to(s.indices, {s.x.shape()[0], s.indices.size()}), 1);
            },
            "x, indices"},
           {"dynamic_slice",
            [](S s) {
              return dynamic_slice(s.x, {2, 0}, {4, s.x.shape()[1]});
            }},
           {"dynamic_update_slice",
            [](S s) {
              return dynamic_update_slice(s.x, s.y[Slice(0, 2)], {3, 0});
            },
            "x, y"},
           {"nonzero", {}, "x", "counted first (Synchronising); the indices, which each device finds in its block, go to every device"},
           {"at", [](S s) { return at(s.x, {Slice(0, 3)}).set(0); }},
           {"searchsorted", [](S s) { return searchsorted(s.vector, s.x); }, "vector, x"},
           {"digitize", [](S s) { return digitize(s.x, s.vector); }, "x, vector"}}};
}

OperationFamily neighbours() {
  return {"Neighbours",
          {{"shift", [](S s) { return shift(s.x, 1, 0); }},
           {"stencil",
            [](S s) {
              return stencil(s.x, {{1, 1}, {0, 0}}, [](const LocalArray& wide) { return wide; });
            }},
           {"window_sum",
            [](S s) {
              return window_sum(s.x, {3, 1});
            }},
           {"window_mean",
            [](S s) {
              return window_mean(s.x, {3, 1});
            }},
           {"window_max",
            [](S s) {
              return window_max(s.x, {3, 1});
            }},
           {"window_min", [](S s) {
              return window_min(s.x, {3, 1});
            }}}};
}

OperationFamily sorting() {
  constexpr std::string_view counted = "counted first (Synchronising); whole on every device: x is gathered and sorted";
  return {"Sorting and sets",
          {{"sort", [](S s) { return sort(s.vector); }, "vector"},
           {"argsort", [](S s) { return argsort(s.vector); }, "vector"},
           {"unique_values", {}, "x", counted},
           {"unique_all", {}, "x", counted},
           {"unique_counts", {}, "x", counted},
           {"unique_inverse", {}, "x", counted}}};
}

OperationFamily networks() {
  return {"Neural networks",
          {{"softmax", [](S s) { return softmax(s.x); }},
           {"log_softmax", [](S s) { return log_softmax(s.x); }},
           {"logsumexp", [](S s) { return logsumexp(s.x, {1}); }},
           {"one_hot", [](S s) { return one_hot(s.indices, 8); }, "indices"},
           {"relu", [](S s) { return relu(s.x); }},
           {"gelu", [](S s) { return gelu(s.x); }},
           {"sigmoid", [](S s) { return sigmoid(s.x); }}}};
}

OperationFamily random_numbers() {
  constexpr std::string_view drawn = "uncommitted: every device that the result is put on computes its own part, nothing moves";
  return {"Random numbers",
          {{"random::key", {}, "", drawn},
           {"random::split", {}, "", drawn},
           {"random::fold_in", {}, "", drawn},
           {"random::bits", {}, "", drawn},
           {"random::uniform", {}, "", drawn},
           {"random::normal", {}, "", drawn},
           {"random::randint", {}, "", drawn},
           {"random::bernoulli", {}, "", drawn},
           {"random::permutation", {}, "", "of n: drawn; of an array: rows move to where they belong"}}};
}

}  // namespace

std::vector<OperationFamily> operation_families() {
  return {elementwise(), statistics(), linear_algebra(), manipulation(), indexing(), neighbours(), sorting(), networks(), random_numbers()};
}

}  // namespace meshwise::detail
