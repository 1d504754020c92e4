#include <cmath>

#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail::op {
namespace {

// complex64 computes in complex128 and rounds once, as in functions.cpp.
template <class F>
constexpr ElementwiseOp entry(const char* name, F) {
  return unary(Inexact{}, name, WorkRule::inexact, []<class T>(T x) -> T {
    if constexpr (std::same_as<T, std::complex<float>>)
      return T(F{}(std::complex<double>(x)));
    else
      return F{}(x);
  });
}

}  // namespace

constinit const ElementwiseOp sin = entry("sin", [](auto x) { return std::sin(x); });
constinit const ElementwiseOp cos = entry("cos", [](auto x) { return std::cos(x); });
constinit const ElementwiseOp tan = entry("tan", [](auto x) { return std::tan(x); });
constinit const ElementwiseOp asin = entry("asin", [](auto x) { return std::asin(x); });
constinit const ElementwiseOp acos = entry("acos", [](auto x) { return std::acos(x); });
constinit const ElementwiseOp atan = entry("atan", [](auto x) { return std::atan(x); });
constinit const ElementwiseOp sinh = entry("sinh", [](auto x) { return std::sinh(x); });
constinit const ElementwiseOp cosh = entry("cosh", [](auto x) { return std::cosh(x); });
constinit const ElementwiseOp tanh = entry("tanh", [](auto x) { return std::tanh(x); });
constinit const ElementwiseOp asinh = entry("asinh", [](auto x) { return std::asinh(x); });
constinit const ElementwiseOp acosh = entry("acosh", [](auto x) { return std::acosh(x); });
constinit const ElementwiseOp atanh = entry("atanh", [](auto x) { return std::atanh(x); });

}  // namespace meshwise::detail::op
