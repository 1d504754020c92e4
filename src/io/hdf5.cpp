#include "meshwise/io/hdf5.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/draft.hpp"
#include "io/hdf5_file.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

using detail::agreed;
using detail::Ticket;

constexpr std::int64_t longest_slow_run = 1 << 15, few_runs = 256;

Ticket enter(std::string_view operation) { return detail::enter_world_call({operation, detail::hash_text(operation)}); }

// A sharding in a call's words. Equal words are equal places: the middle of a long list is not printed, so its hash is.
std::string words_of(const Sharding& sharding) {
  const auto& devices = sharding.devices();
  const auto rest = devices.size() > 64 ? fmt::format(" ({:016x})", devices.hash()) : std::string();
  return fmt::format("{} over {}{}", to_string(sharding), to_string(devices), rest);
}

// `float32 8 16`: what rank 0 found, as text.
std::string encode(const detail::Dataset& dataset) {
  return fmt::format("{} {}", name(dataset.dtype), fmt::join(dataset.shape.lengths(), " "));
}

struct Found {
  Dtype dtype = float32;
  Shape shape{};
};

Found decode(const std::string& text) {
  const auto space = text.find(' ');
  Found found{parse_dtype(text.substr(0, space)), {}};
  for (const char *p = text.data() + space, *end = text.data() + text.size(); p + 1 < end;) {
    std::int64_t length = 0;
    p = std::from_chars(p + 1, end, length).ptr;
    found.shape.push_back(length);
  }
  return found;
}

// Rank 0 reads what the dataset is and tells all, those outside the mesh too.
Found look_up(const std::string& call, const std::string& file, const std::string& dataset, const Ticket& ticket) {
  return decode(agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const detail::QuietErrors quiet;
    const auto open = detail::open_file(file, false);
    return encode(detail::open_dataset(open, detail::normalized_name(dataset)));
  })[0]);
}

// Opens the dataset, where another node's view of the file system may differ from rank 0's.
detail::Dataset open_same(hid_t file, const std::string& dataset, const Found& found) {
  auto open = detail::open_dataset(file, detail::normalized_name(dataset));
  if (open.dtype != found.dtype || open.shape != found.shape)
    throw CheckpointError(fmt::format("here it is {}[{}], for rank 0 it is {}[{}]: do all ranks see the same file?", name(open.dtype),
                                      joined(open.shape), name(found.dtype), joined(found.shape)));
  return open;
}

std::vector<detail::LocalShard> read_shards(const std::string& file, const std::string& dataset, const Found& found,
                                            const Sharding& sharding) {
  std::vector<detail::LocalShard> shards;
  std::vector<Index> boxes;
  std::optional<detail::Handle> open;
  std::optional<detail::Dataset> source;
  const detail::QuietErrors quiet;
  const auto& devices = sharding.devices();
  for (std::int64_t position = 0; position < devices.size(); ++position) {
    if (devices[position].rank != process_index()) continue;
    boxes.push_back(sharding.index_at(found.shape, position));
    const auto same = std::find(boxes.begin(), boxes.end(), boxes.back()) - boxes.begin();
    if (same + 1 < std::ssize(boxes)) {  // another device of this rank has that box: its values are shared
      shards.push_back({position, shards[static_cast<std::size_t>(same)].data});
      continue;
    }
    if (!source) {
      open.emplace(detail::open_file(file, false));
      source.emplace(open_same(*open, dataset, found));
    }
    shards.push_back({position, detail::read_box(*source, boxes.back())});
  }
  return shards;
}

std::string read_call(const std::string& file, const std::string& dataset) { return fmt::format("io::read('{}', '{}')", file, dataset); }

// Rank 0's draft as text for the others, who only need its file and the place in it.
std::string encode(const detail::Draft& draft) { return fmt::format("{} {}", draft.offset, draft.path); }

// Narrow columns would cost a system call for every few bytes: such an array is first brought into rows, on the same devices.
Array in_long_runs(const Array& x) {
  if (x.state()->kind != detail::State::Kind::shards) return x;
  const auto devices = x.sharding().devices();
  const auto shard = x.sharding().shard_shape(x.shape());
  const auto run = detail::run_length(x.shape(), Index::whole(shard));
  const auto run_bytes = run * x.itemsize();
  if (run == 0 || run_bytes >= longest_slow_run || shard.num_elements() / run <= few_runs) return x;
  std::int64_t axis = 0;
  while (axis < x.ndim() && x.shape()[axis] < devices.size()) ++axis;
  std::vector<SpecEntry> entries(static_cast<std::size_t>(axis == x.ndim() ? 0 : axis));
  entries.emplace_back("rows");
  Array rows;
  agree([&] { rows = device_put(x, NamedSharding(make_mesh({devices.size()}, {"rows"}, {.devices = devices}), PartitionSpec(entries))); });
  return rows;
}

void write_pieces(const Array& x, const std::string& path, std::int64_t offset) {
  std::optional<detail::BoxWriter> writer;
  const auto write_box = [&](const Index& box, const LocalArray& values) {
    if (box.empty()) return;
    if (!writer) writer.emplace(path, offset, x.shape(), x.dtype());
    writer->write(box, values.contiguous().data());
  };
  if (x.state()->kind == detail::State::Kind::shards) {
    for (const auto& shard : x.addressable_shards())
      if (shard.replica_id() == 0) write_box(shard.index(), shard.data());
  } else if (process_index() == 0) {
    // Every rank has the values; a recipe is made a few rows at a time.
    auto box = Index::whole(x.shape());
    const auto rows = x.ndim() > 0 ? x.shape()[0] : 1;
    const auto step = std::max<std::int64_t>(1, (std::int64_t{4} << 20) * rows / std::max<std::int64_t>(1, x.nbytes()));
    for (std::int64_t row = 0; row < rows; row += step) {
      if (x.ndim() > 0) box[0] = {row, std::min(rows, row + step)};
      write_box(box, detail::uncommitted_box(x, box));
    }
  }
  if (writer) writer->sync();
}

}  // namespace

Array read(const std::string& file, const std::string& dataset, const Sharding& sharding) {
  const auto ticket = enter("io::read");
  const auto call = read_call(file, dataset);
  detail::same_call("io::read", fmt::format("{} on {}", call, words_of(sharding)), ticket);
  const auto found = look_up(call, file, dataset, ticket);
  if (const auto entries = sharding.spec().size(); entries > found.shape.ndim())
    throw CheckpointError(fmt::format("{}: the dataset is {}[{}], so a spec has at most {} entries, and {} has {}", call, name(found.dtype),
                                      joined(found.shape), found.shape.ndim(), to_string(sharding.spec()), entries));
  std::vector<detail::LocalShard> shards;
  agreed(call, ticket, [&] {
    shards = read_shards(file, dataset, found, sharding);
    return std::string();
  });
  return detail::make_sharded_array(found.shape, found.dtype, sharding, true, std::move(shards));
}

Array read(const std::string& file, const std::string& dataset) {
  const auto ticket = enter("io::read");
  const auto call = read_call(file, dataset);
  detail::same_call("io::read", call, ticket);
  const auto found = look_up(call, file, dataset, ticket);
  LocalArray values;
  agreed(call, ticket, [&] {
    const detail::QuietErrors quiet;
    const auto open = detail::open_file(file, false);
    values = detail::read_box(open_same(open, dataset, found), Index::whole(found.shape));
    return std::string();
  });
  return detail::make_everywhere_array(std::move(values));
}

void write(const std::string& file, const std::string& dataset, const Array& x, WriteOptions options) {
  const auto ticket = enter("io::write");
  const auto call = fmt::format("io::write('{}', '{}', {}{})", file, dataset, type_string(x), options.append ? ", append" : "");
  // A rank that threw here alone, for an array it alone has freed, would leave the others waiting.
  detail::same_call("io::write", fmt::format("{} on {}{}", call, words_of(x.sharding()), x.is_deleted() ? ", a deleted array" : ""),
                    ticket);
  detail::check_alive(x, "io::write", "x");
  const auto rows = in_long_runs(x);

  detail::Draft draft;
  const auto place = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const detail::QuietErrors quiet;
    draft = detail::begin_draft(file, dataset, x.shape(), x.dtype(), options.append);
    return encode(draft);
  })[0];
  try {
    agreed(call, ticket, [&] {
      const auto space = place.find(' ');
      write_pieces(rows, place.substr(space + 1), std::stoll(place.substr(0, space)));
      return std::string();
    });
    agreed(call, ticket, [&] {
      const detail::QuietErrors quiet;
      if (process_index() == 0) detail::publish(draft);
      return std::string();
    });
  } catch (...) {
    const detail::QuietErrors quiet;
    if (process_index() == 0) detail::discard(draft);
    throw;
  }
}

}  // namespace meshwise::io
