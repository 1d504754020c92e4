#include "ops/kernels/merge.hpp"

#include <algorithm>

#include "ops/kernels/sort_keys.hpp"

namespace meshwise::detail {

namespace {

template <class F>
void visit_keyed(Dtype dtype, F&& f) {
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_v<T>) f(T{});
  });
}

template <class T>
UnsignedOf<sizeof(T)> key_of(T x, bool descending) {
  using Key = UnsignedOf<sizeof(T)>;
  return static_cast<Key>(sort_key(x) ^ (descending ? static_cast<Key>(~Key{0}) : Key{0}));
}

// Two neighbouring runs into one; `places` may be null.
template <class T, class Place>
void merge_two(const T* values, const Place* places, std::int64_t middle, std::int64_t count, T* out, Place* out_places, bool descending) {
  std::int64_t a = 0, b = middle;
  for (std::int64_t k = 0; k < count; ++k) {
    const bool first = b == count || (a < middle && key_of(values[a], descending) <= key_of(values[b], descending));
    const auto from = first ? a++ : b++;
    out[k] = values[from];
    if (places != nullptr) out_places[k] = places[from];
  }
}

template <class T, class Place>
Runs merge_all(Runs from, std::vector<std::int64_t> ends, bool descending) {
  const bool placed = from.places.data() != nullptr;
  Runs to{LocalArray(from.values.shape(), from.values.dtype()),
          placed ? LocalArray(from.places.shape(), from.places.dtype()) : LocalArray()};
  while (ends.size() > 1) {
    std::vector<std::int64_t> merged;
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < ends.size(); r += 2) {
      const auto middle = ends[r], end = r + 1 < ends.size() ? ends[r + 1] : middle;
      const auto at = [&](const LocalArray& x, auto* type) {
        return x.data() != nullptr ? reinterpret_cast<decltype(type)>(x.data()) + begin : nullptr;
      };
      merge_two(at(from.values, static_cast<T*>(nullptr)), at(from.places, static_cast<Place*>(nullptr)), middle - begin, end - begin,
                at(to.values, static_cast<T*>(nullptr)), at(to.places, static_cast<Place*>(nullptr)), descending);
      merged.push_back(end);
      begin = end;
    }
    std::swap(from, to);
    ends = std::move(merged);
  }
  return from;
}

}  // namespace

bool has_sort_keys(Dtype dtype) { return !is_complex(dtype); }

KeyRange run_key_range(const LocalArray& sorted, std::uint64_t key, bool descending) {
  KeyRange range;
  visit_keyed(sorted.dtype(), [&]<class T>(T) {
    const auto *begin = reinterpret_cast<const T*>(sorted.data()), *end = begin + sorted.size();
    const auto* first = std::partition_point(begin, end, [&](T x) { return key_of(x, descending) < key; });
    const auto* last = std::partition_point(first, end, [&](T x) { return key_of(x, descending) <= key; });
    range = {first - begin, last - first};
  });
  return range;
}

Runs run_merge(const Runs& runs, std::vector<std::int64_t> ends, bool descending) {
  Runs out;
  visit_keyed(runs.values.dtype(), [&]<class T>(T) {
    out = runs.places.dtype() == int64 ? merge_all<T, std::int64_t>(runs, std::move(ends), descending)
                                       : merge_all<T, std::int32_t>(runs, std::move(ends), descending);
  });
  return out;
}

}  // namespace meshwise::detail
