// What plans and layouts are remembered in: the last used stay, within a bound of bytes.
// internals: src
#include "array/recent.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace meshwise::detail {
namespace {

/// The same, as a list in order of use.
class Model {
 public:
  explicit Model(std::size_t most) : most_(most) {}
  const int* find(int key) {
    for (std::size_t k = 0; k < entries_.size(); ++k)
      if (entries_[k].key == key) {
        const auto entry = entries_[k];
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(k));
        entries_.insert(entries_.begin(), entry);
        return &entries_.front().value;
      }
    return nullptr;
  }
  void add(int key, int value, std::size_t bytes) {
    entries_.insert(entries_.begin(), {key, value, bytes});
    const auto total = [&] {
      std::size_t sum = 0;
      for (const auto& e : entries_) sum += e.bytes;
      return sum;
    };
    while (total() > most_ && entries_.size() > 1) entries_.pop_back();
  }

 private:
  struct Entry {
    int key, value;
    std::size_t bytes;
  };
  std::size_t most_;
  std::vector<Entry> entries_;
};

TEST(Recent, ForgetsTheLeastRecentlyUsed) {
  Recent<int, int> recent(1000);
  Model model(1000);
  std::minstd_rand random(5);
  int found = 0, lost = 0;
  for (int step = 0; step < 20000; ++step) {
    const int key = static_cast<int>(random() % 40);
    const auto hash = static_cast<std::uint64_t>(key % 7);  // many keys of one hash
    const auto value = recent.find(hash, [&](int k) { return k == key; });
    const int* const wanted = model.find(key);
    ASSERT_EQ(value != nullptr, wanted != nullptr) << "step " << step;
    if (value) {
      ASSERT_EQ(*value, *wanted);
      ++found;
      continue;
    }
    ++lost;
    const std::size_t bytes = 1 + random() % 200;
    recent.add(hash, key, std::make_shared<const int>(step), bytes);
    model.add(key, step, bytes);
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(lost, 1000);
}

TEST(Recent, KeepsOneThatIsTooLarge) {
  Recent<int, int> recent(10);
  recent.add(1, 1, std::make_shared<const int>(1), 5);
  recent.add(2, 2, std::make_shared<const int>(2), 100);
  EXPECT_EQ(recent.find(1, [](int) { return true; }), nullptr);
  EXPECT_NE(recent.find(2, [](int) { return true; }), nullptr);
}

TEST(Recent, AValueInUseOutlivesItsPlace) {
  Recent<int, int> recent(10);
  recent.add(1, 1, std::make_shared<const int>(7), 10);
  const auto value = recent.find(1, [](int) { return true; });
  recent.add(2, 2, std::make_shared<const int>(8), 10);
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace meshwise::detail
