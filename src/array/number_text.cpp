#include "array/number_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace meshwise::detail {
namespace {

constexpr int precision = 8;

template <class T>
double as_double(T value) {
  if constexpr (std::floating_point<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(static_cast<float>(value));
}

template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// |value| = 0.d1d2d3... * 10^point: the fewest digits that read back as the value.
struct Digits {
  std::string digits{};
  int point = 0;
};

Digits parsed(const std::string& scientific) {
  const auto e = scientific.find('e');
  Digits out;
  for (const char c : scientific.substr(0, e))
    if (c >= '0' && c <= '9') out.digits += c;
  out.point = std::atoi(scientific.c_str() + e + 1) + 1;
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  if (out.digits == "0") out.point = 1;
  return out;
}

std::string printed(const char* format, int digits, double value) {
  std::array<char, 512> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, digits, value);
  return buffer.data();
}

template <class T>
Digits shortest(T value) {
  if constexpr (std::floating_point<T>) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value), std::chars_format::scientific);
    return parsed(std::string(buffer.data(), end.ptr));
  } else {
    const double magnitude = std::abs(as_double(value));
    std::string text;
    for (int n = 0; n < 9; ++n) {
      text = printed("%.*e", n, magnitude);
      if (same(T::from(std::strtod(text.c_str(), nullptr)), T::from(magnitude))) break;
    }
    return parsed(text);
  }
}

struct Parts {
  std::string whole{}, fraction{};
  int exponent = 0;
};

void trim_zeros(std::string& fraction) {
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
}

/// `limit` is the most digits behind the point; beyond it the value itself is rounded, not its shortest text.
template <class T>
Parts positional(T value, int limit) {
  const auto d = shortest(value);
  const auto n = static_cast<int>(d.digits.size());
  Parts p;
  if (n - d.point > limit) {
    const auto text = printed("%.*f", limit, std::abs(as_double(value)));
    p.whole = text.substr(0, text.find('.'));
    p.fraction = text.substr(text.find('.') + 1);
  } else if (d.point <= 0) {
    p.whole = "0";
    p.fraction = std::string(static_cast<std::size_t>(-d.point), '0') + d.digits;
  } else {
    p.whole = d.digits.substr(0, static_cast<std::size_t>(std::min(n, d.point)));
    p.whole.append(static_cast<std::size_t>(std::max(0, d.point - n)), '0');
    p.fraction = n > d.point ? d.digits.substr(static_cast<std::size_t>(d.point)) : "";
  }
  trim_zeros(p.fraction);
  return p;
}

template <class T>
Parts scientific(T value, int limit) {
  auto d = shortest(value);
  if (static_cast<int>(d.digits.size()) - 1 > limit) d = parsed(printed("%.*e", limit, std::abs(as_double(value))));
  return {d.digits.substr(0, 1), d.digits.substr(1), d.point - 1};
}

std::string exponent_text(int exponent) { return fmt::format("{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent)); }

std::string padded(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// From here on the digits before the point are more than the dtype has, and an exponent reads better.
template <class T>
constexpr double readable = std::same_as<T, double>      ? 1e16
                            : std::same_as<T, float16_t> ? 1e3
                                                         : 1e6;

/// NumPy's FloatingFormat: one layout for a whole array of finite and other values.
template <class T>
class Column {
 public:
  Column(const std::vector<T>& values, bool plus) : plus_(plus) {
    std::vector<T> finite;
    bool negative_infinity = plus;
    for (const T v : values) {
      if (std::isfinite(as_double(v)))
        finite.push_back(v);
      else
        negative_infinity = negative_infinity || as_double(v) == -std::numeric_limits<double>::infinity();
    }
    exponential_ = wants_exponent(finite);
    for (const T v : finite) {
      const auto p = exponential_ ? scientific(v, precision) : positional(v, precision);
      left_ = std::max(left_, p.whole.size() + (sign(v).empty() ? 0 : 1));
      fraction_ = std::max(fraction_, p.fraction.size());
      if (exponential_) exponent_ = std::max(exponent_, exponent_text(p.exponent).size());
    }
    right_ = exponential_ ? fraction_ + exponent_ + 1 : fraction_;
    if (finite.size() != values.size()) {
      const auto text = std::size_t{3} + (negative_infinity ? 1 : 0);
      if (text > right_ + 1) left_ = std::max(left_, text - right_ - 1);
    }
  }

  std::string operator()(T v) const {
    const auto value = as_double(v);
    if (std::isnan(value)) return padded(plus_ ? "+nan" : "nan", left_ + right_ + 1);
    if (std::isinf(value)) return padded(sign(v) + "inf", left_ + right_ + 1);
    if (!exponential_) {
      const auto p = positional(v, precision);
      return padded(sign(v) + p.whole, left_) + "." + p.fraction + std::string(fraction_ - p.fraction.size(), ' ');
    }
    // All fractions are equally long here, filled with the value's own digits rather than with zeros.
    const auto text = printed(fraction_ == 0 ? "%#.*e" : "%.*e", static_cast<int>(fraction_), std::abs(value));
    const auto e = text.find('e');
    auto exponent = exponent_text(std::atoi(text.c_str() + e + 1));
    exponent.insert(1, exponent_ - exponent.size(), '0');
    return padded(sign(v) + text.substr(0, 1), left_) + text.substr(1, e - 1) + "e" + exponent;
  }

 private:
  std::string sign(T v) const { return std::signbit(as_double(v)) ? "-" : plus_ ? "+" : ""; }

  // The bounds are rounded to T first, as NumPy compares; a ratio that overflows T is large.
  static bool wants_exponent(const std::vector<T>& finite) {
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (const T v : finite) {
      const auto magnitude = std::abs(as_double(v));
      if (magnitude == 0) continue;
      most = std::max(most, magnitude);
      least = std::min(least, magnitude);
    }
    if (most == 0) return false;
    return most >= (std::same_as<T, double> ? 1e8 : readable<T>) || least < as_double(rounded(1e-4)) ||
           as_double(rounded(most / least)) > 1000;
  }
  static T rounded(double value) {
    if constexpr (std::floating_point<T>)
      return static_cast<T>(value);
    else
      return T::from(value);
  }

  bool plus_, exponential_ = false;
  std::size_t left_ = 0, right_ = 0, fraction_ = 0, exponent_ = 0;
};

template <class T>
std::string lone_real(T v, bool keep_zero) {
  const auto value = as_double(v);
  if (std::isnan(value)) return "nan";
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) return sign + "inf";
  const auto magnitude = std::abs(value);
  constexpr int all = 400;
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < readable<T>)) {
    const auto p = positional(v, all);
    return sign + p.whole + (p.fraction.empty() ? (keep_zero ? ".0" : "") : "." + p.fraction);
  }
  const auto p = scientific(v, all);
  return sign + p.whole + (p.fraction.empty() ? "" : "." + p.fraction) + "e" + exponent_text(p.exponent);
}

template <class T>
std::string lone_text(T v) {
  if constexpr (std::same_as<T, bool>) {
    return v ? "True" : "False";
  } else if constexpr (std::integral<T>) {
    return fmt::format("{}", +v);
  } else if constexpr (requires { v.imag(); }) {
    auto imag = lone_real(v.imag(), false) + "j";
    if (v.real() == 0 && !std::signbit(v.real())) return imag;
    if (imag.front() != '-') imag.insert(0, "+");
    return "(" + lone_real(v.real(), false) + imag + ")";
  } else {
    return lone_real(v, true);
  }
}

template <class T>
std::vector<std::string> column_texts(const std::vector<T>& values) {
  std::vector<std::string> out;
  if constexpr (std::integral<T>) {
    std::size_t width = 0;
    for (const T v : values) out.push_back(lone_text(v));
    for (const auto& text : out) width = std::max(width, text.size());
    // NumPy keeps room for "False" in every bool array.
    if (std::same_as<T, bool>) width = 5;
    for (auto& text : out) text = padded(std::move(text), width);
  } else if constexpr (requires(T v) { v.imag(); }) {
    std::vector<typename T::value_type> real, imag;
    for (const T v : values) {
      real.push_back(v.real());
      imag.push_back(v.imag());
    }
    const Column<typename T::value_type> left(real, false), right(imag, true);
    for (const T v : values) {
      auto text = right(v.imag());
      text.insert(text.find_last_not_of(' ') + 1, "j");
      out.push_back(left(v.real()) + text);
    }
  } else {
    const Column<T> column(values, false);
    for (const T v : values) out.push_back(column(v));
  }
  return out;
}

}  // namespace

std::string scalar_text(Dtype dtype, const std::byte* value) {
  return visit(dtype, [&](auto tag) {
    typename decltype(tag)::type v{};
    std::memcpy(&v, value, sizeof v);
    return lone_text(v);
  });
}

std::vector<std::string> aligned_texts(Dtype dtype, const std::byte* values, std::int64_t count) {
  return visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* first = reinterpret_cast<const T*>(values);
    return column_texts(std::vector<T>(first, first + count));
  });
}

}  // namespace meshwise::detail
