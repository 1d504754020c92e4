#pragma once
// Several calls on a tile that stays in the nearest caches, one after the other.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "array/dispatch.hpp"

namespace meshwise::detail {

/// Local. One call of a group, as its kernel is given tiles.
struct Member {
  struct Source {
    enum class Kind : std::uint8_t { outside, member, literal } kind = Kind::outside;
    std::size_t number = 0;  // of what is outside, or of an earlier member
    LocalArray literal{};
  };
  Kernel kernel{};
  std::function<void(std::span<const LocalArray> inputs, LocalArray& out)> into{};
  Dtype dtype = Dtype::float32;
  std::vector<Source> sources{};
};

/// Local. Kernels of a whole block of the result, of blocks of what is outside: the last member's values, ...
Kernel map_kernel(std::shared_ptr<const std::vector<Member>> members);
/// ... or its partials of the first operand's shape, combined tile by tile; `last` is the request that it was.
Kernel fold_kernel(std::shared_ptr<const std::vector<Member>> members, const Request& last);

}  // namespace meshwise::detail
