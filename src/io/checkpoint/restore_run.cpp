#include "io/checkpoint/restore_run.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/checkpoint/staging.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/node.hpp"
#include "meshwise/runtime/transport.hpp"
#include "plan/storage.hpp"

namespace meshwise::detail {

namespace {

// Four ranks have few bytes of memory beside the arrays in flight.
constexpr std::int64_t piece_bytes = 1 << 20;
// Shorter runs are read into the staging block, in one call with their neighbours.
constexpr std::int64_t shortest_direct = 64 << 10;

std::int64_t node_of(std::int64_t rank) { return topology().node_shares_memory ? topology().node_of(rank) : rank; }

StridedBox strided(const LocalArray& window) {
  StridedBox box{.base = window.data(),
                 .extents = window.shape().lengths(),
                 .strides = window.strides(),
                 .itemsize = itemsize(window.dtype()),
                 .block = window.block().get()};
  for (auto& stride : box.strides) stride *= static_cast<std::int64_t>(box.itemsize);
  return box;
}

Exchange& with(std::vector<Exchange>& exchanges, std::int64_t rank) {
  for (auto& exchange : exchanges)
    if (exchange.rank == rank) return exchange;
  return exchanges.emplace_back(Exchange{rank, {}});
}

RestorePlan plan_of(const Manifest& manifest, const std::vector<Wanted>& wanted) {
  std::vector<ArrayToLoad> arrays;
  arrays.reserve(wanted.size());
  for (const auto& w : wanted) {
    arrays.push_back({itemsize(w.array->dtype), manifest.boxes_of(*w.array), w.region, w.target});
  }
  std::vector<BlockRun> runs;
  for (std::size_t f = 0; f < manifest.files.size(); ++f)
    for (const auto& run : manifest.files[f].runs) runs.push_back({static_cast<std::int64_t>(f), run.offset, run.bytes, run.first_block});
  return plan_restore(arrays, runs, {block_bytes, piece_bytes}, node_of);
}

}  // namespace

RestoreRun::RestoreRun(const std::string& folder, const Manifest& manifest, std::vector<Wanted> wanted)
    : wanted_(std::move(wanted)), plan_(plan_of(manifest, wanted_)), files_(folder, manifest) {
  for (const auto& task : plan_.tasks)
    if (task.reader == process_index()) to_read_ += task.bytes;
}

void RestoreRun::allocate() {
  memory_.resize(plan_.homes.size());
  for (std::size_t h = 0; h < plan_.homes.size(); ++h)
    if (const auto& home = plan_.homes[h]; home.rank == process_index())
      memory_[h] = LocalArray(home.box.shape(), wanted_[static_cast<std::size_t>(home.array)].array->dtype);
  if (to_read_ > 0) staging_ = LocalArray(Shape{piece_bytes}, uint8).block();
}

void RestoreRun::run(const std::function<void()>& between) {
  std::vector<std::vector<const ReadTask*>> rounds(static_cast<std::size_t>(plan_.rounds));
  std::vector<const ReadTask*> own;
  for (const auto& task : plan_.tasks) {
    if (task.round >= 0)
      rounds[static_cast<std::size_t>(task.round)].push_back(&task);
    else if (task.reader == process_index())
      own.push_back(&task);
  }
  // One block is read while the peers copy from the one before.
  std::shared_ptr<Transfer> transfers[2];
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    auto& transfer = transfers[round % 2];
    if (transfer) std::exchange(transfer, nullptr)->wait();
    const auto ticket = enter_world_call({"load", hash_text("load, a round")});
    std::shared_ptr<Block> staging;
    for (const auto* task : rounds[round]) {
      if (task->reader != process_index()) continue;
      staging = fresh_staging(*task);
      read(*task, staging, between);
    }
    transfer = exchange(ticket, rounds[round], staging);
  }
  for (auto& transfer : transfers)
    if (transfer) transfer->wait();
  for (const auto* task : own)
    if (failure_.empty()) read(*task, staging_, between);
  files_.close();
  staging_.reset();
}

// A block that others copy from stays as it is; only the store knows when they have.
std::shared_ptr<Block> RestoreRun::fresh_staging(const ReadTask& task) {
  try {
    return LocalArray(Shape{task.bytes}, uint8).block();
  } catch (const std::exception& e) {
    if (failure_.empty()) failure_ = e.what();
    return staging_;
  }
}

void RestoreRun::read(const ReadTask& task, const std::shared_ptr<Block>& staging, const std::function<void()>& between) {
  try {
    const auto& source = files_[task.file];
    if (task.begins_block) checksum_ = 0;
    const auto take = [&](std::byte* to, std::int64_t from, std::int64_t bytes) {
      checksum_ = read_checksummed(source, {to, static_cast<std::size_t>(bytes)}, from, checksum_, [&](std::int64_t part) {
        done_ += part;
        between();
      });
    };
    std::vector<const Segment*> via_staging;
    auto at = task.offset;
    const auto to_staging = [&](std::int64_t until) { take(staging->data() + (at - task.offset), at, until - at); };
    for (const auto& segment : task.segments) {
      const auto bytes = segment.box.num_elements() * static_cast<std::int64_t>(itemsize(dtype_of(segment)));
      const auto homes = plan_.homes_of(segment.array);
      LocalArray direct;
      if (bytes >= shortest_direct && homes.size() >= 1) {
        const auto home = std::find_if(homes.begin(), homes.end(), [&](const Home& h) {
          return h.rank == process_index() && intersection(segment.box, h.box) == segment.box;
        });
        if (home != homes.end()) {
          const auto window = memory_[static_cast<std::size_t>(&*home - plan_.homes.data())].box(relative(segment.box, home->box));
          if (window.is_contiguous()) direct = window;
        }
      }
      // Elements that another rank wants too have to be where it can copy them from.
      if (direct.data() == nullptr || task.round >= 0) {
        via_staging.push_back(&segment);
        continue;
      }
      to_staging(segment.offset);
      take(direct.data(), segment.offset, bytes);
      at = segment.offset + bytes;
    }
    to_staging(task.offset + task.bytes);
    if (task.ends_block) files_.check(task.block, checksum_);
    for (const auto* segment : via_staging) {
      if (const auto homes = plan_.homes_of(segment->array);
          homes.size() == 1 || task.round < 0) {  // small boxes in the layout they are stored in
        const auto home =
            std::find_if(homes.begin(), homes.end(), [&](const Home& h) { return h.rank == process_index() && h.box == segment->box; });
        if (home != homes.end()) {
          const auto& memory = memory_[static_cast<std::size_t>(&*home - plan_.homes.data())];
          std::memcpy(memory.data(), staging->data() + (segment->offset - task.offset), static_cast<std::size_t>(memory.nbytes()));
          continue;
        }
      }
      const auto values = staged(task, *segment, staging);
      for (const auto& home : plan_.homes_of(segment->array)) {
        if (home.rank != process_index()) continue;
        const auto common = intersection(segment->box, home.box);
        if (common.empty()) continue;
        copy_values(values.box(relative(common, segment->box)),
                    memory_[static_cast<std::size_t>(&home - plan_.homes.data())].box(relative(common, home.box)));
      }
    }
  } catch (const std::exception& e) {
    if (failure_.empty()) failure_ = e.what();
  }
}

LocalArray RestoreRun::staged(const ReadTask& task, const Segment& segment, const std::shared_ptr<Block>& staging) const {
  return dense_in(staging, static_cast<std::size_t>(segment.offset - task.offset), segment.box.shape(), dtype_of(segment));
}

std::shared_ptr<Transfer> RestoreRun::exchange(const Ticket& ticket, std::span<const ReadTask* const> tasks,
                                               const std::shared_ptr<Block>& staging) {
  std::vector<Exchange> sends, receives;
  std::vector<std::shared_ptr<Block>> keep;
  for (const auto* task : tasks) {
    const bool mine = task->reader == process_index();
    for (const auto& segment : task->segments) {
      for (const auto& home : plan_.homes_of(segment.array)) {
        if (mine == (home.rank == process_index())) continue;
        const auto common = intersection(segment.box, home.box);
        if (common.empty()) continue;
        if (mine) {
          with(sends, home.rank).boxes.push_back(strided(staged(*task, segment, staging).box(relative(common, segment.box))));
        } else {
          const auto& memory = memory_[static_cast<std::size_t>(&home - plan_.homes.data())];
          with(receives, task->reader).boxes.push_back(strided(memory.box(relative(common, home.box))));
          keep.push_back(memory.block());
        }
      }
    }
  }
  if (sends.empty() && receives.empty()) return nullptr;
  if (!sends.empty()) keep.push_back(staging);
  return post(ticket, std::move(sends), std::move(receives), std::move(keep));
}

void RestoreRun::check() const {
  if (!failure_.empty()) throw CheckpointError(failure_);
}

std::vector<std::vector<LocalShard>> RestoreRun::shards() {
  // What this rank's other devices and the other ranks of its node hold of a home is the home's memory, lent.
  const auto ticket = enter_world_call({"load", hash_text("load, shared boxes")});
  struct Borrowed {
    std::int64_t lender;
    std::size_t home;
  };
  std::vector<Exchange> sends, receives;
  std::vector<std::shared_ptr<Block>> keep;
  std::vector<Borrowed> borrowed;
  for (std::size_t h = 0; h < plan_.homes.size(); ++h) {
    const auto& home = plan_.homes[h];
    const auto& devices = wanted_[static_cast<std::size_t>(home.array)].target.devices();
    std::vector<std::int64_t> ranks;
    for (const auto position : home.positions)
      if (const auto rank = devices[position].rank; rank != home.rank && std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
        ranks.push_back(rank);
    for (const auto rank : ranks) {
      if (home.rank == process_index()) {
        auto box = strided(memory_[h]);
        box.passing = Passing::lend;
        with(sends, rank).boxes.push_back(std::move(box));
        keep.push_back(memory_[h].block());
      } else if (rank == process_index()) {
        const LocalArray empty(home.box.shape(), wanted_[static_cast<std::size_t>(home.array)].array->dtype, nullptr, 0,
                               row_major_strides(home.box.shape()));
        auto box = strided(empty);
        box.passing = Passing::lend;
        with(receives, home.rank).boxes.push_back(std::move(box));
        borrowed.push_back({home.rank, h});
      }
    }
  }
  if (!sends.empty() || !receives.empty()) {
    std::vector<Borrowed> listed;  // as the transfer lists them: peer by peer
    for (const auto& exchange : receives)
      for (const auto& b : borrowed)
        if (b.lender == exchange.rank) listed.push_back(b);
    if (const auto transfer = post(ticket, std::move(sends), std::move(receives), std::move(keep))) {
      transfer->wait();
      for (std::size_t k = 0; k < listed.size(); ++k) {
        const auto& adopted = transfer->adopted()[k];
        const auto& home = plan_.homes[listed[k].home];
        const auto shape = home.box.shape();
        memory_[listed[k].home] = LocalArray(shape, wanted_[static_cast<std::size_t>(home.array)].array->dtype, adopted.block,
                                             adopted.offset, row_major_strides(shape));
      }
    }
  }
  std::vector<std::vector<LocalShard>> shards(wanted_.size());
  for (std::size_t a = 0; a < wanted_.size(); ++a) {
    const auto& devices = wanted_[a].target.devices();
    const auto homes = plan_.homes_of(static_cast<std::int64_t>(a));
    const auto shape = wanted_[a].region.shape();
    for (std::int64_t position = 0; position < devices.size(); ++position) {
      if (devices[position].rank != process_index()) continue;
      const auto home = std::find_if(homes.begin(), homes.end(), [&](const Home& h) {
        return std::find(h.positions.begin(), h.positions.end(), position) != h.positions.end();
      });
      shards[a].push_back({position, home != homes.end()
                                         ? memory_[static_cast<std::size_t>(&*home - plan_.homes.data())]
                                         : LocalArray(wanted_[a].target.index_at(shape, position).shape(), wanted_[a].array->dtype)});
    }
  }
  return shards;
}

}  // namespace meshwise::detail
