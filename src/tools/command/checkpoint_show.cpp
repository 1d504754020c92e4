// meshwise checkpoint show: what a step holds, and how an array of it lies in the files.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "io/checkpoint/commit.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/tools/visualize.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::string run, step, array;
  bool json = false;
};

std::int64_t bytes_of(const detail::Manifest& m) {
  std::int64_t bytes = 0;
  for (const auto& array : m.arrays) bytes += array.nbytes();
  return bytes;
}

std::vector<std::string> row_of(const detail::Manifest& m, const std::string& label, const detail::StoredArray& array) {
  return {label, detail::type_text(m, array), bytes_text(array.nbytes()), counted(array.boxes, "box"),
          array.sharding >= 0 ? fmt::format("mesh {}", array.sharding) : "on every rank"};
}

// `key/` and below it, indented, what is in the container; leaves in columns.
void add_node(Table& table, const detail::Manifest& m, const nlohmann::json& node, const std::string& key, std::size_t depth) {
  const auto label = std::string(2 * depth, ' ') + key;
  if (node.is_null()) return table.add({label, "nothing"});
  if (node.is_number_unsigned()) {
    const auto number = node.get<std::size_t>();
    if (number >= m.arrays.size()) throw CheckpointError("the tree of the checkpoint names an array that is not there");
    return table.add(row_of(m, key.empty() ? m.arrays[number].name : label, m.arrays[number]));
  }
  const auto container = node.begin();
  const auto& kind = container.key();
  const auto& children = container.value();
  const bool dict = kind == "dict";
  if (!key.empty() || children.empty())
    table.add(
        {label + (dict ? "/" : ""), dict ? (children.empty() ? "an empty dict" : "") : fmt::format("{} of {}", kind, children.size())});
  const auto below = key.empty() ? depth : depth + 1;
  for (std::size_t item = 0; item < children.size(); ++item) {
    if (dict)
      add_node(table, m, children[item].at(1), children[item].at(0).get<std::string>(), below);
    else
      add_node(table, m, children[item], std::to_string(item), below);
  }
}

std::string mesh_text(const detail::StoredSharding& s) {
  const auto world = s.devices.empty() ? std::string("no devices") : counted(std::ssize(s.devices), "device");
  return fmt::format("{}, {}", detail::to_string(s), world);
}

void print_step(const std::string& folder, const detail::Manifest& m) {
  fmt::print("step {}: {}, {} in {}\n", m.step, counted(std::ssize(m.arrays), "array"), bytes_text(bytes_of(m)),
             counted(std::ssize(m.files), "file"));
  fmt::print("saved {} by {} on {}, with HDF5 {}\n", m.created, m.library, counted(m.world_size, "rank"), m.hdf5);
  if (!m.metrics.empty()) fmt::print("metrics: {}\n", metrics_text(m.metrics));
  if (!m.metadata.empty()) fmt::print("metadata: {}\n", m.metadata);
  fmt::print("\n");
  Table table("<<><<");
  try {
    add_node(table, m, nlohmann::json::parse(m.tree), "", 0);
  } catch (const nlohmann::json::exception& e) {
    throw CheckpointError(fmt::format("the tree of '{}' cannot be read: {}", folder, e.what()));
  }
  fmt::print("{}", table.text());
  if (!m.shardings.empty()) fmt::print("\n");
  for (std::size_t s = 0; s < m.shardings.size(); ++s) fmt::print("mesh {}: {}\n", s, mesh_text(m.shardings[s]));
}

std::string picture(const detail::StoredSharding& s, const Shape& shape) {
  try {
    std::int64_t count = 1;
    for (const auto id : s.devices) count = std::max(count, id + 1);
    const auto devices = DeviceList::virtual_devices(count).pick(s.devices);
    std::vector<SpecEntry> entries;
    for (const auto& axes : s.spec) entries.emplace_back(axes);
    return visualize(NamedSharding(make_mesh(s.axis_sizes, s.axis_names, {.devices = devices}), PartitionSpec(std::move(entries))), shape);
  } catch (const Error& e) {
    return fmt::format("no picture: {}\n", e.what());
  }
}

std::int64_t bytes_of(const detail::StoredArray& array, const detail::StoredBox& box) {
  return box.box.num_elements() * static_cast<std::int64_t>(itemsize(array.dtype));
}

void print_array(const detail::Manifest& m, const detail::StoredArray& array) {
  fmt::print("{}: {}, {}\n", array.name, detail::type_text(m, array), bytes_text(array.nbytes()));
  if (array.sharding >= 0) {
    const auto& sharding = m.shardings[static_cast<std::size_t>(array.sharding)];
    fmt::print("{}\n{}", mesh_text(sharding), picture(sharding, array.shape));
  } else {
    fmt::print("every rank had all values\n");
  }
  if (array.boxes == 0) return;
  Table table("<<>>");
  table.add({"box", "file", "from byte", "bytes"});
  for (const auto& box : m.boxes_of(array))
    table.add({to_string(box.box), m.files[static_cast<std::size_t>(box.file)].name, std::to_string(box.offset),
               std::to_string(bytes_of(array, box))});
  fmt::print("\n{}", table.text());
}

ordered_json to_json(const detail::Manifest& m, const detail::StoredArray& array) {
  auto boxes = ordered_json::array();
  for (const auto& stored : m.boxes_of(array)) {
    auto ranges = ordered_json::array();
    for (const auto& range : stored.box) ranges.push_back({range.start, range.stop});
    boxes.push_back({{"box", std::move(ranges)},
                     {"file", m.files[static_cast<std::size_t>(stored.file)].name},
                     {"offset", stored.offset},
                     {"bytes", bytes_of(array, stored)}});
  }
  ordered_json j{{"name", array.name},
                 {"type", detail::type_text(m, array)},
                 {"dtype", name(array.dtype)},
                 {"shape", array.shape.lengths()},
                 {"bytes", array.nbytes()}};
  j["sharding"] = array.sharding >= 0 ? ordered_json(array.sharding) : ordered_json(nullptr);
  j["virtual"] = array.is_virtual;
  j["boxes"] = std::move(boxes);
  return j;
}

ordered_json to_json(const detail::Manifest& m, const detail::StoredArray* only) {
  ordered_json j{{"step", m.step},       {"uuid", m.uuid}, {"created", m.created},
                 {"library", m.library}, {"hdf5", m.hdf5}, {"world_size", m.world_size},
                 {"bytes", bytes_of(m)}};
  j["metrics"] = ordered_json::object();
  for (const auto& [name, value] : m.metrics) j["metrics"][name] = json_number(value);
  j["metadata"] = m.metadata.empty() ? ordered_json(nullptr) : ordered_json::parse(m.metadata);
  j["tree"] = ordered_json::parse(m.tree);
  j["shardings"] = ordered_json::array();
  for (const auto& s : m.shardings)
    j["shardings"].push_back({{"text", detail::to_string(s)},
                              {"axis_names", s.axis_names},
                              {"axis_sizes", s.axis_sizes},
                              {"axis_types", s.axis_types},
                              {"devices", s.devices},
                              {"spec", s.spec}});
  j["arrays"] = ordered_json::array();
  for (const auto& array : m.arrays)
    if (!only || only == &array) j["arrays"].push_back(to_json(m, array));
  return j;
}

void run(const Options& o) {
  // A word that is no number names an array, of the step that the folder is or of the newest.
  const bool is_step = !find_run(o.run).step.empty();
  const bool names_array =
      o.array.empty() && (is_step || o.step.find_first_not_of("0123456789") != std::string::npos) && !o.step.starts_with("step_");
  const auto folder = find_step(o.run, names_array ? "" : o.step);
  const auto& wanted = names_array ? o.step : o.array;
  const auto m = detail::read_manifest(folder);
  const auto* const array = wanted.empty() ? nullptr : &m.array(wanted);
  if (o.json) return print_json(to_json(m, array));
  array ? print_array(m, *array) : print_step(folder, m);
}

}  // namespace

void add_checkpoint_show(CLI::App& app) {
  auto* const show = app.add_subcommand(
      "show", "What a step holds: the tree, types, layouts and metadata; of one array its boxes and a picture of its layout");
  const auto o = std::make_shared<Options>();
  show->add_option("RUN", o->run, "The run's folder, or a step's")->required();
  show->add_option("STEP", o->step, "The step (the newest that is whole where nothing is said)");
  show->add_option("ARRAY", o->array, "One array, as in params/w");
  show->add_flag("--json", o->json, "The same as JSON");
  show->callback([o] { run(*o); });
}

}  // namespace meshwise::command
