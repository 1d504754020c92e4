#include "meshwise/placement/mesh.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/shape.hpp"
#include "placement/text.hpp"

namespace meshwise {

struct Mesh::State {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> names;
  std::vector<AxisType> types;
  DeviceList devices;
  std::uint64_t hash;
  std::vector<std::int64_t> strides;

  bool same_as(const State& other) const {
    return hash == other.hash && sizes == other.sizes && names == other.names && types == other.types && devices == other.devices;
  }
};

namespace {

using State = Mesh::State;

// Equal meshes share one state while any handle lives. The table holds no mesh alive, and a dying state takes its own entry
// out, so meshes made and dropped leave nothing.
class Table {
 public:
  std::shared_ptr<const State> find(const State& wanted) {
    const std::scoped_lock lock(mutex_);
    return find_locked(wanted);
  }

  std::shared_ptr<const State> add(std::unique_ptr<State> state) {
    // The pointer is made outside the lock: its deleter takes the lock too.
    const auto* raw = state.release();
    std::shared_ptr<const State> made(raw, [this](const State* dead) { drop(dead); });
    const std::scoped_lock lock(mutex_);
    if (auto twin = find_locked(*raw)) {
      // `made` dies after the lock is released: it is declared before it.
      return twin;
    }
    entries_.emplace(raw->hash, Entry{raw, made});
    return made;
  }

 private:
  struct Entry {
    const State* state;
    std::weak_ptr<const State> handle;
  };

  std::shared_ptr<const State> find_locked(const State& wanted) {
    const auto [begin, end] = entries_.equal_range(wanted.hash);
    for (auto it = begin; it != end; ++it)
      if (auto live = it->second.handle.lock()) {
        if (live->same_as(wanted)) return live;
        others_.push_back(std::move(live));
      }
    return nullptr;
  }

  void drop(const State* dead) {
    const std::unique_ptr<const State> owner(dead);
    const std::scoped_lock lock(mutex_);
    const auto [begin, end] = entries_.equal_range(dead->hash);
    for (auto it = begin; it != end; ++it)
      if (it->second.state == dead) {
        entries_.erase(it);
        return;
      }
  }

  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
  std::vector<std::shared_ptr<const State>> others_;
};

}  // namespace
