#pragma once
// Values remembered by key, the last used first, bounded by the bytes they take.

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

namespace meshwise::detail {

template <class Key, class Value>
class Recent {
 public:
  explicit Recent(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Local. The value of the key that `is_it` accepts among those of this hash; null when it is not remembered.
  template <class Predicate>
  std::shared_ptr<const Value> find(std::uint64_t hash, Predicate&& is_it) {
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto at = first; at != last; ++at)
      if (is_it(at->second->key)) {
        entries_.splice(entries_.begin(), entries_, at->second);
        return at->second->value;
      }
    return nullptr;
  }

  void add(std::uint64_t hash, Key key, std::shared_ptr<const Value> value, std::size_t bytes) {
    bytes_ += bytes;
    entries_.push_front({std::move(key), std::move(value), hash, bytes});
    by_hash_.emplace(hash, entries_.begin());
    while (bytes_ > most_bytes_ && entries_.size() > 1) drop_oldest();
  }

  /// Local. What all values that are remembered take together.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    std::uint64_t hash;
    std::size_t bytes;
  };
  using Entries = std::list<Entry>;

  void drop_oldest() {
    const auto oldest = std::prev(entries_.end());
    const auto [first, last] = by_hash_.equal_range(oldest->hash);
    by_hash_.erase(std::find_if(first, last, [&](const auto& pair) { return pair.second == oldest; }));
    bytes_ -= oldest->bytes;
    entries_.erase(oldest);
  }

  std::size_t most_bytes_, bytes_ = 0;
  Entries entries_{};
  std::unordered_multimap<std::uint64_t, typename Entries::iterator> by_hash_{};
};

}  // namespace meshwise::detail
