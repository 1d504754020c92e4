#pragma once
// What a payload travels in.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace meshwise::detail {

/// Local. A buffer for chunks that do not lie in one run.
struct Staging {
  std::unique_ptr<std::byte[]> bytes;
  std::int64_t size = 0;
};

/// Local. A part of a task's payload that counts in the window. Between nodes it travels as several messages.
struct Chunk {
  std::int64_t offset = 0, length = 0;
  std::int64_t messages = 0;      // not through yet
  std::int64_t acknowledges = 0;  // bytes that the peer has received when all of them have left
  Staging staging{};
};

}  // namespace meshwise::detail
