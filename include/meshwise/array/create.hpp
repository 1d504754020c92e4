#pragma once
// Making arrays. Creations are recipes: uncommitted, no memory until placed, and then only each device's own box.

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

namespace detail {
/// Local. Lists of lists of ... of elements: what the elements are, and how many lists stand around each.
template <class T>
struct Nesting {
  using Innermost = T;
  static constexpr std::int64_t depth = 0;
};
template <class T>
  requires std::ranges::random_access_range<const T> && std::ranges::sized_range<const T> && (!std::convertible_to<const T&, std::string_view>)
struct Nesting<T> {
  using Items = Nesting<std::ranges::range_value_t<const T>>;
  using Innermost = typename Items::Innermost;
  static constexpr std::int64_t depth = 1 + Items::depth;
};
template <class T>
concept ElementList = Nesting<T>::depth > 0 && Element<typename Nesting<T>::Innermost>;

/// Local. Throws: ShapeError when a list at `axis` has not the length that the first one there has.
void check_list_length(std::int64_t axis, std::int64_t first, std::int64_t length);

template <class T>
void read_lengths(const T& values, std::int64_t axis, Shape& shape) {
  shape[axis] = std::ranges::ssize(values);
  if constexpr (Nesting<T>::depth > 1)
    if (shape[axis] > 0) read_lengths(*std::ranges::begin(values), axis + 1, shape);
}

template <class T, class E>
E* copy_elements(const T& values, std::int64_t axis, const Shape& shape, E* out) {
  check_list_length(axis, shape[axis], std::ranges::ssize(values));
  if constexpr (Nesting<T>::depth == 1) {
    return std::ranges::copy(values, out).out;
  } else {
    for (const auto& items : values) out = copy_elements(items, axis + 1, shape, out);
    return out;
  }
}

template <ElementList T>
LocalArray local_copy(const T& values) {
  using E = typename Nesting<T>::Innermost;
  Shape shape(std::vector<std::int64_t>(static_cast<std::size_t>(Nesting<T>::depth)));
  read_lengths(values, 0, shape);
  LocalArray out(shape, dtype_of<E>());
  copy_elements(values, 0, shape, out.mutable_view<E>().data());
  return out;
}
}  // namespace detail

/// Local. Values in this process's memory: a number, lists of elements, lists of such lists, a LocalArray.
template <class T>
concept HostValues = std::is_arithmetic_v<T> || Element<T> || detail::ElementList<T> || std::same_as<T, LocalArray>;

/// Collective. shape -> dtype[shape] of zeros, of ones, of `value` (the literal's default dtype unless given).
Array zeros(const Shape& shape, Dtype dtype = float32);
Array ones(const Shape& shape, Dtype dtype = float32);
Array full(const Shape& shape, const Scalar& value, std::optional<Dtype> dtype = {});
/// Collective. shape -> dtype[shape] of values that nobody promises; as in JAX they are zeros, as replicas must be alike.
Array empty(const Shape& shape, Dtype dtype = float32);
/// Collective. start, start + step, ... below stop: [ceil((stop - start) / step)]. The literals' common default dtype unless given.
/// Throws: Error for step 0; DtypeError for bool, or where an integer dtype cannot hold the range.
Array arange(const Scalar& stop, std::optional<Dtype> dtype = {});
Array arange(const Scalar& start, const Scalar& stop, const Scalar& step = 1, std::optional<Dtype> dtype = {});
Array arange(const Scalar& start, const Scalar& stop, Dtype dtype);
/// Collective. `num` points from start to stop, both included unless endpoint is false. As in JAX the ends are taken at their default dtype
/// first: 0.1 is float32's 0.1, also in a float64 result. Throws: ShapeError for a negative num.
Array linspace(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint = true, std::optional<Dtype> dtype = {});
/// Collective. [n, m] with ones on diagonal k, zeros elsewhere (m = n if absent).
Array eye(std::int64_t n, std::optional<std::int64_t> m = {}, std::int64_t k = 0, Dtype dtype = float32);
/// Collective. x's shape, dtype unless given, and x's placement: sharding and committed flag.
Array zeros_like(const Array& x, std::optional<Dtype> dtype = {});
Array ones_like(const Array& x, std::optional<Dtype> dtype = {});
Array full_like(const Array& x, const Scalar& value, std::optional<Dtype> dtype = {});
Array empty_like(const Array& x, std::optional<Dtype> dtype = {});

/// Collective. Host values as an uncommitted array; they are copied, and every rank passes the same.
Array asarray(const Scalar& value, std::optional<Dtype> dtype = {});
Array asarray(const LocalArray& values, std::optional<Dtype> dtype = {});
template <class T>
  requires std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>
Array asarray(T value, std::optional<Dtype> dtype = {}) {
  return asarray(LocalArray::from(std::span<const T>(&value, 1), {}), dtype);
}
/// Collective. [n] of a list of n elements (std::vector, std::span, std::array), [n, m] of n lists of m, and so on; or their elements, in order,
/// as `shape`. Throws: ShapeError when lists differ in length, or their elements do not fill the shape.
template <detail::ElementList T>
Array asarray(const T& values) {
  return asarray(detail::local_copy(values));
}
template <detail::ElementList T>
Array asarray(const T& values, const Shape& shape) {
  return asarray(detail::local_copy(values).reshaped(shape));
}
Array asarray(const Array& x, std::optional<Dtype> dtype = {});
/// Collective. Nested literals: asarray({{1, 2}, {3, 4}}) is int32[2,2]. Throws: ShapeError when rows differ in length.
struct NestedValues {
  NestedValues(const Scalar& v) : value(v) {}
  template <class T>
  requires(std::is_arithmetic_v<T> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>) NestedValues(T v)
      : value(Scalar(v)) {}
  NestedValues(std::initializer_list<NestedValues> v) : items(v) {}
  std::optional<Scalar> value{};
  std::vector<NestedValues> items{};
};
Array asarray(std::initializer_list<NestedValues> values, std::optional<Dtype> dtype = {});

/// Synchronising. Each rank's callback fills the box of each of its devices (each distinct box once); no collective calls inside.
/// Throws on every rank, naming the rank, when a callback throws or the spec does not fit the shape.
Array make_array_from_callback(const Shape& shape, Dtype dtype, const Sharding& sharding,
                               const std::function<void(const Index& box, LocalArray& out)>& callback);
/// Synchronising. Each rank gives the union box of its devices' boxes (`global_shape` absent: ranks' pieces stacked along the split axes); it is
/// copied. A rank without devices gives anything, LocalArray{} say. float32[8,16] under P("x") on 4 ranks: each gives (2, 16).
/// Throws on every rank: ShapeError or DtypeError naming each bad rank, the shape it passed and the shape wanted; PlacementError where a rank's boxes are no box.
Array make_array_from_process_local_data(const Sharding& sharding, const LocalArray& local, std::optional<Shape> global_shape = {});
/// Synchronising. One LocalArray per device of this rank, in mesh order; their memory becomes the array's: write no more to it. Throws as above.
Array make_array_from_single_device_arrays(const Shape& shape, const Sharding& sharding, const std::vector<LocalArray>& pieces);

}  // namespace meshwise
