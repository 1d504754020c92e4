#include "array/generators.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <vector>

#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {
namespace {

std::uint64_t hash_number(double value) { return std::bit_cast<std::uint64_t>(value); }

class Constant final : public Generator {
 public:
  Constant(const Scalar& value, Dtype dtype) : dtype_(dtype) { value.store(dtype, value_.data()); }
  Dtype dtype() const override { return dtype_; }
  std::uint64_t hash() const override {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), value_.data(), sizeof words);
    return mix(mix(mix(hash_text("constant"), static_cast<std::uint64_t>(dtype_)), words[0]), words[1]);
  }
  void run(std::int64_t, std::int64_t, std::int64_t count, std::byte* out) const override {
    visit(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T value{};
      std::memcpy(&value, value_.data(), sizeof value);
      std::fill_n(reinterpret_cast<T*>(out), count, value);
    });
  }

 private:
  Dtype dtype_;
  std::array<std::byte, 16> value_{};
};

/// T(start + i * step), computed in C.
template <class T, class C>
class Steps final : public Generator {
 public:
  Steps(C start, C step) : start_(start), step_(step) {}
  Dtype dtype() const override { return dtype_of<T>(); }
  std::uint64_t hash() const override {
    return mix(mix(mix(hash_text("arange"), static_cast<std::uint64_t>(dtype())), bits(start_)), bits(step_));
  }
  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    auto* values = reinterpret_cast<T*>(out);
    for (std::int64_t k = 0; k < count; ++k) values[k] = static_cast<T>(start_ + static_cast<C>(first + k * step) * step_);
  }

 private:
  static std::uint64_t bits(C value) {
    if constexpr (std::integral<C>)
      return value;
    else
      return hash_number(static_cast<double>(value));
  }
  C start_, step_;
};

/// One real sequence from start to stop.
template <class C>
struct Line {
  C start, stop, div;
  std::int64_t last;  // the element that is exactly stop; -1 for none
  C at(std::int64_t i) const {
    if (i == last) return stop;
    const C x = static_cast<C>(i);
    return start * (C{1} - x / div) + stop / div * x;
  }
};

template <class T, class C>
class Lines final : public Generator {
 public:
  Lines(Line<C> real, Line<C> imag) : real_(real), imag_(imag) {}
  Dtype dtype() const override { return dtype_of<T>(); }
  std::uint64_t hash() const override {
    std::uint64_t h = mix(hash_text("linspace"), static_cast<std::uint64_t>(dtype()));
    for (const auto& line : {real_, imag_}) {
      for (const C value : {line.start, line.stop, line.div}) h = mix(h, hash_number(static_cast<double>(value)));
      h = mix(h, static_cast<std::uint64_t>(line.last));
    }
    return h;
  }
  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    auto* values = reinterpret_cast<T*>(out);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto i = first + k * step;
      if constexpr (std::same_as<T, std::complex<C>>)
        values[k] = T(real_.at(i), imag_.at(i));
      else
        values[k] = static_cast<T>(real_.at(i));
    }
  }

 private:
  Line<C> real_, imag_;
};

/// The floor of another generator's float32 values, still floats.
class Floor final : public Generator {
 public:
  explicit Floor(std::shared_ptr<const Generator> inner) : inner_(std::move(inner)) {}
  Dtype dtype() const override { return Dtype::float64; }
  std::uint64_t hash() const override { return mix(inner_->hash(), 3); }
  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    auto* values = reinterpret_cast<double*>(out);
    inner_->run(first, step, count, out);
    for (std::int64_t k = 0; k < count; ++k) values[k] = std::floor(values[k]);
  }

 private:
  std::shared_ptr<const Generator> inner_;
};

class Diagonal final : public Generator {
 public:
  Diagonal(std::int64_t columns, std::int64_t k) : columns_(columns), k_(k) {}
  Dtype dtype() const override { return Dtype::bool_; }
  std::uint64_t hash() const override {
    return mix(mix(hash_text("eye"), static_cast<std::uint64_t>(columns_)), static_cast<std::uint64_t>(k_));
  }
  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    auto* values = reinterpret_cast<bool*>(out);
    if (step != 1) {
      for (std::int64_t j = 0; j < count; ++j) values[j] = is_one(first + j * step);
      return;
    }
    std::fill_n(values, count, false);
    for (auto row = first / columns_; row * columns_ < first + count; ++row) {
      const auto i = row * columns_ + row + k_;
      if (i >= first && i < first + count && is_one(i)) values[i - first] = true;
    }
  }

 private:
  bool is_one(std::int64_t i) const { return i % columns_ - i / columns_ == k_; }
  std::int64_t columns_, k_;
};

double number(const Scalar& s) {
  return s.kind() == Scalar::Kind::integer && s.is_unsigned() ? static_cast<double>(static_cast<std::uint64_t>(s.integer())) : s.real();
}

template <class C>
std::shared_ptr<const Generator> lines(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, Dtype dtype) {
  const auto parts = std::max<std::int64_t>(endpoint ? num - 1 : num, 1);
  // JAX takes these literals as default-dtype arrays first: 0.1 is float32's 0.1, also in a float64 result.
  const auto of = [](const Scalar& s, double value) {
    return static_cast<C>(s.kind() == Scalar::Kind::integer ? value : static_cast<float>(value));
  };
  const auto last = endpoint && num > 1 ? num - 1 : -1;
  const Line<C> real{of(start, number(start)), of(stop, number(stop)), static_cast<C>(parts), last};
  const Line<C> imag{of(start, start.imag()), of(stop, stop.imag()), static_cast<C>(parts), last};
  if (is_complex(dtype)) return std::make_shared<Lines<std::complex<C>, C>>(real, imag);
  return std::make_shared<Lines<C, C>>(real, imag);
}

}  // namespace

Recipe constant_recipe(const Shape& shape, const Scalar& value, Dtype dtype) {
  // No strides: every box is one run, and every reshape a window.
  return {std::make_shared<Constant>(value, dtype), shape, 0, PerAxis<std::int64_t>(shape.lengths().size(), 0)};
}

Recipe arange_recipe(const Scalar& start, const Scalar& step, std::int64_t count, Dtype dtype) {
  if (is_integer(dtype)) {
    const auto whole = [&](const Scalar& s) {
      std::int64_t value = 0;
      if (s.kind() == Scalar::Kind::floating)
        s.store(Dtype::int64, &value);
      else
        value = s.integer();
      return static_cast<std::uint64_t>(value);
    };
    return visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::integral<T> && !std::same_as<T, bool>)
        return Recipe::over(std::make_shared<Steps<T, std::uint64_t>>(whole(start), whole(step)), {count});
      else
        return Recipe{};
    });
  }
  if (dtype == Dtype::float64 || dtype == Dtype::complex128)
    return Recipe::over(std::make_shared<Steps<double, double>>(number(start), number(step)), {count}).astype(dtype);
  return Recipe::over(std::make_shared<Steps<float, float>>(static_cast<float>(number(start)), static_cast<float>(number(step))), {count})
      .astype(dtype);
}

Recipe linspace_recipe(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, Dtype dtype) {
  const bool wide = dtype == Dtype::float64 || dtype == Dtype::complex128;
  auto line =
      Recipe::over(wide ? lines<double>(start, stop, num, endpoint, dtype) : lines<float>(start, stop, num, endpoint, dtype), {num});
  if (is_integer(dtype)) line.generator = std::make_shared<Floor>(line.astype(Dtype::float64).generator);
  return line.astype(dtype);
}

Recipe eye_recipe(std::int64_t n, std::int64_t m, std::int64_t k, Dtype dtype) {
  return Recipe::over(std::make_shared<Diagonal>(std::max<std::int64_t>(m, 1), k), {n, m}).astype(dtype);
}

}  // namespace meshwise::detail
