#include "meshwise/io/hdf5.hpp"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/draft.hpp"
#include "io/hdf5_file.hpp"
#include "io/placed.hpp"
#include "io/write_whole.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

using detail::agreed;

Array read_onto(const std::string& file, const std::string& dataset, const Target& target, const std::string& where,
                const ReadOptions& options) {
  const auto ticket = detail::enter_world_call({"io::read", detail::hash_text("io::read")});
  const auto call = fmt::format("io::read('{}', '{}'{})", file, dataset, detail::words_of(options));
  detail::same_call("io::read", call + where, ticket);
  // Rank 0 reads what the dataset is and tells all, those outside the mesh too.
  const auto found = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const detail::QuietErrors quiet;
    const auto open = detail::open_file(file, false);
    const auto source = detail::open_dataset(open, detail::normalized_name(dataset));
    detail::PackedText text;
    detail::pack(text, {source.dtype, source.shape});
    return text.text();
  })[0];
  detail::UnpackedText text(found);
  const auto stored = detail::unpack_found(text);
  detail::Placed placed(call, stored, target, options);
  agreed(call, ticket, [&] {
    if (!placed.is_needed_here()) return std::string();
    const detail::QuietErrors quiet;
    const auto open = detail::open_file(file, false);
    const auto source = detail::open_same(open, detail::normalized_name(dataset), stored);
    placed.read([&](const detail::Region& region) { return detail::read_region(source, region); });
    return std::string();
  });
  return placed.array();
}

}  // namespace

Array read(const std::string& file, const std::string& dataset, const Sharding& sharding, const ReadOptions& options) {
  return read_onto(file, dataset, sharding, " on " + detail::words_of(sharding), options);
}

Array read(const std::string& file, const std::string& dataset, const ReadOptions& options) {
  return read_onto(file, dataset, {}, {}, options);
}

void write(const std::string& file, const std::string& dataset, const Array& x, WriteOptions options) {
  const auto ticket = detail::enter_world_call({"io::write", detail::hash_text("io::write")});
  const auto call = fmt::format("io::write('{}', '{}', {}{})", file, dataset, type_string(x), options.append ? ", append" : "");
  // A rank that threw here alone, for an array it alone has freed, would leave the others waiting.
  detail::same_call("io::write", fmt::format("{} on {}{}", call, detail::words_of(x.sharding()), x.is_deleted() ? ", a deleted array" : ""),
                    ticket);
  detail::check_alive(x, "io::write", "x");
  const detail::LaidOut item{"", {x.dtype(), x.shape()}, {}};
  detail::write_whole(call, ticket, {x}, [&] {
    return detail::begin_draft(file, detail::normalized_name(dataset), {&item, 1}, options.append);
  });
}

}  // namespace meshwise::io
