#pragma once
// LAPACK on blocks of matrices, one after the other. What several arrays make up comes in one: each matrix's results row-major, one behind the other.

#include <cstdint>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

/// Local. Dense [..., m, n] of float32, float64, complex64 or complex128 -> [..., 1, total]. A matrix that LAPACK refuses gives NaN.
LocalArray run_cholesky(const LocalArray& x, bool upper);               // n n
LocalArray run_qr(const LocalArray& x, bool complete);                  // q: m k, r: k n
LocalArray run_eigh(const LocalArray& x);                               // eigenvalues: n, eigenvectors: n n
LocalArray run_svd(const LocalArray& x, bool full_matrices);            // u: m p, s: k, vh: q n
LocalArray run_determinant(const LocalArray& x);                        // sign: 1, logarithm of the modulus: 1
LocalArray run_solve(const LocalArray& matrices, const LocalArray& b);  // n k; the same batches

/// Local. The r, [n, n], of a dense [m, n] that is at least as tall as wide, which becomes its q, or is used up. Rows of memory are columns to LAPACK, and
/// x = q r is r^T q^T to it: no copy in another order.
LocalArray factor_tall(const LocalArray& x, bool want_q);

}  // namespace meshwise::detail
