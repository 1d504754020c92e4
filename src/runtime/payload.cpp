#include <algorithm>
#include <utility>

#include "runtime/strided.hpp"

namespace meshwise::detail {

Payload::Payload(std::vector<StridedBox> boxes) {
  pieces_.reserve(boxes.size());
  for (auto& box : boxes) {
    const std::int64_t bytes = box.bytes();
    if (bytes == 0) continue;
    Piece piece{box.base, bytes_, bytes, std::move(box.extents), std::move(box.strides), {}, 0};
    piece.extents.push_back(static_cast<std::int64_t>(box.itemsize));
    piece.strides.push_back(1);
    // Rows that follow one another in memory are one axis: then whole chunks travel from and to their place.
    std::size_t kept = piece.extents.size() - 1;
    for (std::size_t k = kept; k-- > 0;) {
      if (piece.extents[k] == 1) continue;
      if (piece.strides[k] == piece.strides[kept] * piece.extents[kept]) {
        piece.extents[kept] *= piece.extents[k];
      } else {
        --kept;
        piece.extents[kept] = piece.extents[k];
        piece.strides[kept] = piece.strides[k];
      }
    }
    piece.extents = {piece.extents.begin() + kept, piece.extents.end()};
    piece.strides = {piece.strides.begin() + kept, piece.strides.end()};
    piece.run = piece.extents.back();
    piece.dense.resize(piece.extents.size(), 1);
    for (std::size_t k = piece.extents.size() - 1; k-- > 0;) piece.dense[k] = piece.dense[k + 1] * piece.extents[k + 1];
    bytes_ += bytes;
    pieces_.push_back(std::move(piece));
  }
}

std::byte* Payload::in_place(std::int64_t offset, std::int64_t length) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset, [](std::int64_t o, const Piece& p) { return o < p.start; });
  if (after == pieces_.begin()) return nullptr;
  const Piece& piece = *(after - 1);
  std::int64_t within = offset - piece.start;
  if (within % piece.run + length > piece.run) return nullptr;
  std::byte* at = piece.base;
  for (std::size_t k = 0; k < piece.extents.size(); ++k) {
    at += within / piece.dense[k] * piece.strides[k];
    within %= piece.dense[k];
  }
  return at;
}

// Bytes [from, to) of the packed form of axes `axis`..: whole sub-boxes go at once, the two ragged ends by recursion.
template <bool Packing>
void Payload::copy_range(const Piece& piece, std::size_t axis, std::byte* at, std::int64_t from, std::int64_t to, std::byte*& outside) {
  const std::int64_t step = piece.dense[axis];
  const std::size_t inner = axis + 1;
  std::int64_t first = from / step;
  const std::int64_t last = to / step;
  if (inner < piece.extents.size() && from % step != 0) {
    const std::int64_t end = std::min(to, (first + 1) * step);
    copy_range<Packing>(piece, inner, at + first * piece.strides[axis], from - first * step, end - first * step, outside);
    if (end == to) return;
    ++first;
  }
  if (last > first) {
    PerAxis<std::int64_t> extents(piece.extents.begin() + static_cast<std::ptrdiff_t>(axis), piece.extents.end());
    extents[0] = last - first;
    std::byte* const place = at + first * piece.strides[axis];
    if constexpr (Packing) {
      copy_strided(place, outside, extents.size(), extents.data(), &piece.strides[axis], &piece.dense[axis], 1);
    } else {
      copy_strided(outside, place, extents.size(), extents.data(), &piece.dense[axis], &piece.strides[axis], 1);
    }
    outside += (last - first) * step;
  }
  if (to > last * step) copy_range<Packing>(piece, inner, at + last * piece.strides[axis], 0, to - last * step, outside);
}

template <bool Packing>
void Payload::copy(std::int64_t offset, std::int64_t length, std::byte* outside) const {
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), offset, [](std::int64_t o, const Piece& p) { return o < p.start; });
  if (piece != pieces_.begin()) --piece;
  for (const std::int64_t end = offset + length; offset < end; ++piece) {
    const std::int64_t stop = std::min(end, piece->start + piece->bytes);
    copy_range<Packing>(*piece, 0, piece->base, offset - piece->start, stop - piece->start, outside);
    offset = stop;
  }
}

void Payload::pack(std::int64_t offset, std::int64_t length, std::byte* to) const { copy<true>(offset, length, to); }

void Payload::unpack(std::int64_t offset, std::int64_t length, const std::byte* from) const {
  copy<false>(offset, length, const_cast<std::byte*>(from));
}

}  // namespace meshwise::detail
