#include "ops/kernels/lapack.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

using C64 = std::complex<float>;
using C128 = std::complex<double>;

// The Fortran names, as every LAPACK has them: arguments by address, matrices column by column.
#define MESHWISE_LAPACK(s, T, R, unitary, hermitian)                                                         \
  void s##potrf_(const char*, const int*, T*, const int*, int*);                                             \
  void s##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                          \
  void s##unitary##gqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*); \
  void s##gelqf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                          \
  void s##unitary##glq_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*); \
  void s##getrf_(const int*, const int*, T*, const int*, int*, int*);                                        \
  void s##gesv_(const int*, const int*, T*, const int*, int*, T*, const int*, int*);
extern "C" {
MESHWISE_LAPACK(s, float, float, or, sy)
MESHWISE_LAPACK(d, double, double, or, sy)
MESHWISE_LAPACK(c, C64, float, un, he)
MESHWISE_LAPACK(z, C128, double, un, he)
void ssyevd_(const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*, const int*, int*);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*, int*);
void cheevd_(const char*, const char*, const int*, C64*, const int*, float*, C64*, const int*, float*, const int*, int*, const int*, int*);
void zheevd_(const char*, const char*, const int*, C128*, const int*, double*, C128*, const int*, double*, const int*, int*, const int*,
             int*);
void sgesdd_(const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*, const int*, float*, const int*,
             int*, int*);
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*, const int*, double*,
             const int*, int*, int*);
void cgesdd_(const char*, const int*, const int*, C64*, const int*, float*, C64*, const int*, C64*, const int*, C64*, const int*, float*,
             int*, int*);
void zgesdd_(const char*, const int*, const int*, C128*, const int*, double*, C128*, const int*, C128*, const int*, C128*, const int*,
             double*, int*, int*);
}
#undef MESHWISE_LAPACK

namespace meshwise::detail {

namespace {

template <class T>
struct Real {
  using type = T;
};
template <class T>
struct Real<std::complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename Real<T>::type;

template <class T>
struct Lapack;
#define MESHWISE_LAPACK(s, T, unitary)              \
  template <>                                       \
  struct Lapack<T> {                                \
    static constexpr auto potrf = s##potrf_;        \
    static constexpr auto geqrf = s##geqrf_;        \
    static constexpr auto ungqr = s##unitary##gqr_; \
    static constexpr auto gelqf = s##gelqf_;        \
    static constexpr auto unglq = s##unitary##glq_; \
    static constexpr auto getrf = s##getrf_;        \
    static constexpr auto gesv = s##gesv_;          \
  };
MESHWISE_LAPACK(s, float, or)
MESHWISE_LAPACK(d, double, or)
MESHWISE_LAPACK(c, C64, un)
MESHWISE_LAPACK(z, C128, un)
#undef MESHWISE_LAPACK

// A matrix column by column.
template <class T>
struct Columns {
  Columns(std::int64_t m, std::int64_t n)
      : rows(static_cast<int>(m)), columns(static_cast<int>(n)), values(static_cast<std::size_t>(m * n)) {}
  T* data() { return values.data(); }
  int leading() const { return std::max(rows, 1); }
  T& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(j * rows + i)]; }
  void read(const T* from) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) (*this)(i, j) = *from++;
  }
  T* write(T* to) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) *to++ = (*this)(i, j);
    return to;
  }
  int rows, columns;
  std::vector<T> values;
};

// Calls with a workspace whose size LAPACK says first.
template <class T, class Call>
int with_workspace(Call&& call) {
  T asked{};
  int info = 0, length = -1;
  call(&asked, &length, &info);
  length = std::max(1, static_cast<int>(std::real(asked)));
  std::vector<T> work(static_cast<std::size_t>(length));
  call(work.data(), &length, &info);
  return info;
}

template <class T>
int cholesky(Columns<T>& a, bool upper) {
  const int leading = a.leading();
  int info = 0;
  Lapack<T>::potrf(upper ? "U" : "L", &a.columns, a.data(), &leading, &info);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      if (upper ? i > j : i < j) a(i, j) = T(0);
  return info;
}

// a becomes q, of as many columns as it has; r is handed back.
template <class T>
Columns<T> qr(Columns<T>& a, std::int64_t n, std::int64_t k) {
  const int leading = a.leading(), all = static_cast<int>(n), reflectors = std::min(a.rows, all);
  std::vector<T> tau(static_cast<std::size_t>(std::max(reflectors, 1)));
  with_workspace<T>(
      [&](T* work, const int* length, int* info) { Lapack<T>::geqrf(&a.rows, &all, a.data(), &leading, tau.data(), work, length, info); });
  Columns<T> r(k, n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i <= std::min(j, k - 1); ++i) r(i, j) = a(i, j);
  const int columns = static_cast<int>(k);
  with_workspace<T>([&](T* work, const int* length, int* info) {
    Lapack<T>::ungqr(&a.rows, &columns, &reflectors, a.data(), &leading, tau.data(), work, length, info);
  });
  return r;
}

template <class T>
int eigh(Columns<T>& a, RealOf<T>* eigenvalues) {
  const int leading = a.leading();
  int info = 0;
  RealOf<T> real_asked{};
  T asked{};
  int integers_asked = 0, length = -1, real_length = -1, integer_length = -1;
  std::vector<T> work;
  std::vector<RealOf<T>> reals;
  std::vector<int> integers;
  const auto call = [&](T* w, RealOf<T>* r, int* i) {
    if constexpr (std::same_as<T, float>)
      ssyevd_("V", "L", &a.rows, a.data(), &leading, eigenvalues, w, &length, i, &integer_length, &info);
    else if constexpr (std::same_as<T, double>)
      dsyevd_("V", "L", &a.rows, a.data(), &leading, eigenvalues, w, &length, i, &integer_length, &info);
    else if constexpr (std::same_as<T, C64>)
      cheevd_("V", "L", &a.rows, a.data(), &leading, eigenvalues, w, &length, r, &real_length, i, &integer_length, &info);
    else
      zheevd_("V", "L", &a.rows, a.data(), &leading, eigenvalues, w, &length, r, &real_length, i, &integer_length, &info);
  };
  call(&asked, &real_asked, &integers_asked);
  work.resize(static_cast<std::size_t>(length = std::max(1, static_cast<int>(std::real(asked)))));
  reals.resize(static_cast<std::size_t>(real_length = std::max(1, static_cast<int>(real_asked))));
  integers.resize(static_cast<std::size_t>(integer_length = std::max(1, integers_asked)));
  call(work.data(), reals.data(), integers.data());
  return info;
}

template <class T>
int svd(Columns<T>& a, RealOf<T>* s, Columns<T>& u, Columns<T>& vh, bool full) {
  const char* const what = full ? "A" : "S";
  const int leading = a.leading(), u_leading = u.leading(), vh_leading = vh.leading();
  const auto small = static_cast<std::size_t>(std::max(1, std::min(a.rows, a.columns))),
             large = static_cast<std::size_t>(std::max({1, a.rows, a.columns}));
  std::vector<int> integers(8 * small);
  std::vector<RealOf<T>> reals(std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small));
  return with_workspace<T>([&](T* work, const int* length, int* info) {
    if constexpr (std::same_as<T, float>)
      sgesdd_(what, &a.rows, &a.columns, a.data(), &leading, s, u.data(), &u_leading, vh.data(), &vh_leading, work, length, integers.data(),
              info);
    else if constexpr (std::same_as<T, double>)
      dgesdd_(what, &a.rows, &a.columns, a.data(), &leading, s, u.data(), &u_leading, vh.data(), &vh_leading, work, length, integers.data(),
              info);
    else if constexpr (std::same_as<T, C64>)
      cgesdd_(what, &a.rows, &a.columns, a.data(), &leading, s, u.data(), &u_leading, vh.data(), &vh_leading, work, length, reals.data(),
              integers.data(), info);
    else
      zgesdd_(what, &a.rows, &a.columns, a.data(), &leading, s, u.data(), &u_leading, vh.data(), &vh_leading, work, length, reals.data(),
              integers.data(), info);
  });
}

template <class T>
bool has_nan(const T* x, std::int64_t count) {
  return std::any_of(x, x + count, [](T v) { return v != v; });
}

// f(matrix, to, its number) for each matrix of x; false makes all of its results NaN.
template <class F>
LocalArray each_matrix(const LocalArray& x, std::int64_t total, F&& f) {
  const auto m = x.shape()[x.ndim() - 2], n = x.shape()[x.ndim() - 1];
  auto shape = x.shape();
  shape[x.ndim() - 2] = 1;
  shape[x.ndim() - 1] = total;
  LocalArray out(shape, x.dtype());
  const auto dense = x.contiguous();
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, C64> || std::same_as<T, C128>) {
      const auto* from = reinterpret_cast<const T*>(dense.data());
      auto* to = reinterpret_cast<T*>(out.data());
      for (std::int64_t k = 0; total > 0 && k < out.size() / total; ++k, from += m * n, to += total) {
        // LAPACK may loop for ever, or crash, on what is no number.
        Columns<T> a(m, n);
        a.read(from);
        if (has_nan(from, m * n) || !f(a, to, k)) std::fill_n(to, total, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
      }
    }
  });
  return out;
}

}  // namespace

LocalArray run_cholesky(const LocalArray& x, bool upper) {
  const auto n = x.shape()[x.ndim() - 1];
  return each_matrix(x, n * n, [&]<class T>(Columns<T>& a, T* to, std::int64_t) {
    if (n > 0 && cholesky(a, upper) != 0) return false;
    a.write(to);
    return true;
  });
}

LocalArray run_qr(const LocalArray& x, bool complete) {
  const auto m = x.shape()[x.ndim() - 2], n = x.shape()[x.ndim() - 1], k = complete ? m : std::min(m, n);
  return each_matrix(x, m * k + k * n, [&]<class T>(Columns<T>& a, T* to, std::int64_t) {
    // As wide as what is factorised, and as q becomes.
    Columns<T> wide(m, std::max(n, k));
    std::copy(a.values.begin(), a.values.end(), wide.values.begin());
    auto r = qr(wide, n, k);
    Columns<T> q(m, k);
    std::copy_n(wide.values.begin(), q.values.size(), q.values.begin());
    r.write(q.write(to));
    return true;
  });
}

LocalArray factor_tall(const LocalArray& x, bool want_q) {
  const int n = static_cast<int>(x.shape()[1]), m = static_cast<int>(x.shape()[0]), leading = std::max(n, 1);
  LocalArray r(Shape{n, n}, x.dtype());
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, C64> || std::same_as<T, C128>) {
      auto *const a = reinterpret_cast<T*>(x.data()), *const to = reinterpret_cast<T*>(r.data());
      if (has_nan(a, x.size())) {
        std::fill_n(a, x.size(), T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
        std::fill_n(to, r.size(), T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
        return;
      }
      std::vector<T> tau(static_cast<std::size_t>(leading));
      with_workspace<T>([&](T* work, const int* length, int* info) { Lapack<T>::gelqf(&n, &m, a, &leading, tau.data(), work, length, info); });
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) to[i * n + j] = j < i ? T{} : a[i * n + j];
      if (want_q)
        with_workspace<T>([&](T* work, const int* length, int* info) { Lapack<T>::unglq(&n, &m, &n, a, &leading, tau.data(), work, length, info); });
    }
  });
  return r;
}

LocalArray run_eigh(const LocalArray& x) {
  const auto n = x.shape()[x.ndim() - 1];
  return each_matrix(x, n + n * n, [&]<class T>(Columns<T>& a, T* to, std::int64_t) {
    std::vector<RealOf<T>> eigenvalues(static_cast<std::size_t>(n));
    if (n > 0 && eigh(a, eigenvalues.data()) != 0) return false;
    a.write(std::copy(eigenvalues.begin(), eigenvalues.end(), to));
    return true;
  });
}

LocalArray run_svd(const LocalArray& x, bool full_matrices) {
  const auto m = x.shape()[x.ndim() - 2], n = x.shape()[x.ndim() - 1], k = std::min(m, n);
  const auto p = full_matrices ? m : k, q = full_matrices ? n : k;
  return each_matrix(x, m * p + k + q * n, [&]<class T>(Columns<T>& a, T* to, std::int64_t) {
    Columns<T> u(m, p), vh(q, n);
    std::vector<RealOf<T>> s(static_cast<std::size_t>(k));
    if (k > 0) {
      if (svd(a, s.data(), u, vh, full_matrices) != 0) return false;
    } else {
      for (std::int64_t i = 0; i < p; ++i) u(i, i) = T(1);
      for (std::int64_t i = 0; i < q; ++i) vh(i, i) = T(1);
    }
    vh.write(std::copy(s.begin(), s.end(), u.write(to)));
    return true;
  });
}

LocalArray run_determinant(const LocalArray& x) {
  const auto n = x.shape()[x.ndim() - 1];
  return each_matrix(x, 2, [&]<class T>(Columns<T>& a, T* to, std::int64_t) {
    const int leading = a.leading();
    std::vector<int> pivots(static_cast<std::size_t>(n));
    int info = 0;
    if (n > 0) Lapack<T>::getrf(&a.rows, &a.columns, a.data(), &leading, pivots.data(), &info);
    T sign(1);
    RealOf<T> logarithm = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto size = std::abs(a(i, i));
      sign *= size == 0 ? T(0) : a(i, i) / size;
      if (pivots[static_cast<std::size_t>(i)] != i + 1) sign = -sign;
      logarithm += std::log(size);
    }
    to[0] = sign;
    to[1] = T(logarithm);
    return true;
  });
}

LocalArray run_solve(const LocalArray& matrices, const LocalArray& b) {
  const auto n = b.shape()[b.ndim() - 2], k = b.shape()[b.ndim() - 1];
  const auto right = b.contiguous();
  return each_matrix(matrices, n * k, [&]<class T>(Columns<T>& a, T* to, std::int64_t number) {
    Columns<T> y(n, k);
    const auto* from = reinterpret_cast<const T*>(right.data()) + n * k * number;
    y.read(from);
    if (n == 0 || k == 0) return true;
    if (has_nan(from, n * k)) return false;
    std::vector<int> pivots(static_cast<std::size_t>(n));
    const int leading = a.leading(), y_leading = y.leading();
    int info = 0;
    Lapack<T>::gesv(&a.rows, &y.columns, a.data(), &leading, pivots.data(), y.data(), &y_leading, &info);
    if (info != 0) return false;
    y.write(to);
    return true;
  });
}

}  // namespace meshwise::detail
