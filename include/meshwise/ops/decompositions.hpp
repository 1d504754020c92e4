#pragma once
// Factorisations of matrices that fit a device, by LAPACK; tall ones may be cut along their rows. The last two axes are the matrix, those before them batches, which
// stay cut as they are. Elsewhere a matrix that is cut is brought together first (on Explicit axes: ShardingTypeError).
//
//   linalg::qr(float32[1000000@x,32]) -> q float32[1000000@x,32], r float32[32,32]: each device factorises its rows, and 32 rows of each are gathered
//
// Integers are float32 first (64-bit ones float64); the 16-bit floats compute in float32 and round once. Where a matrix has no such factorisation (cholesky: not positive
// definite; solve, inv: singular) its result is NaN. All throw ShapeError for other shapes, DtypeError, ShardingTypeError, DonatedError.

#include <cstdint>
#include <optional>

#include "meshwise/array/array.hpp"

namespace meshwise::linalg {

/// Collective. Hermitian positive definite [..., n, n] -> lower l with l l^H = x, or upper u with u^H u = x; the other triangle of x is not read.
Array cholesky(const Array& x, bool upper = false);

struct Qr {
  Array q, r;
};
enum class QrMode : std::uint8_t { reduced, complete };
/// Collective. [..., m, n] -> q [..., m, k] with orthonormal columns and r [..., k, n], upper triangular, k = min(m, n); complete: k = m.
Qr qr(const Array& x, QrMode mode = QrMode::reduced);

struct Eigh {
  Array eigenvalues, eigenvectors;
};
/// Collective. Hermitian [..., n, n] -> eigenvalues [..., n], real, ascending, and eigenvectors [..., n, n], one a column; the lower triangle is read.
Eigh eigh(const Array& x);
Array eigvalsh(const Array& x);

struct Svd {
  Array u, s, vh;
};
/// Collective. [..., m, n] -> u [..., m, m], s [..., k], real, descending, vh [..., n, n], k = min(m, n), with x = u[:, :k] s vh[:k]; without `full_matrices` u is [..., m, k]
/// and vh [..., k, n].
Svd svd(const Array& x, bool full_matrices = true);
Array svdvals(const Array& x);

/// Collective. y with x y = b: x [..., n, n], b [n] or [..., n, k]; batches broadcast.
Array solve(const Array& x, const Array& b);
/// Collective. [..., n, n] -> its inverse; and, for any [..., m, n], the Moore-Penrose inverse [..., n, m]: singular values up to rtol (default: max(m, n) eps) of the largest count as 0.
Array inv(const Array& x);
Array pinv(const Array& x, std::optional<double> rtol = {});
/// Collective. [..., n, n] -> [...]: the determinant; its sign (of complex matrices its phase) and the logarithm of its modulus.
Array det(const Array& x);
struct Slogdet {
  Array sign, logabsdet;
};
Slogdet slogdet(const Array& x);
/// Collective. [..., m, n] -> int32[...]: how many singular values are above rtol (default: max(m, n) eps) of the largest.
Array matrix_rank(const Array& x, std::optional<double> rtol = {});
/// Collective. [..., n, n] multiplied by itself; a negative power is the inverse's.
Array matrix_power(const Array& x, std::int64_t power);

}  // namespace meshwise::linalg
