#pragma once
// What the ranks of a node share to know of each other without messages.

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace meshwise::detail {

enum class Presence : int { none, here, gone };

/// Local. Lies in shared memory; zero-filled pages are its initial state.
struct NodePage {
  struct Slot {
    pthread_mutex_t held_for_life;  // robust: locked by the rank's main thread until its goodbye
    std::atomic<Presence> state;
    int rank;
  };
  std::atomic<int> words;  // 0: nobody has printed a failure's words; 1: somebody is about to; 2: they are out
  int reserved[15];

  Slot& slot(int place) { return reinterpret_cast<Slot*>(this + 1)[place]; }
  void start(int count);
  void take(int place, int rank);
  bool has_died(int place);
};
static_assert(std::atomic<int>::is_always_lock_free && sizeof(NodePage) % alignof(NodePage::Slot) == 0);

struct NodeView {
  NodePage* page = nullptr;  // null where the node's ranks could not share one
  int place = 0, count = 1;
};
NodeView& node_page();

}  // namespace meshwise::detail
