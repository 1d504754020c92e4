#pragma once
// Everything that has a to_string can stand in fmt::format and meshwise::print.

#include <fmt/format.h>

#include <concepts>
#include <string>

#include "meshwise/array/array.hpp"
#include "meshwise/array/tree.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise::detail {
template <class T>
concept Printable = std::same_as<T, Shape> || std::same_as<T, Index> || std::same_as<T, Device> || std::same_as<T, DeviceList> ||
                    std::same_as<T, Mesh> || std::same_as<T, PartitionSpec> || std::derived_from<T, Sharding> || std::derived_from<T, Array> ||
                    std::derived_from<T, Tree>;
}  // namespace meshwise::detail

template <meshwise::detail::Printable T>
struct fmt::formatter<T> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return fmt::formatter<std::string>::format(meshwise::to_string(value), context);
  }
};

template <>
struct fmt::formatter<meshwise::Dtype> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(meshwise::Dtype value, Context& context) const {
    return fmt::formatter<std::string_view>::format(meshwise::name(value), context);
  }
};
