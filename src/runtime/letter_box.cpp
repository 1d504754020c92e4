#include "runtime/letter_box.hpp"

namespace meshwise::detail {

std::uint64_t LetterBox::skipped_before(std::uint64_t frame) const {
  const std::uint64_t to_end = capacity_ - written_ % capacity_;
  return frame > to_end ? to_end : 0;
}

bool LetterBox::has_room(std::uint64_t bytes) {
  const std::uint64_t frame = frame_of(bytes), end = written_ + skipped_before(frame) + frame;
  if (end - known_read_ > capacity_) known_read_ = ring_->read.load(std::memory_order_acquire);
  return end - known_read_ <= capacity_;
}

std::byte* LetterBox::begin(std::uint64_t bytes) {
  if (!has_room(bytes)) return nullptr;
  const std::uint64_t frame = frame_of(bytes);
  if (const auto skipped = skipped_before(frame); skipped > 0) {
    *reinterpret_cast<Frame*>(byte(written_)) = {skipped, 1};
    written_ += skipped;
  }
  auto* const at = reinterpret_cast<Frame*>(byte(written_));
  *at = {frame, 0};
  written_ += frame;
  return reinterpret_cast<std::byte*>(at + 1);
}

const std::byte* LetterBox::front() {
  for (;;) {
    if (read_ == known_written_) {
      known_written_ = ring_->written.load(std::memory_order_acquire);
      if (read_ == known_written_) return nullptr;
    }
    const auto* const at = reinterpret_cast<const Frame*>(byte(read_));
    if (at->skip == 0) return reinterpret_cast<const std::byte*>(at + 1);
    read_ += at->bytes;
  }
}

void LetterBox::pop() {
  read_ += reinterpret_cast<const Frame*>(byte(read_))->bytes;
  ring_->read.store(read_, std::memory_order_release);
}

}  // namespace meshwise::detail
