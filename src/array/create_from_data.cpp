// Arrays from what single ranks have: every rank reports what it passed, every rank judges all reports, and all throw the same.

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "array/call.hpp"
#include "array/move.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise {
namespace {

using detail::LocalShard;

/// Parts [lo, hi) of one axis: what this rank's devices hold between them.
struct Span {
  std::int64_t lo = 0, hi = 1;
  friend bool operator==(const Span&, const Span&) = default;
};

/// What one rank passed. `problem` is this rank's own finding (it could not allocate, say).
struct Report {
  std::int64_t devices = 0;
  std::vector<std::pair<Dtype, Shape>> pieces{};
  std::vector<Span> spans{};
  std::string problem{};
};

std::string packed(const Report& r) {
  std::string text = fmt::format("{} {}", r.devices, r.pieces.size());
  for (const auto& [dtype, shape] : r.pieces)
    text += fmt::format(" {} {} {}", static_cast<int>(dtype), shape.ndim(), fmt::join(shape.lengths(), " "));
  text += fmt::format(" {}", r.spans.size());
  for (const auto& s : r.spans) text += fmt::format(" {} {}", s.lo, s.hi);
  return text + "\n" + r.problem;
}

Report unpacked(const std::string& text) {
  Report r;
  std::istringstream in(text);
  std::size_t pieces = 0, spans = 0;
  in >> r.devices >> pieces;
  for (; pieces > 0; --pieces) {
    int dtype = 0;
    std::size_t ndim = 0;
    in >> dtype >> ndim;
    std::vector<std::int64_t> lengths(ndim);
    for (auto& n : lengths) in >> n;
    r.pieces.emplace_back(static_cast<Dtype>(dtype), Shape(std::move(lengths)));
  }
  in >> spans;
  for (r.spans.resize(spans); auto& s : r.spans) in >> s.lo >> s.hi;
  r.problem = text.substr(text.find('\n') + 1);
  return r;
}

std::vector<Report> exchange(const Report& mine, const detail::Ticket& ticket) {
  std::vector<Report> all;
  for (const auto& text : detail::all_gather_text(packed(mine), ticket)) all.push_back(unpacked(text));
  return all;
}

std::uint64_t call_hash(std::string_view operation, const Sharding& sharding, const Shape* shape) {
  return detail::mix(detail::mix(detail::hash_text(operation), sharding.hash()), shape != nullptr ? detail::hash_shape(*shape) : 0);
}

/// Throws what some rank reported, all of it, naming the ranks.
void throw_problems(std::string_view operation, const std::vector<Report>& all) {
  std::vector<std::string> lines;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].problem.empty()) lines.push_back(fmt::format("rank {}: {}", rank, all[rank].problem));
  if (!lines.empty()) throw PlacementError(fmt::format("{}: {}", operation, fmt::join(lines, "; ")));
}

/// The one dtype of all pieces. Throws: DtypeError listing each rank's where they differ.
Dtype agreed_dtype(std::string_view operation, const std::vector<Report>& all) {
  std::optional<Dtype> first;
  bool differ = false;
  std::vector<std::string> lines;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (const auto& [dtype, shape] : all[rank].pieces) {
      differ = differ || (first && *first != dtype);
      if (!first) first = dtype;
      const auto line = fmt::format("rank {} passed {}", rank, name(dtype));
      if (lines.empty() || lines.back() != line) lines.push_back(line);
    }
  if (differ) throw DtypeError(fmt::format("{}: the pieces of one array have one dtype, but {}", operation, fmt::join(lines, ", ")));
  return first.value_or(float32);
}

/// Shapes passed and wanted, compared on every rank alike.
class ShapeCheck {
 public:
  void add(std::size_t rank, const std::string& what, const Shape& passed, const Shape& wanted) {
    if (passed == wanted) return;
    lines_.push_back(fmt::format("rank {} passed {}{}, wanted {}", rank, what, to_string(passed), to_string(wanted)));
  }
  void finish(std::string_view operation, const Shape& shape, const Sharding& sharding) const {
    if (lines_.empty()) return;
    throw ShapeError(
        fmt::format("{}: pieces do not fit {} under {} on devices {}: {}; use make_array_from_callback to be asked for each box", operation,
                    to_string(shape), to_string(sharding.spec()), to_string(sharding.devices()), fmt::join(lines_, "; ")));
  }

 private:
  std::vector<std::string> lines_;
};

/// The parts this rank's devices hold along each axis. Throws: PlacementError when together they are no box.
std::vector<Span> held_spans(const Sharding& sharding, std::int64_t ndim, const std::vector<std::int64_t>& positions) {
  std::vector<Span> spans;
  std::vector<std::vector<std::int64_t>> held;
  for (const auto p : positions) {
    std::vector<std::int64_t> parts;
    for (std::int64_t d = 0; d < ndim; ++d) parts.push_back(sharding.split(d).part_at(p));
    held.push_back(std::move(parts));
  }
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::int64_t cells = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(ndim) && !held.empty(); ++d) {
    const auto [lo, hi] = std::minmax_element(held.begin(), held.end(), [d](const auto& a, const auto& b) { return a[d] < b[d]; });
    spans.push_back({(*lo)[d], (*hi)[d] + 1});
    cells *= spans.back().hi - spans.back().lo;
  }
  if (!held.empty() && cells != static_cast<std::int64_t>(held.size()))
    throw PlacementError("this rank's devices hold parts that are no box together; use make_array_from_callback");
  return spans;
}

Range span_range(const Span& span, std::int64_t parts, std::int64_t length) {
  return {part(span.lo, parts, length).start, part(span.hi - 1, parts, length).stop};
}

/// The length of an axis whose parts the ranks' pieces cover: what they passed, each span once.
std::int64_t stacked_length(const std::vector<Report>& all, std::size_t axis, std::int64_t parts) {
  std::vector<std::pair<Span, std::int64_t>> seen;
  std::int64_t covered = 0, length = 0;
  for (const auto& r : all) {
    if (r.devices == 0) continue;
    const auto& span = r.spans[axis];
    if (std::any_of(seen.begin(), seen.end(), [&](const auto& s) { return s.first == span; })) continue;
    seen.emplace_back(span, r.pieces.front().second[static_cast<std::int64_t>(axis)]);
    covered += span.hi - span.lo;
    length += seen.back().second;
  }
  if (covered != parts)
    throw PlacementError(fmt::format(
        "make_array_from_process_local_data: the ranks' pieces overlap along axis {}, so its length cannot be told; pass global_shape",
        axis));
  return length;
}

Shape stacked_shape(const std::vector<Report>& all, const Sharding& sharding) {
  const auto first = std::find_if(all.begin(), all.end(), [](const Report& r) { return r.devices > 0; });
  const auto ndim = first->pieces.front().second.ndim();
  std::vector<std::string> lines;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].devices > 0) lines.push_back(fmt::format("rank {} passed {}", rank, to_string(all[rank].pieces.front().second)));
  for (const auto& r : all)
    if (r.devices > 0 && r.pieces.front().second.ndim() != ndim)
      throw ShapeError(
          fmt::format("make_array_from_process_local_data: pieces of one array have equally many axes, but {}", fmt::join(lines, ", ")));
  Shape shape;
  for (std::int64_t d = 0; d < ndim; ++d) shape.push_back(stacked_length(all, static_cast<std::size_t>(d), sharding.split(d).parts));
  return shape;
}

}  // namespace

Array make_array_from_callback(const Shape& shape, Dtype dtype, const Sharding& sharding,
                               const std::function<void(const Index& box, LocalArray& out)>& callback) {
  static constexpr std::string_view operation = "make_array_from_callback";
  detail::enter_world_call(
      {operation, detail::mix(call_hash(operation, sharding, &shape), static_cast<std::uint64_t>(dtype)), dtype, &shape});
  shape.num_elements();
  sharding.check_fits(shape);
  std::vector<LocalShard> shards;
  agree([&] {
    const detail::CallbackScope scope(operation);
    for (const auto position : detail::local_positions(sharding.devices())) {
      const auto box = sharding.index_at(shape, position);
      const auto twin =
          std::find_if(shards.begin(), shards.end(), [&](const LocalShard& s) { return sharding.index_at(shape, s.position) == box; });
      if (twin != shards.end()) {
        shards.push_back({position, LocalArray(twin->data)});
        continue;
      }
      LocalArray out(box.shape(), dtype);
      callback(box, out);
      if (out.dtype() != dtype || out.shape() != box.shape())
        throw ShapeError(fmt::format("{}: the callback made {} of the box {} of {}, {} was wanted", operation,
                                     type_string(out.dtype(), out.shape()), to_string(box), type_string(dtype, shape),
                                     type_string(dtype, box.shape())));
      shards.push_back({position, std::move(out)});
    }
  });
  return detail::make_sharded_array(shape, dtype, sharding, true, std::move(shards));
}

Array make_array_from_process_local_data(const Sharding& sharding, const LocalArray& local, std::optional<Shape> global_shape) {
  static constexpr std::string_view operation = "make_array_from_process_local_data";
  const auto* given = global_shape ? &*global_shape : nullptr;
  const auto ticket = detail::enter_world_call(
      {operation, call_hash(operation, sharding, given), local.dtype(), given != nullptr ? given : &local.shape()});
  if (given != nullptr) {
    given->num_elements();
    sharding.check_fits(*given);
  }
  const auto positions = detail::local_positions(sharding.devices());
  Report mine;
  mine.devices = static_cast<std::int64_t>(positions.size());
  if (!positions.empty()) {
    mine.pieces.emplace_back(local.dtype(), local.shape());
    try {
      mine.spans = held_spans(sharding, given != nullptr ? given->ndim() : local.ndim(), positions);
    } catch (const PlacementError& error) {
      mine.problem = error.what();
    }
  }
  const auto all = exchange(mine, ticket);
  throw_problems(operation, all);
  const auto dtype = agreed_dtype(operation, all);
  const auto shape = given != nullptr ? *given : stacked_shape(all, sharding);
  sharding.check_fits(shape);
  ShapeCheck check;
  const auto union_box = [&](const Report& r) {
    Index box;
    for (std::int64_t d = 0; d < shape.ndim(); ++d)
      box.push_back(span_range(r.spans[static_cast<std::size_t>(d)], sharding.split(d).parts, shape[d]));
    return box;
  };
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].devices > 0) check.add(rank, "", all[rank].pieces.front().second, union_box(all[rank]).shape());
  check.finish(operation, shape, sharding);

  std::vector<LocalShard> shards;
  agree([&] {
    if (positions.empty()) return;
    const auto mine_box = union_box(mine);
    for (const auto position : positions) {
      auto box = sharding.index_at(shape, position);
      const auto twin =
          std::find_if(shards.begin(), shards.end(), [&](const LocalShard& s) { return sharding.index_at(shape, s.position) == box; });
      if (twin != shards.end()) {
        shards.push_back({position, LocalArray(twin->data)});
        continue;
      }
      LocalArray own(box.shape(), dtype);
      for (std::int64_t d = 0; d < box.ndim(); ++d) box[d] = {box[d].start - mine_box[d].start, box[d].stop - mine_box[d].start};
      copy_values(local.box(box), own);
      shards.push_back({position, std::move(own)});
    }
  });
  return detail::make_sharded_array(shape, dtype, sharding, true, std::move(shards));
}

Array make_array_from_single_device_arrays(const Shape& shape, const Sharding& sharding, const std::vector<LocalArray>& pieces) {
  static constexpr std::string_view operation = "make_array_from_single_device_arrays";
  const auto dtype_here = pieces.empty() ? float32 : pieces.front().dtype();
  const auto ticket = detail::enter_world_call({operation, call_hash(operation, sharding, &shape), dtype_here, &shape});
  shape.num_elements();
  sharding.check_fits(shape);
  const auto positions = detail::local_positions(sharding.devices());
  Report mine;
  mine.devices = static_cast<std::int64_t>(positions.size());
  for (const auto& piece : pieces) mine.pieces.emplace_back(piece.dtype(), piece.shape());
  const auto all = exchange(mine, ticket);
  std::vector<std::string> counts;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (static_cast<std::int64_t>(all[rank].pieces.size()) != all[rank].devices)
      counts.push_back(fmt::format("rank {} passed {} for its {} of the devices", rank, all[rank].pieces.size(), all[rank].devices));
  if (!counts.empty())
    throw ShapeError(fmt::format("{}: one array per device of the rank is wanted, in mesh order, on devices {}: {}", operation,
                                 to_string(sharding.devices()), fmt::join(counts, "; ")));
  const auto dtype = agreed_dtype(operation, all);
  ShapeCheck check;
  std::vector<std::size_t> next(all.size());
  for (std::int64_t position = 0; position < sharding.devices().size(); ++position) {
    const auto device = sharding.devices()[position];
    const auto rank = static_cast<std::size_t>(device.rank);
    check.add(rank, fmt::format("for device {} ", device.id), all[rank].pieces[next[rank]++].second,
              sharding.index_at(shape, position).shape());
  }
  check.finish(operation, shape, sharding);
  std::vector<LocalShard> shards;
  for (std::size_t i = 0; i < positions.size(); ++i) shards.push_back({positions[i], pieces[i]});
  return detail::make_sharded_array(shape, dtype, sharding, true, std::move(shards));
}

}  // namespace meshwise
