// One matrix product: OpenBLAS where it has the type and the sizes fit its 32-bit integers, a plain blocked loop elsewhere.

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>

#include "ops/kernels/contract.hpp"
#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t most = std::numeric_limits<int>::max();

/// How BLAS is told of a matrix.
struct BlasMatrix {
  const void* data;
  CBLAS_TRANSPOSE transpose;
  int leading;
};

std::optional<BlasMatrix> as_blas(const MatrixView& m) {
  const auto fits = [](std::int64_t step, std::int64_t least) { return step >= least && step <= most; };
  const auto row_step = m.rows == 1 ? std::max<std::int64_t>(m.columns, 1) : m.row_step;
  if ((m.column_step == 1 || m.columns == 1) && fits(row_step, std::max<std::int64_t>(m.columns, 1)))
    return BlasMatrix{m.data, CblasNoTrans, static_cast<int>(row_step)};
  const auto column_step = m.columns == 1 ? std::max<std::int64_t>(m.rows, 1) : m.column_step;
  if ((m.row_step == 1 || m.rows == 1) && fits(column_step, std::max<std::int64_t>(m.rows, 1)))
    return BlasMatrix{m.data, CblasTrans, static_cast<int>(column_step)};
  return std::nullopt;
}

template <class T>
struct Blas;
template <>
struct Blas<float> {
  static void gemm(const BlasMatrix& a, const BlasMatrix& b, int m, int n, int k, void* out, bool add) {
    cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, 1.0f, static_cast<const float*>(a.data), a.leading,
                static_cast<const float*>(b.data), b.leading, add ? 1.0f : 0.0f, static_cast<float*>(out), n);
  }
  static void gemv(const BlasMatrix& a, CBLAS_TRANSPOSE transpose, int rows, int columns, const void* x, int step, void* out, bool add) {
    cblas_sgemv(CblasRowMajor, transpose, rows, columns, 1.0f, static_cast<const float*>(a.data), a.leading, static_cast<const float*>(x),
                step, add ? 1.0f : 0.0f, static_cast<float*>(out), 1);
  }
};
template <>
struct Blas<double> {
  static void gemm(const BlasMatrix& a, const BlasMatrix& b, int m, int n, int k, void* out, bool add) {
    cblas_dgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, 1.0, static_cast<const double*>(a.data), a.leading,
                static_cast<const double*>(b.data), b.leading, add ? 1.0 : 0.0, static_cast<double*>(out), n);
  }
  static void gemv(const BlasMatrix& a, CBLAS_TRANSPOSE transpose, int rows, int columns, const void* x, int step, void* out, bool add) {
    cblas_dgemv(CblasRowMajor, transpose, rows, columns, 1.0, static_cast<const double*>(a.data), a.leading, static_cast<const double*>(x),
                step, add ? 1.0 : 0.0, static_cast<double*>(out), 1);
  }
};
template <class T>
struct Blas<std::complex<T>> {
  static constexpr std::complex<T> one{1}, zero{0};
  static void gemm(const BlasMatrix& a, const BlasMatrix& b, int m, int n, int k, void* out, bool add) {
    if constexpr (std::same_as<T, float>)
      cblas_cgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, &one, a.data, a.leading, b.data, b.leading, add ? &one : &zero, out, n);
    else
      cblas_zgemm(CblasRowMajor, a.transpose, b.transpose, m, n, k, &one, a.data, a.leading, b.data, b.leading, add ? &one : &zero, out, n);
  }
  static void gemv(const BlasMatrix& a, CBLAS_TRANSPOSE transpose, int rows, int columns, const void* x, int step, void* out, bool add) {
    if constexpr (std::same_as<T, float>)
      cblas_cgemv(CblasRowMajor, transpose, rows, columns, &one, a.data, a.leading, x, step, add ? &one : &zero, out, 1);
    else
      cblas_zgemv(CblasRowMajor, transpose, rows, columns, &one, a.data, a.leading, x, step, add ? &one : &zero, out, 1);
  }
};

/// Sums that begin with 0 are never -0, but some machines' kernels for complex numbers end in a difference the other way round.
template <class T>
void without_negative_zeros(std::byte* out, std::int64_t count) {
  if constexpr (is_complex_v<T>) {
    auto* const parts = reinterpret_cast<typename T::value_type*>(out);
    for (std::int64_t i = 0; i < 2 * count; ++i) parts[i] += 0;
  }
}

/// matrix (rows, columns) times a vector of `columns` elements.
template <class T>
bool blas_matrix_vector(const MatrixView& matrix, const std::byte* vector, std::int64_t step, std::byte* out, bool add) {
  const auto m = as_blas(matrix);
  if (!m || step < 1 || step > most || matrix.rows > most || matrix.columns > most) return false;
  const bool flipped = m->transpose == CblasTrans;
  const auto rows = static_cast<int>(flipped ? matrix.columns : matrix.rows),
             columns = static_cast<int>(flipped ? matrix.rows : matrix.columns);
  // Some BLAS multiply what is in the result by 0, and NaN stays NaN.
  if (!add) std::memset(out, 0, static_cast<std::size_t>(matrix.rows) * sizeof(T));
  Blas<T>::gemv(*m, flipped ? CblasTrans : CblasNoTrans, rows, columns, vector, static_cast<int>(step), out, add);
  without_negative_zeros<T>(out, matrix.rows);
  return true;
}

template <class T>
bool blas_product(const MatrixView& a, const MatrixView& b, std::byte* out, bool add) {
  if (b.columns == 1) return blas_matrix_vector<T>(a, b.data, b.rows == 1 ? 1 : b.row_step, out, add);
  if (a.rows == 1)
    return blas_matrix_vector<T>({b.data, b.columns, b.rows, b.column_step, b.row_step}, a.data, a.columns == 1 ? 1 : a.column_step, out, add);
  const auto left = as_blas(a), right = as_blas(b);
  if (!left || !right || a.rows > most || a.columns > most || b.columns > most) return false;
  Blas<T>::gemm(*left, *right, static_cast<int>(a.rows), static_cast<int>(b.columns), static_cast<int>(a.columns), out, add);
  without_negative_zeros<T>(out, a.rows * b.columns);
  return true;
}

template <class T>
T accumulated(T sum, T x, T y) {
  if constexpr (std::same_as<T, bool>)
    return sum | (x & y);
  else if constexpr (std::integral<T>)
    return static_cast<T>(wrapping(sum) + wrapping(x) * wrapping(y));
  else if constexpr (is_complex_v<T>)
    return sum + T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  else
    return sum + x * y;
}

/// Few columns: a sum for each element.
template <class T>
void plain_dots(const MatrixView& a, const MatrixView& b, T* out, bool add) {
  const auto* x = reinterpret_cast<const T*>(a.data);
  const auto* y = reinterpret_cast<const T*>(b.data);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.columns; ++j) {
      T sum = add ? *out : T{};
      for (std::int64_t k = 0; k < a.columns; ++k)
        sum = accumulated(sum, x[i * a.row_step + k * a.column_step], y[k * b.row_step + j * b.column_step]);
      *out++ = sum;
    }
}

/// Many columns: rows of b, scaled, are added to rows of the result; a block of b stays in cache.
template <class T>
void plain_rows(const MatrixView& a, const MatrixView& b, T* out, bool add) {
  constexpr std::int64_t deep = 32, wide = 256;
  T block[deep * wide];
  const auto* x = reinterpret_cast<const T*>(a.data);
  const auto* y = reinterpret_cast<const T*>(b.data);
  if (!add) std::fill_n(out, a.rows * b.columns, T{});
  for (std::int64_t j0 = 0; j0 < b.columns; j0 += wide)
    for (std::int64_t k0 = 0; k0 < a.columns; k0 += deep) {
      const auto columns = std::min(wide, b.columns - j0), depth = std::min(deep, a.columns - k0);
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < columns; ++j) block[k * columns + j] = y[(k0 + k) * b.row_step + (j0 + j) * b.column_step];
      for (std::int64_t i = 0; i < a.rows; ++i) {
        T* __restrict row = out + i * b.columns + j0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const T factor = x[i * a.row_step + (k0 + k) * a.column_step];
          const T* __restrict from = block + k * columns;
          for (std::int64_t j = 0; j < columns; ++j) row[j] = accumulated(row[j], factor, from[j]);
        }
      }
    }
}

/// A dense copy, for BLAS.
template <class T>
MatrixView dense(const MatrixView& m, LocalArray& into) {
  into = LocalArray(Shape{m.rows, m.columns}, dtype_of<T>());
  const auto* x = reinterpret_cast<const T*>(m.data);
  auto* out = reinterpret_cast<T*>(into.data());
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.columns; ++j) *out++ = x[i * m.row_step + j * m.column_step];
  return {into.data(), m.rows, m.columns, m.columns, 1};
}

template <class T>
void product(const MatrixView& a, const MatrixView& b, std::byte* out, bool add, SumOrder order) {
  if constexpr (std::floating_point<T> || is_complex_v<T>) if (order == SumOrder::any) {
    if (blas_product<T>(a, b, out, add)) return;
    LocalArray left, right;
    if (blas_product<T>(as_blas(a) ? a : dense<T>(a, left), dense<T>(b, right), out, add)) return;
  }
  constexpr std::int64_t few = 8;
  if (b.columns < few)
    plain_dots(a, b, reinterpret_cast<T*>(out), add);
  else
    plain_rows(a, b, reinterpret_cast<T*>(out), add);
}

template <class T>
void merge(std::byte* sums, const std::byte* others, std::int64_t count) {
  T* __restrict a = reinterpret_cast<T*>(sums);
  const T* __restrict b = reinterpret_cast<const T*>(others);
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::same_as<T, bool>)
      a[i] = a[i] | b[i];
    else if constexpr (std::integral<T>)
      a[i] = static_cast<T>(wrapping(a[i]) + wrapping(b[i]));
    else
      a[i] += b[i];
  }
}

}  // namespace

void (*contraction_merge(Dtype accumulator))(std::byte*, const std::byte*, std::int64_t) {
  return visit(accumulator, [](auto tag) -> void (*)(std::byte*, const std::byte*, std::int64_t) {
    using T = typename decltype(tag)::type;
    if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>)
      return nullptr;
    else
      return &merge<T>;
  });
}

void run_gemm(Dtype dtype, const MatrixView& a, const MatrixView& b, std::byte* out, bool add, SumOrder order) {
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) {
    if (!add) std::memset(out, 0, static_cast<std::size_t>(a.rows * b.columns) * itemsize(dtype));
    return;
  }
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::same_as<T, float16_t> && !std::same_as<T, bfloat16_t>) product<T>(a, b, out, add, order);
  });
}

}  // namespace meshwise::detail
