// MESHWISE_CHECK=lockstep: copies of a box that differ are no replicas, and a save would keep one of them without a word.

#include <cstring>
#include <map>

#include <fmt/format.h>

#include "array/lockstep.hpp"
#include "array/state.hpp"
#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/save_job.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t piece = 4096;  // elements a checksum is of

// `position, checksums` of each of this rank's shards, as bytes: what another rank needs to find the first piece that differs.
std::string checksums_of(const std::vector<LocalShard>& shards) {
  std::string text;
  const auto put = [&](std::int64_t value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const auto& shard : shards) {
    const auto values = shard.data.contiguous();
    const auto pieces = (values.size() + piece - 1) / piece, width = static_cast<std::int64_t>(itemsize(values.dtype()));
    put(shard.position);
    put(pieces);
    for (std::int64_t k = 0; k < pieces; ++k) {
      const auto bytes = std::min(piece, values.size() - k * piece) * width;
      put(crc32c({values.data() + k * piece * width, static_cast<std::size_t>(bytes)}));
    }
  }
  return text;
}

std::map<std::int64_t, std::vector<std::int64_t>> by_position(const std::vector<std::string>& texts) {
  std::map<std::int64_t, std::vector<std::int64_t>> all;
  for (const auto& text : texts) {
    std::vector<std::int64_t> numbers(text.size() / 8);
    std::memcpy(numbers.data(), text.data(), text.size());
    for (std::size_t at = 0; at < numbers.size(); at += 2 + static_cast<std::size_t>(numbers[at + 1]))
      all[numbers[at]].assign(numbers.begin() + static_cast<std::ptrdiff_t>(at) + 2,
                              numbers.begin() + static_cast<std::ptrdiff_t>(at) + 2 + numbers[at + 1]);
  }
  return all;
}

// The first element of a piece in which the shards at two positions differ.
std::int64_t first_difference(const std::vector<LocalShard>& shards, std::int64_t a, std::int64_t b, std::int64_t number,
                              const Ticket& ticket) {
  std::string mine[2];
  std::int64_t width = 1;
  for (const auto& shard : shards) {
    if (shard.position != a && shard.position != b) continue;
    const auto values = shard.data.contiguous();
    width = static_cast<std::int64_t>(itemsize(values.dtype()));
    mine[shard.position == a ? 0 : 1].assign(reinterpret_cast<const char*>(values.data()) + number * piece * width,
                                             static_cast<std::size_t>(std::min(piece, values.size() - number * piece) * width));
  }
  std::string both[2];
  for (int k = 0; k < 2; ++k)
    for (const auto& text : all_gather_text(mine[k] + static_cast<char>(width), ticket))
      if (text.size() > 1) {
        both[k] = text.substr(0, text.size() - 1);
        width = text.back();
      }
  std::int64_t byte = 0;
  while (byte < std::ssize(both[0]) && both[0][static_cast<std::size_t>(byte)] == both[1][static_cast<std::size_t>(byte)]) ++byte;
  return number * piece + byte / width;
}

}  // namespace

void compare_replicas(const SaveRequest& request) {
  if (!in_lockstep()) return;
  const auto ticket = enter_world_call({"save", hash_text("save, replicas")});
  for (std::size_t k = 0; k < request.leaves.arrays.size(); ++k) {
    const auto& x = request.leaves.arrays[k];
    if (x.state()->kind == State::Kind::everywhere) {
      compare_values(x.state()->everywhere, "save");
      continue;
    }
    if (x.state()->kind != State::Kind::shards || x.sharding().replicas().parts == 1) continue;
    const auto& shards = ready_shards(x);
    const auto checksums = by_position(all_gather_text(checksums_of(shards), ticket));
    std::map<std::string, std::int64_t> first;  // of each box
    for (const auto& [position, sums] : checksums) {
      const auto box = x.sharding().index_at(x.shape(), position);
      const auto [known, is_new] = first.try_emplace(to_string(box), position);
      if (is_new) continue;
      const auto& others = checksums.at(known->second);
      for (std::size_t number = 0; number < sums.size(); ++number) {
        if (sums[number] == others[number]) continue;
        const auto index = first_difference(shards, known->second, position, static_cast<std::int64_t>(number), ticket);
        throw MismatchError(fmt::format(
            "save: the copies of {} in {} differ: that on device {} and that on device {}, first at flat index {} of the box {}",
            request.leaves.names[k], type_string(x), x.sharding().devices().id(known->second), x.sharding().devices().id(position), index,
            known->first));
      }
    }
  }
}

}  // namespace meshwise::detail
