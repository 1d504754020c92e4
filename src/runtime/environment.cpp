// The library's beginning.
#include "meshwise/runtime/environment.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <memory>
#include <vector>

#include "meshwise/base/error.hpp"
#include "runtime/block_store.hpp"
#include "runtime/ending.hpp"
#include "runtime/mpi_begin.hpp"
#include "runtime/node.hpp"
#include "runtime/copier.hpp"
#include "runtime/runtime.hpp"
#include "runtime/system_memory.hpp"

namespace meshwise {
namespace detail {
namespace {

void check_first(const Runtime& r) {
  switch (r.life.load()) {
    case Life::before:
      return;
    case Life::ended:
      throw Error(
          "Environment: the library's Environment of this process has ended, and MPI with it: a second one cannot begin. Make one "
          "Environment, in main, "
          "and let it live as long as the program.");
    default:
      throw Error("Environment: there is one already. A process has one Environment; pass it on instead of making another.");
  }
}

void check_tags(const Runtime& r) {
  void* value = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found), "reading the tag bound");
  std::int64_t bound = found ? *static_cast<int*>(value) : 32767;
  if (r.settings.tag_bound > 0) bound = std::min(bound, r.settings.tag_bound);
  if (bound < highest_tag)
    throw Error(fmt::format("Environment: message tags may be {} at most here (MESHWISE_TAG_BOUND), and the library uses tags up to {}.",
                            bound, static_cast<int>(highest_tag)));
}

// Hosts of several kinds run the least of their instruction sets: what one rank is slow at, all wait for, and a result names one set.
void agree_kernels(const Runtime& r) {
  const int mine = static_cast<int>(std::min(r.settings.kernels, best_kernel_set()));
  int all = mine;
  check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, r.base), "agreeing on the instruction set");
  choose_kernel_set(static_cast<KernelSet>(all));
}

/// Collective over the world. The least that a rank has, and that the ranks of a node have together: their common control group's, or the machine's, where
/// the groups may be each rank's own.
void agree_memory(Runtime& r) {
  struct Memory {
    std::int64_t node, group, machine;
    std::uint64_t group_id;
  };
  const Memory mine{r.topology.node_of(r.rank), memory_total(), machine_memory(), control_group_id()};
  std::vector<Memory> all(static_cast<std::size_t>(r.size));
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, r.base), "agreeing on memory");
  std::map<std::int64_t, std::uint64_t> common;  // of each node's ranks; 0 where they differ
  for (const auto& each : all)
    if (const auto at = common.emplace(each.node, each.group_id).first; at->second != each.group_id) at->second = 0;
  for (const auto& each : all) {
    r.largest_block = std::min(r.largest_block, each.group);
    r.node_memory = std::min(r.node_memory, common[each.node] != 0 ? each.group : each.machine);
  }
  if (r.settings.memory_limit > 0) r.largest_block = std::min(r.largest_block, r.settings.memory_limit);
}

void begin(MPI_Comm from) {
  Runtime& r = runtime();
  claim_main_thread();
  r.base = duplicate(from);
  check_mpi(MPI_Comm_rank(r.base, &r.rank), "asking for the rank");
  check_mpi(MPI_Comm_size(r.base, &r.size), "asking for the size");
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "asking for the thread level");
  r.threads = level == MPI_THREAD_MULTIPLE;
  watch_exits();
  auto given = settings_of_first(r.base);
  try {
    r.settings = parse_settings(std::move(given));
    check_tags(r);
  } catch (const Error&) {
    begin_node(r, false);  // with it the ranks, which all throw this, can agree on one to print it
    throw;
  }
  agree_kernels(r);
  if (r.settings.large_from > 0) {
    set_streams_from(r.settings.large_from);
    Copier::set_most_band_bytes(r.settings.large_from);
  }
  begin_node(r, true);
  begin_engine(r);
  begin_agreements(r);
  agree_memory(r);
  const std::int64_t each = r.settings.devices_per_rank;
  set_world(r.size * each, each, r.rank);
  r.world = &r.ledger.find(devices().hash());
  r.world->member = true;
  r.life.store(Life::running, std::memory_order_release);
  if (r.size > 1 && r.threads && r.settings.progress_thread) start_progress_thread();
  if (r.size > 1) start_watchdog();
}

}  // namespace

void check_running(std::string_view operation) {
  const Runtime& r = runtime();
  if (r.running()) return;
  throw Error(
      r.life.load() == Life::before
          ? fmt::format("{}: there is no Environment yet. Make one first: `meshwise::Environment env(argc, argv);`", operation)
          : fmt::format("{}: the Environment has ended, and with it every operation and every read of values. Arrays keep their metadata; keep the "
                        "Environment until the last use of their values.",
                        operation));
}

}  // namespace detail

Environment::Environment() : exceptions_at_start_(std::uncaught_exceptions()) {
  detail::check_first(detail::runtime());
  detail::begin_mpi(nullptr, nullptr);
  detail::begin(MPI_COMM_WORLD);
}

Environment::Environment(int& argc, char**& argv) : exceptions_at_start_(std::uncaught_exceptions()) {
  detail::check_first(detail::runtime());
  detail::begin_mpi(&argc, &argv);
  detail::begin(MPI_COMM_WORLD);
}

Environment::Environment(detail::CommunicatorHandle communicator) : exceptions_at_start_(std::uncaught_exceptions()) {
  detail::check_first(detail::runtime());
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized)
    throw Error(
        "Environment(communicator): MPI has not been initialized. Call MPI_Init_thread first, or make an Environment without a "
        "communicator.");
  const MPI_Comm* const from = static_cast<const MPI_Comm*>(communicator.communicator);
  if (!from || *from == MPI_COMM_NULL)
    throw Error("Environment(communicator): this is no communicator (MPI_COMM_NULL). Only the ranks in it make the Environment.");
  detail::begin(*from);
}

Environment::~Environment() {
  if (std::uncaught_exceptions() > exceptions_at_start_) {
    detail::leave_by_exception();
    return;
  }
  detail::say_goodbye();
  detail::close_runtime();
}

}  // namespace meshwise
