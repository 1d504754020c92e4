#pragma once
// The value a user holds: an array with a shape, a dtype, and a place.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "meshwise/array/local_array.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise {

namespace detail {
struct State;
}
class Array;
class IndexExpression;

/// Local. One device's part of an array: where it is, which box, which copy of that box, and the data where it is this rank's.
class Shard {
 public:
  Shard(Device device, Index index, std::int64_t replica_id, std::optional<LocalArray> data)
      : device_(device), index_(std::move(index)), replica_id_(replica_id), data_(std::move(data)) {}
  const Device& device() const { return device_; }
  const Index& index() const { return index_; }
  std::int64_t replica_id() const { return replica_id_; }
  bool is_addressable() const { return data_.has_value(); }
  /// Local. Throws: NotAddressableError when the device is another rank's.
  const LocalArray& data() const;

 private:
  Device device_;
  Index index_;
  std::int64_t replica_id_;
  std::optional<LocalArray> data_;
};

/// Local. A distributed array, immutable; a handle, cheap to copy. Every rank knows shape, dtype, sharding and committed flag, also of arrays
/// on devices it has none of. float32[8,16] under P("data", "model") on a (4,2) mesh: eight shards of (2,8), one on each rank of eight.
class Array {
 public:
  /// Local. No array: every use but assignment throws Error.
  Array() = default;

  const Shape& shape() const;
  Dtype dtype() const;
  std::int64_t ndim() const;
  std::int64_t size() const;
  std::int64_t itemsize() const;
  /// Local. Bytes of the value, replicas not counted; and of the largest shard times the devices, replicas counted.
  std::int64_t nbytes() const;
  std::int64_t on_device_bytes() const;
  const Sharding& sharding() const;
  /// Local. Placed on purpose: operations run where it lives, and refuse other device lists.
  bool committed() const;
  bool is_fully_replicated() const;
  bool is_fully_addressable() const;
  bool is_deleted() const;

  /// Local. This rank's shards, in mesh order; waits for a transfer in flight. Throws: DonatedError; the transfer's error.
  std::vector<Shard> addressable_shards() const;
  LocalArray addressable_data(std::int64_t shard) const;
  /// Local. One descriptor per device in mesh order, with data where it is this rank's.
  std::vector<Shard> global_shards() const;

  /// Collective. The one element, the same bits on every rank. Throws: ShapeError unless size is 1; DtypeError for a wrong T.
  template <class T>
  T item() const {
    return item_bytes(dtype_of<T>()).template view<T>()[0];
  }
  /// Local. The whole value where this rank holds it. Throws: NotAddressableError otherwise, saying what is here and what to call; DtypeError.
  template <class T>
  View<const T> view() const {
    return whole_value(dtype_of<T>()).template view<T>();
  }
  /// Local. The whole value as a LocalArray, where this rank holds it.
  LocalArray local_value() const;

  /// Local. Deletes the value on this rank, whatever handles there are: later use is DonatedError. Call it on every rank.
  void free();
  /// Local. A transfer in flight is done (or there is none).
  bool is_ready() const;

  // Operations as members, defined with their free twins in room 5.
  Array astype(Dtype dtype) const;
  Array reshape(const Shape& shape) const;
  Array transpose(const std::vector<std::int64_t>& permutation = {}) const;
  Array T() const { return transpose(); }
  Array sum(const std::vector<std::int64_t>& axes = {}, bool keepdims = false) const;
  Array mean(const std::vector<std::int64_t>& axes = {}, bool keepdims = false) const;
  /// Collective. NumPy's indexing: x[3], x[Slice(1, 5)], x[{Slice(), 2, none}]; x[indices] gathers rows, x[mask] what is true (Synchronising); indices beyond
  /// the ends are clipped.
  Array operator[](std::int64_t index) const;
  Array operator[](const IndexExpression& item) const;
  Array operator[](std::initializer_list<IndexExpression> items) const;
  Array operator[](const Array& indices) const;

  explicit Array(std::shared_ptr<detail::State> state) : state_(std::move(state)) {}
  /// Local. For the library's rooms: the state, never null. Throws: Error when this is no array.
  const std::shared_ptr<detail::State>& state() const;
  bool is_set() const { return state_ != nullptr; }

 private:
  LocalArray item_bytes(Dtype wanted) const;
  LocalArray whole_value(Dtype wanted) const;
  std::shared_ptr<detail::State> state_;
};

/// Local. A number of a Slice, or `none` (std::nullopt too): absent.
struct SliceBound {
  SliceBound() = default;
  template <std::integral T>
  SliceBound(T n) : value(static_cast<std::int64_t>(n)) {}
  SliceBound(std::nullptr_t) {}
  SliceBound(std::nullopt_t) {}
  SliceBound(std::optional<std::int64_t> n) : value(n) {}
  std::optional<std::int64_t> value{};
};

/// Local. Python's slice: Slice(), Slice(stop), Slice(start, stop), Slice(start, stop, step); `none` is absent, as in Slice(2, none, -1).
struct Slice {
  Slice() = default;
  Slice(SliceBound stop_) : stop(stop_.value) {}
  Slice(SliceBound start_, SliceBound stop_, SliceBound step_ = {}) : start(start_.value), stop(stop_.value), step(step_.value) {}
  std::optional<std::int64_t> start{}, stop{}, step{};
};

struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};

/// Local. One item between the brackets: an integer, a Slice, `none` (a new axis), `ellipsis`, an array of integers or of bool.
class IndexExpression {
 public:
  IndexExpression(std::int64_t index) : value_(index) {}
  IndexExpression(int index) : value_(static_cast<std::int64_t>(index)) {}
  IndexExpression(Slice slice) : value_(slice) {}
  IndexExpression(std::nullptr_t) : value_(nullptr) {}
  IndexExpression(Ellipsis e) : value_(e) {}
  IndexExpression(const Array& indices) : value_(indices) {}
  const std::variant<std::int64_t, Slice, std::nullptr_t, Ellipsis, Array>& value() const { return value_; }

 private:
  std::variant<std::int64_t, Slice, std::nullptr_t, Ellipsis, Array> value_;
};

/// Local. What an operation takes: an array, or a C++ literal (weak, no placement).
class Operand {
 public:
  Operand(const Array& array) : value_(array) {}
  Operand(Array&& array) : value_(std::move(array)) {}
  template <class S>
    requires std::is_arithmetic_v<S> || std::same_as<S, std::complex<float>> || std::same_as<S, std::complex<double>>
  Operand(S literal) : value_(Scalar(literal)) {}
  Operand(const Scalar& literal) : value_(literal) {}
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Scalar* scalar() const { return std::get_if<Scalar>(&value_); }

 private:
  std::variant<Array, Scalar> value_;
};

/// Local. Values as NumPy prints them where this rank holds them all; else `Array(shape=(8, 16), dtype=float32, sharding=...)`. Never communicates.
std::string to_string(const Array& array);
/// Local. `float32[8@x,16]`.
std::string type_string(const Array& array);

/// Collective. Waits until x's transfer is done on this rank. Throws: the transfer's error.
const Array& block_until_ready(const Array& x);

}  // namespace meshwise
