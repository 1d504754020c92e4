#include "array/strides.hpp"

namespace meshwise::detail {

std::optional<PerAxis<std::int64_t>> reshape_strides(const Shape& from, const PerAxis<std::int64_t>& from_strides,
                                                         const Shape& to) {
  PerAxis<std::int64_t> lengths, strides;
  for (std::int64_t d = 0; d < from.ndim(); ++d)
    if (from[d] != 1) {
      lengths.push_back(from[d]);
      strides.push_back(from_strides[static_cast<std::size_t>(d)]);
    }
  PerAxis<std::int64_t> out(to.lengths().size(), 1);
  std::size_t old_begin = 0;
  std::int64_t new_begin = 0;
  while (old_begin < lengths.size()) {
    while (new_begin < to.ndim() && to[new_begin] == 1) ++new_begin;
    if (new_begin == to.ndim()) return {};
    // The shortest groups of axes on both sides that hold equally many elements must be evenly spaced.
    std::size_t old_end = old_begin + 1;
    std::int64_t new_end = new_begin + 1;
    std::int64_t old_size = lengths[old_begin], new_size = to[new_begin];
    while (old_size != new_size) {
      if (old_size < new_size) {
        if (old_end == lengths.size()) return {};
        old_size *= lengths[old_end++];
      } else {
        if (new_end == to.ndim()) return {};
        new_size *= to[new_end++];
      }
    }
    for (std::size_t d = old_begin; d + 1 < old_end; ++d)
      if (strides[d] != strides[d + 1] * lengths[d + 1]) return {};
    std::int64_t stride = strides[old_end - 1];
    for (std::int64_t d = new_end; d-- > new_begin;) {
      out[static_cast<std::size_t>(d)] = stride;
      stride *= to[d];
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  return out;
}

}  // namespace meshwise::detail
