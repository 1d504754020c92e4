#include "ops/kernels/sort.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>
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

// Keys, and what goes with them; scratch for as many again.
template <class Key, class Payload>
void sort_pairs(Key* keys, Payload* payload, std::int64_t length, Key* more, Payload* more_payload) {
  if (length >= shortest_radix && length <= longest_radix) return radix_sort(keys, payload, length, more, more_payload);
  std::vector<std::pair<Key, Payload>> pairs(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {keys[i], payload[i]};
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < pairs.size(); ++i) payload[i] = pairs[i].second;
}

template <class T>
class LineSorter {
 public:
  using Key = UnsignedOf<sizeof(T)>;

  LineSorter(std::int64_t length, bool descending) : length_(length), descending_(descending), more_(length) {}

  void sort(T* line) {
    if constexpr (is_complex_v<T>) {
      const Scratch<Key> keys(length_);
      const Scratch<T> more(length_);
      for (std::int64_t i = 0; i < length_; ++i) keys.get()[i] = key_of(line[i], descending_);
      sort_pairs(keys.get(), line, length_, more_.get(), more.get());
    } else {
      const auto equals = is_float_v<T> ? unlike_equals(line) : Equals{};
      auto* const keys = make_keys(line);
      if (length_ < shortest_radix || length_ > longest_radix)
        std::sort(keys, keys + length_);
      else
        radix_sort<Key, char>(keys, nullptr, length_, more_.get(), nullptr);
      const auto flip = descending_ ? static_cast<Key>(~Key{0}) : Key{0};
      for (std::int64_t i = 0; i < length_; ++i) {
        const auto value = value_of_key<T>(static_cast<Key>(keys[i] ^ flip));
        std::memcpy(keys + i, &value, sizeof value);
      }
      for (const auto& values : {equals.zeros, equals.nans})
        if (!values.empty()) std::copy(values.begin(), values.end(), std::find_if(line, line + length_, [&](T x) { return sort_key(x) == sort_key(values[0]); }));
    }
  }

  // The line is used up.
  template <class Place>
  void sort_places(T* line, Place* places, Place* more) {
    sort_pairs(make_keys(line), places, length_, more_.get(), more);
  }

 private:
  // Values of one key that are not the same bits: they go back in the order they had.
  struct Equals {
    std::vector<T> zeros{}, nans{};
  };

  Equals unlike_equals(const T* line) const {
    const auto zero = sort_key(T{}), nan = static_cast<Key>(~Key{0});
    bool negative_zeros = false, nans = false;
    for (std::int64_t i = 0; i < length_; ++i) {
      nans |= is_nan(line[i]);
      negative_zeros |= std::bit_cast<Key>(line[i]) == zero;  // the key of zeros is the bits of -0
    }
    Equals equals;
    if (negative_zeros) std::copy_if(line, line + length_, std::back_inserter(equals.zeros), [&](T x) { return sort_key(x) == zero; });
    if (nans) std::copy_if(line, line + length_, std::back_inserter(equals.nans), [&](T x) { return sort_key(x) == nan; });
    return equals;
  }

  // In the line's own memory: keys have the size of values.
  Key* make_keys(T* line) const {
    auto* const keys = reinterpret_cast<Key*>(line);
    for (std::int64_t i = 0; i < length_; ++i) {
      const auto key = key_of(line[i], descending_);
      std::memcpy(keys + i, &key, sizeof key);
    }
    return keys;
  }

  std::int64_t length_;
  bool descending_;
  Scratch<Key> more_;
};

template <class F>
void visit_places(Dtype dtype, F&& f) {
  if (dtype == int64)
    f(std::int64_t{});
  else
    f(std::int32_t{});
}

}  // namespace

LocalArray run_sort(const LocalArray& x, std::int64_t axis, bool descending) {
  const auto order = axis_last(x.ndim(), axis);
  const auto lines = x.transposed(order);
  LocalArray out(lines.shape(), x.dtype());
  copy_values(lines, out);
  const auto length = x.shape()[axis];
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    LineSorter<T> sorter(length, descending);
    for (std::int64_t at = 0; at < out.size(); at += length) sorter.sort(reinterpret_cast<T*>(out.data()) + at);
  });
  return out.transposed(inverse(order));
}

LocalArray run_argsort(const LocalArray& x, std::int64_t axis, bool descending, Dtype dtype) {
  const auto order = axis_last(x.ndim(), axis);
  const auto lines = x.transposed(order).contiguous();
  LocalArray out(lines.shape(), dtype);
  const auto length = x.shape()[axis];
  visit_places(dtype, [&]<class Place>(Place) {
    visit(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      LineSorter<T> sorter(length, descending);
      const Scratch<T> line(length);
      const Scratch<Place> more(length);
      for (std::int64_t at = 0; at < out.size(); at += length) {
        std::copy_n(reinterpret_cast<const T*>(lines.data()) + at, length, line.get());
        auto* const places = reinterpret_cast<Place*>(out.data()) + at;
        std::iota(places, places + length, Place{0});
        sorter.sort_places(line.get(), places, more.get());
      }
    });
  });
  return out.transposed(inverse(order));
}

void sort_in_place(const LocalArray& x, bool descending) {
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    LineSorter<T>(x.size(), descending).sort(reinterpret_cast<T*>(x.data()));
  });
}

void sort_places(const LocalArray& values, const LocalArray& places, bool descending) {
  visit_places(places.dtype(), [&]<class Place>(Place) {
    visit(values.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const Scratch<Place> more(places.size());
      LineSorter<T>(values.size(), descending)
          .sort_places(reinterpret_cast<T*>(values.data()), reinterpret_cast<Place*>(places.data()), more.get());
    });
  });
}

void add_counts_before(const LocalArray& sorted, const LocalArray& values, bool or_equal, bool descends, const LocalArray& counts) {
  const auto wanted = values.contiguous();
  const auto stride = sorted.strides()[0] * (descends ? -1 : 1);
  visit_places(counts.dtype(), [&]<class Place>(Place) {
    visit(sorted.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto* to = reinterpret_cast<Place*>(counts.data());
      const auto* first = reinterpret_cast<const T*>(sorted.data());
      if (descends && sorted.size() > 0) first -= stride * (sorted.size() - 1);
      const auto* value = reinterpret_cast<const T*>(wanted.data());
      for (std::int64_t i = 0; i < wanted.size(); ++i) {
        const auto key = sort_key(value[i]);
        const auto counts_here = [&](std::int64_t place) {
          const auto here = sort_key(first[place * stride]);
          return or_equal ? here <= key : here < key;
        };
        std::int64_t count = 0;
        // Of panels of a longer vector all but one lie on one side of the value.
        auto left = sorted.size();
        if (left > 0 && counts_here(left - 1))
          count = std::exchange(left, 0);
        else if (left > 0 && !counts_here(0))
          left = 0;
        while (left > 0) {
          const auto half = left / 2;
          const bool before = counts_here(count + half);
          count = before ? count + half + 1 : count;
          left = before ? left - half - 1 : half;
        }
        to[i] = static_cast<Place>(to[i] + static_cast<Place>(descends ? sorted.size() - count : count));
      }
    });
  });
}

}  // namespace meshwise::detail
