// Who shares a node, and what they share: the page by which they learn of each other's death, and the arena. Where that fails for any rank of a
// node, the node goes without.
#include "runtime/node.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/arena_store.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/node_page.hpp"
#include "runtime/runtime.hpp"
#include "runtime/system_memory.hpp"

namespace meshwise::detail {
namespace {

std::size_t page_bytes(int count) { return sizeof(NodePage) + static_cast<std::size_t>(count) * sizeof(NodePage::Slot); }

/// The node's page lies in its first rank's memory file.
bool map_page(NodeView& view, const Descriptor& file, int place, int count, MPI_Comm node, int rank) {
  const std::size_t bytes = page_bytes(count);
  void* const memory = file.valid() ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  const bool mapped = memory != MAP_FAILED;
  auto* const page = mapped ? static_cast<NodePage*>(memory) : nullptr;
  if (page && place == 0) page->start(count);
  if (!all_true(node, mapped)) return false;
  page->take(place, rank);
  all_true(node, true);  // every slot is taken before anybody looks
  view = {page, place, count};
  return true;
}

/// The arena, or nothing where one of the node's ranks can't have it.
void begin_arena(Runtime& r, MPI_Comm node, int place, std::vector<Descriptor> files, const ArenaLayout& layout) {
  bool fine = std::all_of(files.begin(), files.end(), [&](const Descriptor& file) {
    struct stat status {};
    return file.valid() && fstat(file.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == layout.end;
  });
  std::unique_ptr<Arena> arena;
  if (fine) arena = std::make_unique<Arena>(place, std::move(files), layout);
  fine = arena && arena->valid();
  if (!all_true(node, fine)) return;
  // Immortal: handles and other ranks' mappings may outlive the Environment.
  auto* const store = new ArenaStore(*arena.release());
  begin_node_exchange(r, *store, r.node_ranks);
  set_arena_store(store);
}

void share_memory(Runtime& r, MPI_Comm node, bool with_arena) {
  int place = 0, count = 1;
  check_mpi(MPI_Comm_rank(node, &place), "sharing memory");
  check_mpi(MPI_Comm_size(node, &count), "sharing memory");
  r.node_ranks.resize(static_cast<std::size_t>(count));
  check_mpi(MPI_Allgather(&r.rank, 1, MPI_INT, r.node_ranks.data(), 1, MPI_INT, node), "sharing memory");
  r.crowded = static_cast<unsigned>(count) > std::max(1u, std::thread::hardware_concurrency());
  if (count == 1) return;
  std::int64_t memory = memory_total();
  check_mpi(MPI_Bcast(&memory, 1, MPI_INT64_T, 0, node), "sharing memory");
  const auto layout = arena_layout(count, static_cast<std::uint64_t>(memory));
  const Descriptor page = place == 0 ? make_memory_file(page_bytes(count)) : Descriptor();
  const Descriptor arena = with_arena ? make_memory_file(layout.end) : Descriptor();
  auto files = share_descriptors(node, {page.get(), arena.get()});
  if (files.empty() || !map_page(node_page(), files[0][0], place, count, node, r.rank)) return;
  std::vector<Descriptor> arenas;
  for (auto& each : files) arenas.push_back(std::move(each[1]));
  if (with_arena) begin_arena(r, node, place, std::move(arenas), layout);
}

}  // namespace

NodeView& node_page() {
  static NodeView view;
  return view;
}

void NodePage::start(int count) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  for (int k = 0; k < count; ++k) pthread_mutex_init(&slot(k).held_for_life, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void NodePage::take(int place, int rank) {
  slot(place).rank = rank;
  pthread_mutex_lock(&slot(place).held_for_life);
  slot(place).state.store(Presence::here);
}

bool NodePage::has_died(int place) {
  // The kernel marks a robust mutex at once when its owner dies, before it frees the memory: milliseconds earlier than any socket closes.
  pthread_mutex_t& mutex = slot(place).held_for_life;
  switch (pthread_mutex_trylock(&mutex)) {
    case EOWNERDEAD:
      pthread_mutex_unlock(&mutex);
      return true;  // unrepaired, so that the next to ask is told as well
    case ENOTRECOVERABLE:
      return true;
    case 0:
      pthread_mutex_unlock(&mutex);
      return false;
    default:
      return false;
  }
}

void begin_node(Runtime& r, bool with_arena) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(r.base, MPI_COMM_TYPE_SHARED, r.rank, MPI_INFO_NULL, &host), "finding the node");
  MPI_Comm node = host;
  const auto& pretended = r.settings.nodes;
  if (!pretended.empty() || r.settings.node_size > 0) {
    const auto number = pretended.empty() ? r.rank / r.settings.node_size : pretended[static_cast<std::size_t>(r.rank) % pretended.size()];
    check_mpi(MPI_Comm_split(host, static_cast<int>(number), r.rank, &node), "finding the node");
  }
  std::int64_t leader = r.rank;
  check_mpi(MPI_Bcast(&leader, 1, MPI_INT64_T, 0, node), "finding the node");
  std::vector<std::int64_t> leaders(static_cast<std::size_t>(r.size));
  check_mpi(MPI_Allgather(&leader, 1, MPI_INT64_T, leaders.data(), 1, MPI_INT64_T, r.base), "finding the node");
  r.topology = Topology::of(leaders);
  share_memory(r, node, with_arena && r.settings.arena);
  const bool arenas = all_true(r.base, arena_store() != nullptr || r.node_ranks.size() == 1);
  const bool company = r.size > 1 && r.topology.ranks_per_node != 1;
  r.topology.node_shares_memory = arenas && company;
  if (with_arena && r.settings.arena && r.rank == 0 && company && !arenas)
    std::fprintf(stderr, "meshwise: the ranks of a node can't share memory here: blocks are private and travel as messages\n");
  if (node != host) MPI_Comm_free(&node);
  MPI_Comm_free(&host);
}

void leave_node() {
  auto& [page, place, count] = node_page();
  if (!page) return;
  page->slot(place).state.store(Presence::gone);
  pthread_mutex_unlock(&page->slot(place).held_for_life);
}

bool claim_words() {
  static std::atomic<bool> own{false};
  NodePage* const page = node_page().page;
  if (!page) return !own.exchange(true);
  int silent = 0;
  if (page->words.compare_exchange_strong(silent, 1)) return true;
  for (int k = 0; k < 300 && page->words.load() != 2; ++k) usleep(1000);  // whoever prints must not be ended in the middle of it
  return false;
}

void words_are_out() {
  if (NodePage* const page = node_page().page) page->words.store(2);
}

}  // namespace meshwise::detail
