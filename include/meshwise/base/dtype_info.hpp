#pragma once
// What the Array API standard tells of dtypes: limits, kinds, casts.

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "meshwise/base/dtype.hpp"

namespace meshwise {

/// Local. Of a floating dtype, or of the parts of a complex one: 1 to the next larger number, the largest, the least, and the least above 0 that has all of its digits.
struct FloatInfo {
  int bits;
  double eps, max, min, smallest_normal;
  Dtype dtype;
};
/// Local. Throws: DtypeError for another dtype.
FloatInfo finfo(Dtype dtype);

/// Local. Of an integer dtype. uint64's largest is the largest of std::uint64_t.
struct IntegerInfo {
  int bits;
  std::uint64_t max;
  std::int64_t min;
  Dtype dtype;
};
/// Local. Throws: DtypeError for another dtype.
IntegerInfo iinfo(Dtype dtype);

/// Local. Every value of `from` is one of `to`, or becomes one by promotion: promote_types(from, to) is `to`.
inline bool can_cast(Dtype from, Dtype to) { return promote_types(from, to) == to; }

/// Local. Whether the dtype is of that kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric". Throws: DtypeError for another
/// word.
bool isdtype(Dtype dtype, std::string_view kind);
/// Local. Whether it is that dtype, or of one of the kinds.
inline bool isdtype(Dtype dtype, Dtype other) { return dtype == other; }
inline bool isdtype(Dtype dtype, std::initializer_list<std::string_view> kinds) {
  bool is_one = false;
  for (const auto kind : kinds) is_one = isdtype(dtype, kind) || is_one;
  return is_one;
}

}  // namespace meshwise
