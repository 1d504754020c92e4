#include "runtime/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/block_store.hpp"

namespace meshwise::detail {
namespace {

constexpr std::uint64_t header_count = std::uint64_t{1} << 22;

}  // namespace

ArenaLayout arena_layout(int places, std::uint64_t bytes) {
  const auto count = static_cast<std::uint64_t>(places);
  ArenaLayout layout;
  layout.mail = whole_pages(1);  // after the control page
  // What letters say is short; many ranks on a node get smaller boxes, since there are places^2 of them.
  layout.mail_bytes = whole_pages(std::clamp<std::uint64_t>((std::uint64_t{1} << 20) / count, 16 << 10, 64 << 10));
  layout.headers = layout.mail + count * layout.mail_bytes;
  layout.header_count = header_count;
  layout.data = layout.headers + header_count * sizeof(BlockHeader);
  // Four times the machine's memory: address ranges are not moved together, so some lie idle. All arenas, twice, must fit in half of the address
  // space of a process.
  [[maybe_unused]] constexpr std::uint64_t address_space = std::uint64_t{1} << 46;
#ifdef MESHWISE_SANITIZED
  const std::uint64_t most = std::uint64_t{16} << 30;  // a thread sanitizer's share of the address space is small
#else
  const std::uint64_t most = address_space / 2 / count;
#endif
  layout.end = layout.data + whole_pages(std::clamp<std::uint64_t>(4 * bytes, std::uint64_t{1} << 30, most));
  return layout;
}

Arena::Arena(int place, std::vector<Descriptor> files, const ArenaLayout& layout) : place_(place), layout_(layout), mates_(files.size()) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    mates_[k].file = std::move(files[k]);
    void* const at = mmap(nullptr, layout.data, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, mates_[k].file.get(), 0);
    if (at == MAP_FAILED) return;
    madvise(at, layout.data, MADV_DONTDUMP);
    mates_[k].control = static_cast<std::byte*>(at);
  }
  auto& own = mates_[static_cast<std::size_t>(place)];
  std::byte* const data = map_data(own, true);
  own.read.store(data);
  own.write.store(data);
  valid_ = data != nullptr;
}

Arena::Arena(int place, Arena& other) : place_(place), layout_(other.layout_), mates_(other.mates_.size()) {
  valid_ = other.valid_;
  for (std::size_t k = 0; k < mates_.size(); ++k) {
    std::byte* const data = other.data_of(static_cast<int>(k), &Mate::write);
    mates_[k].file = Descriptor(dup(other.mates_[k].file.get()));
    mates_[k].control = other.mates_[k].control;
    mates_[k].read.store(data);
    mates_[k].write.store(data);
    valid_ = valid_ && data != nullptr;
  }
}

std::byte* Arena::map_data(Mate& mate, bool writing) const {
  const int protection = writing ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const at =
      mmap(nullptr, layout_.end - layout_.data, protection, MAP_SHARED | MAP_NORESERVE, mate.file.get(), static_cast<off_t>(layout_.data));
  if (at == MAP_FAILED) return nullptr;
  if (&mate != &mates_[static_cast<std::size_t>(place_)]) madvise(at, layout_.end - layout_.data, MADV_DONTDUMP);
  return static_cast<std::byte*>(at);
}

std::byte* Arena::data_of(int place, std::atomic<std::byte*> Mate::*mapping) {
  Mate& mate = mates_[static_cast<std::size_t>(place)];
  std::byte* base = (mate.*mapping).load(std::memory_order_acquire);
  if (base) return base;
  base = map_data(mate, mapping == &Mate::write);
  (mate.*mapping).store(base, std::memory_order_release);
  return base;
}

const std::byte* Arena::readable(BlockLocation block) {
  const std::byte* const base = data_of(block.place, &Mate::read);
  return base ? base + (header(block).offset - layout_.data) : nullptr;
}

std::byte* Arena::writable(BlockLocation block) {
  std::byte* const base = data_of(block.place, &Mate::write);
  return base ? base + (header(block).offset - layout_.data) : nullptr;
}

bool Arena::release(BlockLocation location) const {
  BlockHeader& block = header(location);
  // Everything this process read from the block comes before whatever its owner writes there next.
  if (block.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  if (location.place == place_) return true;
  auto& first = page(location.place).returned;
  std::uint32_t head = first.load(std::memory_order_relaxed);
  do {
    block.next.store(head, std::memory_order_relaxed);
  } while (!first.compare_exchange_weak(head, location.number + 1, std::memory_order_release, std::memory_order_relaxed));
  return false;
}

// Only the owner takes from the list, and takes all of it: so no block can come back between a look and an exchange.
std::vector<std::uint32_t> Arena::collect_returned() const {
  std::vector<std::uint32_t> numbers;
  auto& first = page(place_).returned;
  if (first.load(std::memory_order_relaxed) == 0) return numbers;
  for (std::uint32_t link = first.exchange(0, std::memory_order_acquire); link != 0;) {
    numbers.push_back(link - 1);
    link = header(place_, link - 1).next.load(std::memory_order_relaxed);
  }
  return numbers;
}

}  // namespace meshwise::detail
