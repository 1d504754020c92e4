#pragma once
// agree(f): what one rank alone meets inside f is the error of all, and nothing of f is left under way.
//
// A rank that leaves f by an exception comes to the verdict. Ranks that wait inside f for what it will never do are told, and leave f as well. When the
// verdict is a failure and calls were made inside f, all ranks void what these calls began: their transfers, letters, places in the sequences.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace meshwise::detail {

class Agreements {
 public:
  int depth() const { return static_cast<int>(under_way_.size()); }  // main thread
  void enter(std::uint64_t sequence);
  void leave();
  /// Local. Another rank has left the agreement that is call `sequence` of the world, with these words; `passed`: this rank has entered that call.
  void note(std::uint64_t sequence, std::string words, bool passed);
  /// Local. Throws: LeftTogether when an agreement under way here has been left by another rank. Cheap when none has.
  void raise();
  void forget();

 private:
  std::mutex lock_;
  std::vector<std::uint64_t> under_way_;        // the outermost first
  std::map<std::uint64_t, std::string> left_;
  std::atomic<bool> any_left_{false};
};

struct Runtime;
/// Collective over the world. The communicator that verdicts have for themselves.
void begin_agreements(Runtime& r);

}  // namespace meshwise::detail
