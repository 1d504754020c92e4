// The block protocol of the arena: processes (and threads, for a sanitizer to watch) that publish, acquire, drop and recycle at random, against a model;
// letter boxes; address ranges.
// ranks: 1
// internals: src
// timeout: 120
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "runtime/arena_store.hpp"
#include "runtime/letter_box.hpp"

namespace {

using namespace meshwise::detail;

constexpr int places = 4;

/// As the runtime does: arenas and stores outlive everything.
ArenaStore& immortal_store(std::unique_ptr<Arena> arena) {
  static auto* const kept = new std::vector<std::pair<std::unique_ptr<Arena>, std::unique_ptr<ArenaStore>>>;
  auto store = std::make_unique<ArenaStore>(*arena);
  kept->emplace_back(std::move(arena), std::move(store));
  return *kept->back().second;
}

ArenaStore& immortal_store(std::vector<Descriptor> files, const ArenaLayout& layout) {
  return immortal_store(std::make_unique<Arena>(0, std::move(files), layout));
}

std::vector<Descriptor> duplicates(const std::vector<Descriptor>& files) {
  std::vector<Descriptor> out;
  for (const auto& file : files) out.emplace_back(dup(file.get()));
  return out;
}

std::vector<Descriptor> memory_files(const ArenaLayout& layout) {
  std::vector<Descriptor> files;
  for (int k = 0; k < places; ++k) files.push_back(make_memory_file(layout.end));
  return files;
}

void write_pattern(std::byte* at, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t k = 0; k + 8 <= bytes; k += 8) {
    const std::uint64_t word = seed * 0x9E3779B97F4A7C15 + k;
    std::memcpy(at + k, &word, 8);
  }
}

bool holds_pattern(const std::byte* at, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t k = 0; k + 8 <= bytes; k += 8) {
    const std::uint64_t word = seed * 0x9E3779B97F4A7C15 + k;
    if (std::memcmp(at + k, &word, 8) != 0) return false;
  }
  return true;
}

struct Letter {
  BlockLocation location;
  std::uint64_t bytes, seed;
};

// What one place does. The model is the seed that came with each block: a block that somebody holds a reference to never changes.
int act(ArenaStore& store, int steps, unsigned seed) {
  Arena& arena = store.arena();
  const auto& layout = arena.layout();
  const int place = arena.place();
  if (!arena.valid()) return 10;
  std::vector<LetterBox> out, in;
  for (int k = 0; k < places; ++k) {
    out.emplace_back(arena.letter_box(k, place), layout.mail_bytes);
    in.emplace_back(arena.letter_box(place, k), layout.mail_bytes);
  }
  struct Held {
    std::shared_ptr<Block> block;
    std::uint64_t seed;
  };
  std::vector<Held> held;
  std::mt19937_64 random(seed * 31 + static_cast<unsigned>(place));
  const auto drop = [&](std::size_t k) {
    const bool fine = holds_pattern(held[k].block->data(), held[k].block->size(), held[k].seed);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
    return fine;
  };
  for (int step = 0; step < steps; ++step) {
    switch (random() % 4) {
      case 0: {  // publish
        const std::size_t sizes[] = {8, 200, 5000, 300'000};
        const auto bytes = sizes[random() % (step % 50 == 0 ? 4 : 3)];
        const auto mark = random();
        auto block = store.allocate(bytes);
        write_pattern(block->data(), bytes, mark);
        held.push_back({std::move(block), mark});
        break;
      }
      case 1: {  // lend, mine or another's
        if (held.empty()) break;
        const auto& one = held[random() % held.size()];
        const auto to = random() % places;
        std::byte* const at = out[to].begin(sizeof(Letter));
        if (!at) break;  // its reader is slow
        const Letter letter{one.block->location(), one.block->size(), one.seed};
        arena.retain(letter.location);
        std::memcpy(at, &letter, sizeof letter);
        out[to].publish();
        break;
      }
      case 2: {  // acquire
        auto& box = in[random() % places];
        const std::byte* const at = box.front();
        if (!at) break;
        Letter letter;
        std::memcpy(&letter, at, sizeof letter);
        box.pop();
        held.push_back({store.adopt(letter.location, letter.bytes), letter.seed});
        if (!holds_pattern(held.back().block->data(), letter.bytes, letter.seed)) return 11;
        break;
      }
      default:
        if (held.size() > 20 || (!held.empty() && random() % 2 == 0)) {
          if (!drop(random() % held.size())) return 12;
        }
    }
  }
  while (!held.empty()) {
    if (!drop(held.size() - 1)) return 13;
  }
  return 0;
}

/// Letters that nobody read keep their blocks; all others came home: as many references as unread letters.
void expect_all_home(const Arena& seen) {
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> lent;
  for (int to = 0; to < places; ++to)
    for (int from = 0; from < places; ++from)
      for (LetterBox box(seen.letter_box(to, from), seen.layout().mail_bytes, true); const std::byte* const at = box.front(); box.pop()) {
        Letter letter;
        std::memcpy(&letter, at, sizeof letter);
        ++lent[{letter.location.place, letter.location.number}];
      }
  for (int place = 0; place < places; ++place)
    for (std::uint32_t number = 0; number < 20000; ++number) {
      const auto at = lent.find({place, number});
      ASSERT_EQ(seen.header(place, number).references.load(), at == lent.end() ? 0 : at->second) << place << ", block " << number;
    }
}

TEST(Arena, ProcessesNeverSeeABlockChange) {
  const auto layout = arena_layout(places, std::uint64_t{1} << 30);
  for (unsigned round = 0; round < 3; ++round) {
    const auto files = memory_files(layout);
    for (const auto& file : files) ASSERT_TRUE(file.valid());
    std::vector<pid_t> children;
    for (int place = 0; place < places; ++place) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) _exit(act(immortal_store(std::make_unique<Arena>(place, duplicates(files), layout)), 20000, round + 1));
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round << ", status " << status;
    }
    const Arena seen(0, duplicates(files), layout);
    ASSERT_TRUE(seen.valid());
    expect_all_home(seen);
  }
}

// The same with threads that share their mappings, so that a thread sanitizer sees who orders what.
TEST(Arena, ThreadsNeverSeeABlockChange) {
  const auto layout = arena_layout(places, std::uint64_t{1} << 30);
  for (unsigned round = 0; round < 3; ++round) {
    auto& first = immortal_store(std::make_unique<Arena>(0, memory_files(layout), layout));
    ASSERT_TRUE(first.arena().valid());
    std::vector<ArenaStore*> stores{&first};
    for (int place = 1; place < places; ++place) stores.push_back(&immortal_store(std::make_unique<Arena>(place, first.arena())));
    std::vector<int> codes(places, -1);
    std::vector<std::thread> threads;
    for (std::size_t place = 0; place < places; ++place) threads.emplace_back([&, place] { codes[place] = act(*stores[place], 10000, round + 10); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(codes, std::vector<int>(places, 0)) << "round " << round;
    expect_all_home(first.arena());
  }
}

TEST(Arena, ThreadsShareAStore) {
  const auto layout = arena_layout(1, std::uint64_t{1} << 30);
  std::vector<Descriptor> files;
  files.push_back(make_memory_file(layout.end));
  auto& store = immortal_store(std::move(files), layout);
  ASSERT_TRUE(store.arena().valid());
  std::mutex lock;
  std::deque<std::pair<std::shared_ptr<Block>, std::uint64_t>> shared;
  std::atomic<int> wrong{0};
  const auto work = [&](unsigned seed) {
    std::mt19937_64 random(seed);
    for (int step = 0; step < 5000; ++step) {
      const auto mark = random();
      auto block = store.allocate(64 + random() % 4000);
      write_pattern(block->data(), block->size(), mark);
      std::pair<std::shared_ptr<Block>, std::uint64_t> other;
      {
        const std::scoped_lock hold(lock);
        shared.emplace_back(std::move(block), mark);
        if (shared.size() > 16) {
          other = std::move(shared.front());
          shared.pop_front();
        }
      }
      if (other.first && !holds_pattern(other.first->data(), other.first->size(), other.second)) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < 4; ++k) threads.emplace_back(work, k + 1);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Arena, RecyclesAndGivesBack) {
  const auto layout = arena_layout(1, std::uint64_t{1} << 30);
  std::vector<Descriptor> files;
  files.push_back(make_memory_file(layout.end));
  auto& store = immortal_store(std::move(files), layout);
  const auto* const first = store.allocate(3 << 20)->data();
  EXPECT_EQ(store.allocate((3 << 20) - 100)->data(), first) << "about the same size";
  EXPECT_GE(store.pooled(), 3 << 20);
  store.trim();
  EXPECT_EQ(store.pooled(), 0);
  const auto* const small = store.allocate(1000)->data();
  for (int k = 0; k < 1000; ++k) EXPECT_EQ(store.allocate(1000)->data(), small) << "a thousand small blocks in turn are one";
}

TEST(Arena, RangesAreJoined) {
  FreeRanges ranges(1000, 2000);
  const auto a = *ranges.take(100), b = *ranges.take(200), c = *ranges.take(700);
  EXPECT_FALSE(ranges.take(1));
  ranges.give(a, 100);
  ranges.give(c, 700);
  EXPECT_FALSE(ranges.take(701));
  ranges.give(b, 200);
  EXPECT_EQ(*ranges.take(1000), 1000U);
}

TEST(SizeClasses, HoldWhatTheyAreFor) {
  std::uint64_t before = 0;
  for (std::uint32_t k = 0; k < size_class_count; ++k) {
    const auto capacity = capacity_of(k);
    EXPECT_GT(capacity, before);
    EXPECT_EQ(capacity % 64, 0U);
    EXPECT_EQ(size_class_for(capacity).number, k);
    EXPECT_EQ(size_class_for(capacity).capacity, capacity);
    EXPECT_EQ(size_class_for(before + 1).number, k);
    before = capacity;
  }
  EXPECT_EQ(size_class_for(0).number, 0U);
}

TEST(LetterBox, KeepsLettersInOrderAndWhole) {
  std::vector<std::uint64_t> memory(2048 + 64);
  auto* const at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
  LetterBox writer(at, 2048 * 8), reader(at, 2048 * 8);
  constexpr int letters = 20000;
  std::thread writes([&] {
    std::mt19937 random(1);
    for (int k = 0; k < letters; ++k) {
      const std::size_t bytes = 16 + random() % 3000;
      std::byte* place = nullptr;
      while (!(place = writer.begin(bytes))) std::this_thread::yield();
      std::memset(place, k % 251, bytes);
      std::memcpy(place, &bytes, sizeof bytes);
      writer.publish();
    }
  });
  std::mt19937 random(1);
  int wrong = 0;
  for (int k = 0; k < letters; ++k) {
    const std::size_t wanted = 16 + random() % 3000;
    const std::byte* place = nullptr;
    while (!(place = reader.front())) std::this_thread::yield();
    std::size_t bytes = 0;
    std::memcpy(&bytes, place, sizeof bytes);
    const auto value = static_cast<std::byte>(k % 251);
    if (bytes != wanted || std::any_of(place + 8, place + bytes, [&](std::byte b) { return b != value; })) ++wrong;
    reader.pop();
  }
  writes.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(reader.front(), nullptr);
}

}  // namespace
