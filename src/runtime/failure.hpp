#pragma once
// The sticky failure: what one rank alone met, known to all.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace meshwise::detail {

enum class FailureKind : std::uint8_t { collective, mismatch, communication };

class Failure {
 public:
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  /// Local. The first one stays. True if this is it.
  bool set(FailureKind kind, std::string words);
  /// Local. Throws it, if there is one.
  void raise();
  std::string words();
  FailureKind kind();
  void clear();

 private:
  std::atomic<bool> set_{false};
  std::mutex lock_;
  FailureKind kind_ = FailureKind::collective;
  std::string words_;
};

/// Local. Under the lock: makes it sticky here and sends it to every other rank, unless one is known already.
void spread_failure(FailureKind kind, const std::string& words);

/// Local. `rank 0 called #12 add float32[8]; rank 1 called #12 mul float32[8]`, the lower rank first, so that both ends say the same.
std::string mismatch_words(int rank, std::string_view text, int other, std::string_view other_text);

}  // namespace meshwise::detail
