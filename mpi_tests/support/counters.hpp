// Counts of MPI calls at the profiling layer (PMPI), to prove what the library sends and what it does not.
// A test file that includes this says `// counters` among its first lines.
#pragma once

#include <cstdint>
#include <string>

namespace support {

// Calls of one thread since it started. A difference of two snapshots is what lies between them.
struct Counters {
  std::uint64_t calls = 0;          // every counted MPI function, also Iprobe, Test and Wait
  std::uint64_t messages = 0;       // point-to-point messages sent
  std::uint64_t bytes = 0;          // their payload, and what this rank puts into collectives
  std::uint64_t received = 0;       // receives posted
  std::uint64_t collectives = 0;    // collective calls that move data or wait
  std::uint64_t polls = 0;          // Iprobe, Improbe, Test*
  std::uint64_t waits = 0;          // Wait*, Probe, Mprobe
  std::uint64_t communicators = 0;  // Comm_dup, Comm_split, Comm_create*, ...

  friend Counters operator-(Counters a, const Counters& b) {
    a.calls -= b.calls;
    a.messages -= b.messages;
    a.bytes -= b.bytes;
    a.received -= b.received;
    a.collectives -= b.collectives;
    a.polls -= b.polls;
    a.waits -= b.waits;
    a.communicators -= b.communicators;
    return a;
  }
  friend bool operator==(const Counters&, const Counters&) = default;
};

// This thread's counts so far.
Counters snapshot();

// The counts of all threads of this process together: a progress thread's too.
Counters snapshot_all_threads();

// "3 calls, 2 messages, 4096 bytes, ..." with what is zero left out.
std::string to_string(const Counters& counters);

}  // namespace support
