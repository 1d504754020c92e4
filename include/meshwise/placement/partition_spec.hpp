#pragma once
// A partition spec: for each array axis, the mesh axes it is split over.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace meshwise {

/// Local. No mesh axis: the array axis is whole on every device.
inline constexpr std::nullptr_t none = nullptr;

/// Local. What one array axis is split over: nothing, one mesh axis, or an ordered tuple, first is major. An empty tuple or
/// name is none, a tuple of one is its element.
class SpecEntry {
 public:
  SpecEntry() = default;
  SpecEntry(std::nullptr_t) {}
  SpecEntry(const char* axis) : SpecEntry(std::string(axis)) {}
  SpecEntry(std::string axis) {
    if (!axis.empty()) axes_.push_back(std::move(axis));
  }
  // {"y", "z"} must be two names, not std::string's iterator pair: the initializer_list wins over every other constructor.
  SpecEntry(std::initializer_list<const char*> axes) : axes_(axes.begin(), axes.end()) {}
  SpecEntry(std::initializer_list<std::string> axes) : axes_(axes) {}
  SpecEntry(std::vector<std::string> axes) : axes_(std::move(axes)) {}

  const std::vector<std::string>& axes() const { return axes_; }
  bool empty() const { return axes_.empty(); }
  friend bool operator==(const SpecEntry& a, const SpecEntry& b) { return a.axes_ == b.axes_; }

 private:
  std::vector<std::string> axes_;
};

/// Local. One entry per array axis, from the first; missing ones are none. A value: P("x") != P("x", none), though they
/// place alike.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  explicit PartitionSpec(std::vector<SpecEntry> entries) : entries_(std::move(entries)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Local. Entry of an array axis; none beyond the end.
  const SpecEntry& operator[](std::int64_t axis) const;
  const std::vector<SpecEntry>& entries() const { return entries_; }
  /// Local. The same placement with exactly `ndim` entries. Throws: PlacementError when a later entry is not none.
  PartitionSpec padded(std::int64_t ndim) const;
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;

 private:
  std::vector<SpecEntry> entries_;
};

namespace detail {
struct SpecArgument {  // tells "not given" from "none given"
  SpecArgument() = default;
  SpecArgument(std::nullptr_t) : given(true) {}
  SpecArgument(const char* axis) : entry(axis), given(true) {}
  SpecArgument(std::string axis) : entry(std::move(axis)), given(true) {}
  SpecArgument(std::initializer_list<const char*> axes) : entry(axes), given(true) {}
  SpecArgument(std::initializer_list<std::string> axes) : entry(axes), given(true) {}
  SpecArgument(std::vector<std::string> axes) : entry(std::move(axes)), given(true) {}
  SpecArgument(SpecEntry e) : entry(std::move(e)), given(true) {}
  SpecEntry entry;
  bool given = false;
};
}  // namespace detail

/// Local. P("data", nullptr, {"x", "y"}): a spec of up to eight entries, as many as were given.
PartitionSpec P(detail::SpecArgument e0 = {}, detail::SpecArgument e1 = {}, detail::SpecArgument e2 = {}, detail::SpecArgument e3 = {},
                detail::SpecArgument e4 = {}, detail::SpecArgument e5 = {}, detail::SpecArgument e6 = {}, detail::SpecArgument e7 = {});

/// Local. `P('x', None)`, `P('x',)`, `P(('x', 'y'),)`, `P()`.
std::string to_string(const PartitionSpec& spec);

}  // namespace meshwise
