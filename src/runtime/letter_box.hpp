#pragma once
// Letters from one rank of a node to another: a ring in shared memory with one writer and one reader.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace meshwise::detail {

/// Local. A view of a ring of `bytes` bytes at `at`, zero-filled before its first use. A letter is written in place, then published; read in place, then
/// removed. Letters are multiples of 64 bytes and lie in one piece.
class LetterBox {
 public:
  LetterBox() = default;
  /// Local. With `goes_on` it begins where an earlier reader or writer stopped.
  LetterBox(std::byte* at, std::uint64_t bytes, bool goes_on = false) : ring_(reinterpret_cast<Ring*>(at)), capacity_(bytes - sizeof(Ring)) {
    if (!goes_on) return;
    written_ = known_written_ = ring_->written.load(std::memory_order_acquire);
    read_ = known_read_ = ring_->read.load(std::memory_order_acquire);
  }

  /// Local. The longest letter that surely finds room once the reader has emptied the box.
  std::uint64_t longest() const { return capacity_ / 4; }

  /// Local, writer. Whether begin() of so many bytes would succeed.
  bool has_room(std::uint64_t bytes);
  /// Local, writer. Room for a letter of `bytes`, or null while the box is full.
  std::byte* begin(std::uint64_t bytes);
  /// Local, writer. Sends what was begun.
  void publish() { ring_->written.store(written_, std::memory_order_release); }
  /// Local, writer. Bytes of payload that the reader has finished with, of all letters so far.
  std::uint64_t finished() const { return ring_->finished.load(std::memory_order_acquire); }

  /// Local, reader. The oldest letter, or null.
  const std::byte* front();
  void pop();
  void add_finished(std::uint64_t bytes) { ring_->finished.fetch_add(bytes, std::memory_order_release); }

 private:
  struct Ring {
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> read;
    alignas(64) std::atomic<std::uint64_t> finished;
  };
  static std::uint64_t frame_of(std::uint64_t bytes) { return (bytes + sizeof(Frame) + 63) / 64 * 64; }
  struct Frame {
    std::uint64_t bytes;  // of the frame, this word included
    std::uint64_t skip;   // nothing here: the ring's end was too near
  };
  std::uint64_t skipped_before(std::uint64_t frame) const;
  std::byte* byte(std::uint64_t position) const { return reinterpret_cast<std::byte*>(ring_ + 1) + position % capacity_; }

  Ring* ring_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t written_ = 0, read_ = 0;        // as this side knows them; a process is one side of a box
  std::uint64_t known_read_ = 0, known_written_ = 0;
};

}  // namespace meshwise::detail
