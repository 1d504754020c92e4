#pragma once
// Every wait of the library is one of these: it serves transfers, has a name, asks those who keep it waiting, and ends.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/base/function_ref.hpp"
#include "meshwise/runtime/sequence.hpp"
#include "runtime/ledger.hpp"

namespace meshwise::detail {

/// Local. A short pause of a thread that looks again at once.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Local. What is waited for.
struct Waiting {
  std::string_view what;
  const Ticket* ticket = nullptr;             // the call, if it is one
  const Words* words = nullptr;               // of the call, where the ledger may have forgotten it
  FunctionRef<std::vector<int>()> peers{};    // the ranks it needs
  bool through_failure = false;               // a goodbye goes on after a failure
  bool through_agreement = false;             // a verdict is reached when an agreement breaks up
  bool on_node = false;                       // for ranks that share memory with this one: soon over, if they are there
};

/// Local. Polls until done() (called without the lock). Throws: the sticky failure; inside agree(), that another rank has left it; CommunicationError at MESHWISE_TIMEOUT.
void wait_for(FunctionRef<bool()> done, const Waiting& waiting);

/// Local. The main thread's wait as other threads may see it. Filled only once a wait has lasted some milliseconds.
struct WaitNote {
  std::mutex lock;
  bool active = false;
  std::uint64_t number = 0;
  Clock::time_point since{};
  std::string what;
  std::uint64_t list = 0, sequence = 0, hash = 0;
  bool has_ticket = false;
  std::vector<int> peers;
  std::map<int, std::string> said;  // what peers answered
  Clock::time_point reported{};

  /// Local. `rank 0 has waited 5.0 s in #5 reshard float32[8] for rank 1 (outside the library; last call #4 add, 5.2 s ago)`. Needs the
  /// lock.
  std::string report(int rank) const;
};

}  // namespace meshwise::detail
