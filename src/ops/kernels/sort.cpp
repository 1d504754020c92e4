#include "ops/kernels/sort.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "ops/kernels/radix.hpp"
#include "ops/kernels/sort_keys.hpp"

namespace meshwise::detail {

namespace {

// Shorter lines are compared; counting digits would cost more. Longer ones than 2^32 have no room in its counters.
constexpr std::int64_t shortest_radix = 512, longest_radix = (std::int64_t{1} << 32) - 1;

std::vector<std::int64_t> axis_last(std::int64_t ndim, std::int64_t axis) {
  std::vector<std::int64_t> order;
  for (std::int64_t d = 0; d < ndim; ++d)
    if (d != axis) order.push_back(d);
  order.push_back(axis);
  return order;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> back(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  return back;
}

// Memory for a line's keys that is not set to zero first.
template <class T>
struct Scratch {
  explicit Scratch(std::int64_t count) : memory(new T[static_cast<std::size_t>(count)]) {}
  T* get() const { return memory.get(); }
  std::unique_ptr<T[]> memory;
};

template <class T>
class LineSorter {
 public:
  using Key = UnsignedOf<sizeof(T)>;

  LineSorter(std::int64_t length, bool descending) : length_(length), descending_(descending), keys_(length), more_(length) {}

  void sort(const T* line, T* out) {
    make_keys(line);
    if (length_ < shortest_radix || length_ > longest_radix)
      std::sort(keys_.get(), keys_.get() + length_);
    else
      radix_sort<Key, char>(keys_.get(), nullptr, length_, more_.get(), nullptr);
    const auto flip = descending_ ? static_cast<Key>(~Key{0}) : Key{0};
    for (std::int64_t i = 0; i < length_; ++i) out[i] = value_of_key<T>(static_cast<Key>(keys_.get()[i] ^ flip));
    if constexpr (is_float_v<T>) restore_equals(line, out);
  }

  template <class Place>
  void argsort(const T* line, Place* out, Place* more) {
    make_keys(line);
    std::iota(out, out + length_, Place{0});
    if (length_ < shortest_radix || length_ > longest_radix)
      std::stable_sort(out, out + length_, [&](Place a, Place b) {
        return keys_.get()[static_cast<std::size_t>(a)] < keys_.get()[static_cast<std::size_t>(b)];
      });
    else
      radix_sort<Key, Place>(keys_.get(), out, length_, more_.get(), more);
  }

 private:
  void make_keys(const T* line) {
    const auto flip = descending_ ? static_cast<Key>(~Key{0}) : Key{0};
    for (std::int64_t i = 0; i < length_; ++i) keys_.get()[i] = static_cast<Key>(sort_key(line[i]) ^ flip);
  }

  // Zeros of both signs share a key, and so do all NaNs: they stand together now, and go back in the order they had.
  void restore_equals(const T* line, T* out) {
    const auto zero = sort_key(T{}), nan = std::numeric_limits<Key>::max();
    std::int64_t negative_zeros = 0, nans = 0;
    for (std::int64_t i = 0; i < length_; ++i) {
      nans += is_nan(line[i]);
      negative_zeros += std::bit_cast<Key>(line[i]) == zero;  // the key of zeros is the bits of -0
    }
    const auto restore = [&](Key wanted) {
      auto* place = std::find_if(out, out + length_, [&](T x) { return sort_key(x) == wanted; });
      for (std::int64_t i = 0; i < length_; ++i)
        if (sort_key(line[i]) == wanted) *place++ = line[i];
    };
    if (negative_zeros > 0) restore(zero);
    if (nans > 0) restore(nan);
  }

  std::int64_t length_;
  bool descending_;
  Scratch<Key> keys_, more_;
};

// With a payload of places; descending order is the ascending one's turned round, but equals keep their order.
template <class T, class Place>
void argsort_by_comparison(const T* line, Place* out, std::int64_t length, bool descending) {
  std::iota(out, out + length, Place{0});
  std::stable_sort(out, out + length, [&](Place a, Place b) {
    const auto x = line[static_cast<std::size_t>(a)], y = line[static_cast<std::size_t>(b)];
    return descending ? comes_before(y, x) : comes_before(x, y);
  });
}

}  // namespace

LocalArray run_sort(const LocalArray& x, std::int64_t axis, bool descending) {
  const auto order = axis_last(x.ndim(), axis);
  const auto lines = x.transposed(order).contiguous();
  LocalArray out(lines.shape(), x.dtype());
  if (out.size() == 0) return out.transposed(inverse(order));
  const auto length = x.shape()[axis];
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = reinterpret_cast<const T*>(lines.data());
    auto* to = reinterpret_cast<T*>(out.data());
    if constexpr (is_complex_v<T>) {
      std::vector<std::int64_t> places(static_cast<std::size_t>(length));
      for (std::int64_t at = 0; at < out.size(); at += length) {
        argsort_by_comparison(from + at, places.data(), length, descending);
        for (std::int64_t i = 0; i < length; ++i) to[at + i] = from[at + places[static_cast<std::size_t>(i)]];
      }
    } else {
      LineSorter<T> sorter(length, descending);
      for (std::int64_t at = 0; at < out.size(); at += length) sorter.sort(from + at, to + at);
    }
  });
  return out.transposed(inverse(order));
}

LocalArray run_argsort(const LocalArray& x, std::int64_t axis, bool descending, Dtype dtype) {
  const auto order = axis_last(x.ndim(), axis);
  const auto lines = x.transposed(order).contiguous();
  LocalArray out(lines.shape(), dtype);
  if (out.size() == 0) return out.transposed(inverse(order));
  const auto length = x.shape()[axis];
  const auto sort_all = [&]<class Place>(Place* to) {
    visit(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* from = reinterpret_cast<const T*>(lines.data());
      if constexpr (is_complex_v<T>) {
        for (std::int64_t at = 0; at < out.size(); at += length) argsort_by_comparison(from + at, to + at, length, descending);
      } else {
        LineSorter<T> sorter(length, descending);
        const Scratch<Place> more(length);
        for (std::int64_t at = 0; at < out.size(); at += length) sorter.argsort(from + at, to + at, more.get());
      }
    });
  };
  if (dtype == int64)
    sort_all(reinterpret_cast<std::int64_t*>(out.data()));
  else
    sort_all(reinterpret_cast<std::int32_t*>(out.data()));
  return out.transposed(inverse(order));
}

LocalArray run_searchsorted(const LocalArray& sorted, const LocalArray& values, bool right, Dtype dtype) {
  const auto dense = sorted.contiguous(), wanted = values.contiguous();
  LocalArray out(values.shape(), dtype);
  const auto search = [&]<class Place>(Place* to) {
    visit(sorted.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto *begin = reinterpret_cast<const T*>(dense.data()), *end = begin + dense.size();
      const auto* value = reinterpret_cast<const T*>(wanted.data());
      const auto before = [](T a, T b) { return comes_before(a, b); };
      for (std::int64_t i = 0; i < wanted.size(); ++i)
        to[i] = static_cast<Place>(
            (right ? std::upper_bound(begin, end, value[i], before) : std::lower_bound(begin, end, value[i], before)) - begin);
    });
  };
  if (dtype == int64)
    search(reinterpret_cast<std::int64_t*>(out.data()));
  else
    search(reinterpret_cast<std::int32_t*>(out.data()));
  return out;
}

}  // namespace meshwise::detail
