#include "io/checkpoint/manifest.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/base/function_ref.hpp"
#include "meshwise/plan/propagation.hpp"

namespace meshwise::detail {

namespace {

using json = nlohmann::ordered_json;

json to_json(const StoredSharding& s) {
  auto spec = json::array();
  for (const auto& entry : s.spec) spec.push_back(entry.empty() ? json(nullptr) : entry.size() == 1 ? json(entry[0]) : json(entry));
  return {{"axis_sizes", s.axis_sizes},
          {"axis_names", s.axis_names},
          {"axis_types", s.axis_types},
          {"devices", s.devices},
          {"spec", std::move(spec)}};
}

StoredSharding sharding_of(const json& j) {
  StoredSharding s{j.at("axis_sizes"), j.at("axis_names"), j.at("axis_types"), j.at("devices"), {}};
  for (const auto& entry : j.at("spec"))
    s.spec.push_back(entry.is_null()     ? std::vector<std::string>()
                     : entry.is_string() ? std::vector<std::string>{entry.get<std::string>()}
                                         : entry.get<std::vector<std::string>>());
  return s;
}

// JSON has no words for numbers that are not finite.
json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

double number_of(const json& j) {
  if (j.is_number()) return j.get<double>();
  const auto word = j.get<std::string>();
  return word == "NaN"         ? std::numeric_limits<double>::quiet_NaN()
         : word == "-Infinity" ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
}

// `words` are asked for only where they are needed: there is a check for each of many thousand boxes.
void must(bool holds, FunctionRef<std::string()> words) {
  if (!holds) throw CheckpointError("the manifest cannot be: " + words());
}

// Every element of the array is in one box, or the sum of the boxes would differ or two of them meet.
void check_boxes(const Manifest& m, const StoredArray& array) {
  must(array.first_box >= 0 && array.boxes >= 0 && array.first_box <= std::ssize(m.boxes) &&
           array.boxes <= std::ssize(m.boxes) - array.first_box,
       [&] { return array.name + " has boxes that are not there"; });
  std::int64_t elements = 0;
  for (const auto& stored : m.boxes_of(array)) {
    must(stored.file >= 0 && stored.file < std::ssize(m.files), [&] { return array.name + " lies in a file that is not there"; });
    std::int64_t size = 1;
    for (std::int64_t axis = 0; axis < array.shape.ndim(); ++axis) {
      const auto range = stored.box[axis];
      must(range.start >= 0 && range.start < range.stop && range.stop <= array.shape[axis],
           [&] { return fmt::format("{} has no box {}", array.name, to_string(stored.box)); });
      size *= range.size();
    }
    must(size <= array.shape.num_elements() - elements, [&] { return array.name + " has more elements in boxes than it has"; });
    elements += size;
    const auto& runs = m.files[static_cast<std::size_t>(stored.file)].runs;
    const auto bytes = size * static_cast<std::int64_t>(itemsize(array.dtype));
    must(std::any_of(runs.begin(), runs.end(),
                     [&](const StoredRun& run) {
                       return run.dtype == array.dtype && stored.offset >= run.offset && bytes <= run.bytes &&
                              stored.offset - run.offset <= run.bytes - bytes &&
                              (stored.offset - run.offset) % static_cast<std::int64_t>(itemsize(array.dtype)) == 0;
                     }),
         [&] { return fmt::format("{} has the box {} outside its file", array.name, to_string(stored.box)); });
  }
  must(elements == array.shape.num_elements(),
       [&] { return fmt::format("the boxes of {} are {} elements, and it has {}", array.name, elements, array.shape.num_elements()); });
  const auto boxes = m.boxes_of(array);
  constexpr std::size_t few = 256;  // all pairs of more would take long, and the checksum says that these are the boxes that were written
  for (std::size_t a = 0; a < std::min(boxes.size(), few); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      bool meet = true;
      for (std::int64_t axis = 0; axis < array.shape.ndim(); ++axis)
        meet = meet && !intersect(boxes[a].box[axis], boxes[b].box[axis]).empty();
      must(!meet,
           [&] { return fmt::format("{} has elements in both {} and {}", array.name, to_string(boxes[a].box), to_string(boxes[b].box)); });
    }
}

void check_files(const Manifest& m) {
  std::int64_t blocks = 0;
  for (const auto& file : m.files)
    for (const auto& run : file.runs) {
      must(run.offset >= 0 && run.offset <= largest_file && run.bytes > 0 && run.bytes <= largest_file && run.first_block == blocks &&
               run.bytes % static_cast<std::int64_t>(itemsize(run.dtype)) == 0,
           [&] { return file.name + " has a run that is none"; });
      blocks += run.blocks();
    }
  must(blocks == std::ssize(m.checksums), [&] { return fmt::format("there are {} checksums for {} blocks", m.checksums.size(), blocks); });
}

Shape shape_of(const json& lengths) {
  Shape shape;
  std::int64_t elements = 1;
  for (const std::int64_t length : lengths.get<std::vector<std::int64_t>>()) {
    must(length >= 0 && (length == 0 || elements <= std::numeric_limits<std::int64_t>::max() / 16 / length),
         [&] { return std::string("a length"); });
    elements *= std::max<std::int64_t>(length, 1);
    shape.push_back(length);
  }
  return shape;
}

Manifest read(const ManifestParts& parts) {
  const auto j = json::parse(parts.text);
  Manifest m;
  m.step = j.at("step");
  m.uuid = j.at("uuid");
  m.created = j.at("created");
  m.library = j.at("library");
  m.hdf5 = j.at("hdf5");
  m.world_size = j.at("world_size");
  m.tree = j.at("tree").dump();
  if (!j.at("metadata").is_null()) m.metadata = j.at("metadata").dump();
  for (const auto& [metric, value] : j.at("metrics").items()) m.metrics.emplace(metric, number_of(value));
  for (const auto& s : j.at("shardings")) m.shardings.push_back(sharding_of(s));
  for (const auto& f : j.at("files")) {
    ShardFile file{f.at("name"), {}};
    for (const auto& r : f.at("runs"))
      file.runs.push_back({parse_dtype(r.at("dtype").get<std::string>()), r.at("offset"), r.at("bytes"), r.at("first_block")});
    m.files.push_back(std::move(file));
  }
  m.checksums = parts.checksums;
  check_files(m);
  std::size_t range = 0;
  must(parts.places.size() % 2 == 0 && parts.ranges.size() % 2 == 0, [&] { return std::string("half a number"); });
  const auto& arrays = j.at("arrays");
  m.arrays.reserve(arrays.size());
  m.boxes.reserve(parts.places.size() / 2);
  for (const auto& row : arrays) {
    StoredArray array{
        row.at(0), parse_dtype(row.at(1).get_ref<const std::string&>()), shape_of(row.at(2)), row.at(3), std::ssize(m.boxes), row.at(4),
        row.at(5)};
    must(array.sharding < std::ssize(m.shardings) && array.boxes >= 0, [&] { return array.name; });
    for (std::int64_t b = 0; b < array.boxes; ++b) {
      const auto place = m.boxes.size() * 2;
      must(place + 1 < parts.places.size() && range + static_cast<std::size_t>(array.shape.ndim()) * 2 <= parts.ranges.size(),
           [&] { return std::string("too few boxes"); });
      StoredBox box{parts.places[place], parts.places[place + 1], {}};
      for (std::int64_t axis = 0; axis < array.shape.ndim(); ++axis, range += 2)
        box.box.push_back({parts.ranges[range], parts.ranges[range + 1]});
      m.boxes.push_back(std::move(box));
    }
    check_boxes(m, array);
    m.arrays.push_back(std::move(array));
  }
  must(m.boxes.size() * 2 == parts.places.size() && range == parts.ranges.size(), [&] { return std::string("too many boxes"); });
  return m;
}

}  // namespace

const StoredArray* Manifest::find(const std::string& name) const {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const StoredArray& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

const StoredArray& Manifest::array(const std::string& name) const {
  if (const auto* const found = find(name)) return *found;
  std::vector<std::string> names;
  for (const auto& array : arrays) names.push_back(array.name);
  throw CheckpointError(names.empty() ? fmt::format("step {} has no arrays", step)
                                      : fmt::format("step {} has no array {}; it has {}", step, name, some_of(names)));
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most_names = 8;
  const auto shown = names.size() > most_names + 1 ? most_names : names.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return shown < names.size() ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

ManifestParts encode(const Manifest& m) {
  ManifestParts parts;
  auto shardings = json::array(), files = json::array(), metrics = json::object();
  for (const auto& [metric, value] : m.metrics) metrics[metric] = number(value);
  for (const auto& sharding : m.shardings) shardings.push_back(to_json(sharding));
  for (const auto& file : m.files) {
    auto runs = json::array();
    for (const auto& run : file.runs)
      runs.push_back({{"dtype", name(run.dtype)}, {"offset", run.offset}, {"bytes", run.bytes}, {"first_block", run.first_block}});
    files.push_back({{"name", file.name}, {"runs", std::move(runs)}});
  }
  parts.text = json{{"format", "meshwise checkpoint"},
                    {"format_version", format_version},
                    {"step", m.step},
                    {"uuid", m.uuid},
                    {"created", m.created},
                    {"library", m.library},
                    {"hdf5", m.hdf5},
                    {"world_size", m.world_size},
                    {"block_bytes", block_bytes},
                    {"metadata", m.metadata.empty() ? json(nullptr) : json::parse(m.metadata)},
                    {"metrics", std::move(metrics)},
                    {"shardings", std::move(shardings)},
                    {"files", std::move(files)}}
                   .dump();
  // The long parts by hand: of ten thousand arrays a tree of JSON values would take longer than the arrays.
  parts.text.back() = ',';
  parts.text += fmt::format("\"tree\":{},\"arrays\":[", m.tree);
  for (const auto& array : m.arrays)
    fmt::format_to(std::back_inserter(parts.text), "{}[{},\"{}\",[{}],{},{},{}]", &array == m.arrays.data() ? "" : ",",
                   json(array.name).dump(), name(array.dtype), joined(array.shape), array.sharding, array.boxes, array.is_virtual);
  parts.text += "]}";
  parts.places.reserve(m.boxes.size() * 2);
  for (const auto& box : m.boxes) {
    parts.places.insert(parts.places.end(), {box.file, box.offset});
    for (const auto& range : box.box) parts.ranges.insert(parts.ranges.end(), {range.start, range.stop});
  }
  parts.checksums = m.checksums;
  return parts;
}

Manifest decode(const ManifestParts& parts) {
  try {
    return read(parts);
  } catch (const json::exception& e) {
    throw CheckpointError(fmt::format("the manifest cannot be read: {}", e.what()));
  } catch (const DtypeError& e) {
    throw CheckpointError(fmt::format("the manifest cannot be read: {}", e.what()));
  }
}

StoredSharding describe(const Sharding& sharding) {
  StoredSharding s;
  const auto& mesh = sharding.mesh();
  s.axis_sizes = mesh.axis_sizes();
  s.axis_names = mesh.axis_names();
  for (const auto type : mesh.axis_types()) s.axis_types.emplace_back(type == AxisType::Auto ? "Auto" : "Explicit");
  s.devices = mesh.devices().ids();
  for (const auto& entry : sharding.spec().entries()) s.spec.push_back(entry.axes());
  return s;
}

namespace {
PartitionSpec spec_of(const StoredSharding& sharding) {
  std::vector<SpecEntry> entries;
  for (const auto& axes : sharding.spec) entries.emplace_back(axes);
  return PartitionSpec(std::move(entries));
}
}  // namespace

std::string to_string(const StoredSharding& sharding) {
  std::string mesh;
  for (std::size_t axis = 0; axis < std::min(sharding.axis_names.size(), sharding.axis_sizes.size()); ++axis)
    mesh += fmt::format("{}'{}': {}", mesh.empty() ? "" : ", ", sharding.axis_names[axis], sharding.axis_sizes[axis]);
  return fmt::format("{} on Mesh({})", to_string(spec_of(sharding)), mesh);
}

std::string type_text(const Manifest& manifest, const StoredArray& array) {
  if (array.sharding < 0) return type_string(array.dtype, array.shape);
  return type_string(array.dtype, array.shape, spec_of(manifest.shardings[static_cast<std::size_t>(array.sharding)]));
}

}  // namespace meshwise::detail
