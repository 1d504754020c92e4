#include "array/lockstep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "array/call.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

std::uint64_t hash_values(const LocalArray& values) {
  std::uint64_t h = 0;
  const auto* bytes = values.data();
  for (std::int64_t i = 0; i < values.nbytes(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, static_cast<std::size_t>(std::min<std::int64_t>(8, values.nbytes() - i)));
    h = mix(h, word);
  }
  return h;
}

std::string element(const LocalArray& values, std::int64_t i) {
  return to_string(make_everywhere_array(values.reshaped({values.size()}).box({{i, i + 1}}).reshaped({})));
}

/// The first element where this rank's values differ from rank 0's, -1 where none does: found block by block.
std::vector<std::int64_t> first_differences(const LocalArray& values, const Ticket& ticket) {
  const auto width = static_cast<std::int64_t>(itemsize(values.dtype())), ranks = process_count();
  const auto block = std::max<std::int64_t>(1, 65536 / width);
  std::vector<std::int64_t> first(static_cast<std::size_t>(ranks), -1);
  std::vector<std::byte> all(static_cast<std::size_t>(block * width * ranks));
  for (std::int64_t start = 0; start < values.size(); start += block) {
    const auto count = std::min(block, values.size() - start);
    all_gather(devices(), values.data() + start * width, static_cast<std::size_t>(count * width), all.data(), ticket);
    bool found = false;
    for (std::int64_t rank = 1; rank < ranks; ++rank)
      for (std::int64_t i = 0; i < count && first[static_cast<std::size_t>(rank)] < 0; ++i)
        if (std::memcmp(all.data() + i * width, all.data() + (rank * count + i) * width, static_cast<std::size_t>(width)) != 0) {
          first[static_cast<std::size_t>(rank)] = start + i;
          found = true;
        }
    if (found) break;
  }
  return first;
}

}  // namespace

bool in_lockstep() {
  static const bool on = setting("MESHWISE_CHECK") == "lockstep" && process_count() > 1;
  return on && !rehearsing();
}

namespace {

/// The first rank whose word is not rank 0's; 0 where all agree.
std::size_t first_other(std::uint64_t mine, const Ticket& ticket) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(process_count()));
  all_gather(devices(), &mine, sizeof mine, all.data(), ticket);
  const auto other = std::find_if(all.begin(), all.end(), [&](std::uint64_t word) { return word != all[0]; });
  return other == all.end() ? 0 : static_cast<std::size_t>(other - all.begin());
}

}  // namespace

void compare_values(const LocalArray& values, std::string_view operation) {
  const auto ticket = enter_world_call({"values", 0});
  const auto other = first_other(hash_values(values), ticket);
  if (other == 0) return;
  const auto at = first_differences(values, ticket)[other];
  const auto said = all_gather_text(at < 0 ? "?" : element(values, at), ticket);
  throw MismatchError(fmt::format("{}: values differ between ranks 0 and {}: {}[{}] has {} on rank 0 and {} on rank {} at flat index {}. Every rank passes the same host values; data of one rank "
                                  "only is root_only(...), data in pieces make_array_from_process_local_data.",
                                  operation, other, name(values.dtype()), joined(values.shape()), said[0], said[other], other, at));
}

void compare_arguments(std::string_view operation, std::uint64_t hash, FunctionRef<std::string()> words, std::string_view cure) {
  const auto ticket = enter_world_call({"arguments", 0});
  const auto other = first_other(hash, ticket);
  if (other == 0) return;
  const auto said = all_gather_text(words(), ticket);
  throw MismatchError(fmt::format("{}: arguments differ between ranks 0 and {}: rank 0 {}, rank {} {}. {}", operation, other, said[0], other, said[other], cure));
}

void compare_placements(const Array& x, const Sharding& target, std::string_view operation) {
  compare_arguments(
      operation, mix(hash_type(x), target.hash()), [&] { return fmt::format("places {} to {}", type_string(x), to_string(target)); },
      "Every rank passes the same target; for data that each rank has a piece of, use make_array_from_process_local_data.");
}

}  // namespace meshwise::detail
