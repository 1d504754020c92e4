#pragma once
// The copy behind copy_box, and a list of boxes seen as one run of bytes.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwise/runtime/transport.hpp"

namespace meshwise::detail {

/// Local. Copies an item of `itemsize` bytes per point of the box of `extents`; strides in bytes, any sign, 0 on the source to repeat.
void copy_strided(const std::byte* from, std::byte* to, std::size_t ndim, const std::int64_t* extents, const std::int64_t* from_strides,
                  const std::int64_t* to_strides, std::size_t itemsize);

/// Local. The bytes of some boxes, one box after the other, each in row-major order: what travels between two processes.
class Payload {
 public:
  Payload() = default;
  explicit Payload(std::vector<StridedBox> boxes);

  std::int64_t bytes() const { return bytes_; }
  /// Local. Where bytes [offset, offset + length) stand in memory if they stand there as one run; else null.
  std::byte* in_place(std::int64_t offset, std::int64_t length) const;
  void pack(std::int64_t offset, std::int64_t length, std::byte* to) const;
  void unpack(std::int64_t offset, std::int64_t length, const std::byte* from) const;

 private:
  // A box with an axis of single bytes added, so that a chunk may end anywhere; `dense` are the strides of its packed form.
  struct Piece {
    std::byte* base;
    std::int64_t start, bytes;
    PerAxis<std::int64_t> extents, strides, dense;
    std::int64_t run;  // bytes that stand together at the innermost
  };
  template <bool Packing>
  void copy(std::int64_t offset, std::int64_t length, std::byte* outside) const;
  template <bool Packing>
  static void copy_range(const Piece& piece, std::size_t axis, std::byte* at, std::int64_t from, std::int64_t to, std::byte*& outside);

  std::vector<Piece> pieces_;
  std::int64_t bytes_ = 0;
};

}  // namespace meshwise::detail
