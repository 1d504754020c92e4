#pragma once
// The one immortal object of the library in this process. It is never destroyed: static arrays and handles may outlive main.

#include <mpi.h>

#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/plan/topology.hpp"
#include "runtime/agreement.hpp"
#include "runtime/control.hpp"
#include "runtime/engine.hpp"
#include "runtime/failure.hpp"
#include "runtime/group.hpp"
#include "runtime/ledger.hpp"
#include "runtime/settings.hpp"
#include "runtime/undo.hpp"
#include "runtime/waiting.hpp"

namespace meshwise::detail {

enum class Life : std::uint8_t { before, running, leaving, ended };

struct Runtime {
  std::atomic<Life> life{Life::before};
  int rank = 0, size = 1;
  MPI_Comm base = MPI_COMM_NULL;     // untouched: later duplicates come from it
  MPI_Comm data = MPI_COMM_NULL;     // payloads; collectives of the world's group
  MPI_Comm control = MPI_COMM_NULL;  // control messages; parent of the groups' communicators
  bool threads = false;              // MPI_THREAD_MULTIPLE
  Settings settings;
  Topology topology;
  std::vector<int> node_ranks;  // the world ranks on this node, ascending
  std::int64_t largest_block = std::numeric_limits<std::int64_t>::max(), node_memory = largest_block;
  bool crowded = false;         // more ranks on this node than cores: who waits makes room
  Agreements agreements;        // under way: local failures are agreed there, not sticky
  UndoList undo;                // of what they give away

  std::mutex lock;  // of engine, rolls, groups' making, and of the library's MPI calls that progress could meet
  Engine engine;
  Rolls rolls;
  Groups groups;

  Ledger ledger;
  Sequence* world = nullptr;  // of devices()
  std::string_view callback;  // the user callback this rank is inside of, if any
  Failure failure;
  WaitNote waiting;
  std::vector<std::function<void()>> shutdown_hooks;
  std::atomic<std::int64_t> bytes_copied{0};

  bool running() const { return life.load(std::memory_order_acquire) == Life::running; }
};

Runtime& runtime();

/// Local. True on the thread that made the Environment.
bool on_main_thread();
void claim_main_thread();

/// Local. Throws: CommunicationError with MPI's words.
void check_mpi(int code, std::string_view what);

/// Local. The thread that advances transfers while the program is elsewhere (progress_thread.cpp).
void start_progress_thread();
void stop_progress_thread();
/// Local. There is work that needs it now.
void wake_progress_thread();
/// Local. While it lives the waiting thread serves all transfers itself, and the progress thread stands aside.
class MainServes {
 public:
  MainServes();
  ~MainServes();
  MainServes(const MainServes&) = delete;
  MainServes& operator=(const MainServes&) = delete;
};

}  // namespace meshwise::detail
