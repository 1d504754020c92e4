#pragma once
// The most a machine gives a copy: every rank copies its share once, contiguous, with streaming stores (64 bytes at a time, no read for
// ownership), between pages like the library's (memfd, shared, touched before). Rows call it `nt`.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

/// Shared pages of one memfd, page aligned, each touched.
class SharedBuffer {
 public:
  explicit SharedBuffer(std::size_t bytes) : bytes_(bytes) {
    const int file = memfd_create("benchmark", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
      throw std::system_error(errno, std::generic_category(), "memfd_create");
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (data_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    std::memset(data_, 1, bytes);
  }
  ~SharedBuffer() { munmap(data_, bytes_); }
  SharedBuffer(const SharedBuffer&) = delete;
  SharedBuffer& operator=(const SharedBuffer&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

#if defined(__x86_64__)
namespace streams {

__attribute__((target("avx512f"))) inline void avx512(std::byte* to, const std::byte* from, std::size_t blocks) {
  for (; blocks > 0; --blocks, to += 256, from += 256)
    for (int i = 0; i < 256; i += 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  _mm_sfence();
}

__attribute__((target("avx2"))) inline void avx2(std::byte* to, const std::byte* from, std::size_t blocks) {
  for (; blocks > 0; --blocks, to += 256, from += 256)
    for (int i = 0; i < 256; i += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
  _mm_sfence();
}

inline void sse2(std::byte* to, const std::byte* from, std::size_t blocks) {
  for (; blocks > 0; --blocks, to += 256, from += 256)
    for (int i = 0; i < 256; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  _mm_sfence();
}

}  // namespace streams
#endif

/// Copies with the widest streaming stores this machine has; `to` is aligned to 64 bytes.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t blocks = bytes / 256;
  if (__builtin_cpu_supports("avx512f"))
    streams::avx512(to, from, blocks);
  else if (__builtin_cpu_supports("avx2"))
    streams::avx2(to, from, blocks);
  else
    streams::sse2(to, from, blocks);
  std::memcpy(to + blocks * 256, from + blocks * 256, bytes - blocks * 256);
#else
  std::memcpy(to, from, bytes);
#endif
}

/// One rank's share of the roofline.
class Roofline {
 public:
  explicit Roofline(std::int64_t bytes) : from_(static_cast<std::size_t>(bytes)), to_(static_cast<std::size_t>(bytes)) {}
  void operator()() const { stream_copy(to_.data(), from_.data(), to_.size()); }

 private:
  SharedBuffer from_, to_;
};

}  // namespace bench
