// Every case of the layout vectors (made by running JAX) through propagate(). The result's shape comes from the vector.
// links: json
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "meshwise/base/error.hpp"
#include "meshwise/placement/device.hpp"
#include "meshwise/placement/mesh.hpp"
#include "meshwise/plan/propagation.hpp"

#ifndef MESHWISE_VECTORS_DIR
#define MESHWISE_VECTORS_DIR MESHWISE_SOURCE_DIR "/mpi_tests/vectors"
#endif

namespace meshwise {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<std::int64_t>;

PartitionSpec spec_from(const Json& list) {
  std::vector<SpecEntry> entries;
  for (const auto& e : list) {
    if (e.is_null()) entries.emplace_back();
    else if (e.is_string()) entries.emplace_back(e.get<std::string>());
    else entries.emplace_back(e.get<std::vector<std::string>>());
  }
  return PartitionSpec(std::move(entries));
}

Mesh mesh_from(const Json& mesh) {
  std::vector<AxisType> types;
  for (const auto& t : mesh.at("types")) types.push_back(t == "Explicit" ? AxisType::Explicit : AxisType::Auto);
  return make_mesh(mesh.at("shape").get<Numbers>(), mesh.at("axes").get<std::vector<std::string>>(),
                   {.devices = DeviceList(mesh.at("devices").get<Numbers>()), .axis_types = AxisTypes(types)});
}

// Padded to ndim, mesh axes of size 1 left out: what the vectors compare by.
std::vector<std::vector<std::string>> placement(const Mesh& mesh, const PartitionSpec& spec, std::int64_t ndim) {
  std::vector<std::vector<std::string>> out;
  for (std::int64_t d = 0; d < ndim; ++d) {
    out.emplace_back();
    for (const auto& name : spec[d].axes())
      if (mesh.axis_sizes()[*mesh.find_axis(name)] > 1) out.back().push_back(name);
  }
  return out;
}

Numbers all_axes(std::int64_t ndim) {
  Numbers out;
  for (std::int64_t d = 0; d < ndim; ++d) out.push_back(d);
  return out;
}

IndexItem range_item(std::int64_t length, std::int64_t start, std::int64_t stop, std::int64_t step) {
  IndexItem item{IndexItem::Kind::range, start, stop, step, false};
  item.whole = (step == 1 && start == 0 && stop == length) || (step == -1 && start == length - 1 && stop == -1);
  return item;
}

std::vector<IndexItem> items_from(const Json& index, const Numbers& shape) {
  std::vector<IndexItem> items;
  std::size_t axis = 0;
  for (const auto& i : index) {
    if (i.is_null()) {
      items.push_back({IndexItem::Kind::new_axis, 0, 0, 1, true});
      continue;
    }
    const auto n = shape[axis++];
    if (i.is_number()) {
      const auto at = i.get<std::int64_t>();
      items.push_back({IndexItem::Kind::integer, at < 0 ? at + n : at, 0, 1, false});
      continue;
    }
    const auto step = i[2].is_null() ? 1 : i[2].get<std::int64_t>();
    const auto start = i[0].is_null() ? (step > 0 ? 0 : n - 1) : i[0].get<std::int64_t>();
    const auto stop = i[1].is_null() ? (step > 0 ? n : -1) : i[1].get<std::int64_t>();
    items.push_back(range_item(n, start, stop, step));
  }
  for (; axis < shape.size(); ++axis) items.push_back(range_item(shape[axis], 0, shape[axis], 1));
  return items;
}

struct Call {
  LayoutRule rule = LayoutRule::unary;
  Attributes attributes{};
};

std::string matmul_subscripts(std::size_t x, std::size_t y) {
  if (x == 3) return y == 3 ? "bij,bjk->bik" : "bij,jk->bik";
  if (x == 1) return y == 1 ? "j,j->" : "j,jk->k";
  return y == 1 ? "ij,j->i" : "ij,jk->ik";
}

Call call_from(const Json& c, std::span<const OperandType> operands) {
  static const std::map<std::string, LayoutRule> rules{
      {"add", LayoutRule::elementwise}, {"subtract", LayoutRule::elementwise}, {"multiply", LayoutRule::elementwise},
      {"maximum", LayoutRule::elementwise}, {"less", LayoutRule::elementwise}, {"add_scalar", LayoutRule::unary},
      {"where", LayoutRule::where}, {"clip", LayoutRule::clip}, {"negative", LayoutRule::unary}, {"exp", LayoutRule::unary},
      {"astype", LayoutRule::unary}, {"sum", LayoutRule::reduce}, {"max", LayoutRule::reduce}, {"min", LayoutRule::reduce},
      {"prod", LayoutRule::reduce}, {"mean", LayoutRule::reduce}, {"argmax", LayoutRule::arg_reduce},
      {"argmin", LayoutRule::arg_reduce}, {"cumsum", LayoutRule::worked_axis}, {"sort", LayoutRule::worked_axis},
      {"argsort", LayoutRule::worked_axis}, {"roll", LayoutRule::worked_axis}, {"matmul", LayoutRule::contract},
      {"dot", LayoutRule::contract}, {"einsum", LayoutRule::contract}, {"transpose", LayoutRule::transpose},
      {"reshape", LayoutRule::reshape}, {"broadcast_to", LayoutRule::broadcast_to}, {"expand_dims", LayoutRule::expand_dims},
      {"squeeze", LayoutRule::squeeze}, {"slice", LayoutRule::slice}, {"dynamic_slice", LayoutRule::dynamic_slice},
      {"getitem", LayoutRule::getitem}, {"at_get", LayoutRule::at_get}, {"gather_get", LayoutRule::gather_get},
      {"take", LayoutRule::take}, {"take_along_axis", LayoutRule::take_along_axis}, {"at_set", LayoutRule::at_set},
      {"dynamic_update_slice", LayoutRule::dynamic_update_slice}, {"concatenate", LayoutRule::concatenate},
      {"stack", LayoutRule::stack}, {"flip", LayoutRule::flip}, {"pad", LayoutRule::pad}, {"tile", LayoutRule::tile},
      {"reshard", LayoutRule::reshard}};
  const auto op = c.at("op").get<std::string>();
  const auto& a = c.at("attrs");
  const Numbers shape(operands[0].shape.begin(), operands[0].shape.end());
  Call call{rules.at(op), {}};
  auto& to = call.attributes;
  if (a.contains("axes")) to.axes = a["axes"].is_null() ? all_axes(operands[0].shape.ndim()) : a["axes"].get<Numbers>();
  if (a.contains("axis")) to.axes = a["axis"].is_null() ? all_axes(operands[0].shape.ndim()) : Numbers{a["axis"].get<std::int64_t>()};
  if (a.contains("perm")) to.axes = a["perm"].get<Numbers>();
  if (a.contains("keepdims")) to.keepdims = a["keepdims"].get<bool>();
  if (a.contains("out_spec")) to.out_spec = spec_from(a["out_spec"]);
  if (a.contains("index")) to.items = items_from(a["index"], shape);
  if (call.rule == LayoutRule::contract)
    to.subscripts = op == "einsum" ? a["subscripts"].get<std::string>()
                                   : matmul_subscripts(shape.size(), operands[1].shape.lengths().size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto n = shape[d];
    if (op == "slice") to.items.push_back(range_item(n, a["start"][d], a["limit"][d], a["stride"][d]));
    if (op == "dynamic_slice")
      to.items.push_back(range_item(n, a["start"][d], a["start"][d].get<std::int64_t>() + a["sizes"][d].get<std::int64_t>(), 1));
    if (op == "tile" && a["reps"][d] != 1) to.axes.push_back(static_cast<std::int64_t>(d));
    if (op == "pad" && a["widths"][d] != Json::array({0, 0})) to.axes.push_back(static_cast<std::int64_t>(d));
  }
  return call;
}

// The words by which a message says which check refused.
const std::map<std::string, std::string> words{
    {"incompatible", "incompatible shardings for broadcasting"}, {"illegal_result", "illegally sharded result"},
    {"contracting", "Contracting dimensions are sharded"}, {"batch", "batch dimensions to have the same sharding"},
    {"not_same", "should have the same sharding"}, {"reshape", "This reshape is not supported"}, {"gather", "of the gather indexing"},
    {"scatter", "of the scatter indexing"}, {"update", "Incompatible types for broadcasting"}, {"duplicate", "duplicate entries"},
    {"worked_axis", "must be unsharded over the axis worked on"}, {"rank", "entries, but the result has shape"}};

struct Outcome {
  std::optional<PartitionSpec> spec{};
  std::string error{};
  bool sharding_type = false;
  bool placement = false;
};

struct Case {
  Mesh mesh;
  std::vector<OperandType> operands{};
  Shape result{};
  Outcome outcome{};
};

// A refusal has no result to take the shape from; the rules that read one get it from what was asked.
Shape shape_of_refused(const Json& c, const std::vector<OperandType>& operands) {
  const auto op = c.at("op").get<std::string>();
  const auto& a = c.at("attrs");
  if (a.contains("shape")) return Shape(a["shape"].get<Numbers>());
  if (op == "slice" || op == "dynamic_slice") {
    Shape out = operands[0].shape;
    for (std::int64_t d = 0; d < out.ndim(); ++d) {
      const auto i = static_cast<std::size_t>(d);
      out[d] = op == "slice" ? (a["limit"][i].get<std::int64_t>() - a["start"][i].get<std::int64_t>() +
                                a["stride"][i].get<std::int64_t>() - 1) / a["stride"][i].get<std::int64_t>()
                             : a["sizes"][i].get<std::int64_t>();
    }
    return out;
  }
  if (op == "pad") {
    Shape out = operands[0].shape;
    for (std::int64_t d = 0; d < out.ndim(); ++d)
      for (const auto& width : a["widths"][static_cast<std::size_t>(d)]) out[d] += width.get<std::int64_t>();
    return out;
  }
  if (op == "take_along_axis") return operands[1].shape;
  Shape out = operands[0].shape;
  const bool elementwise = c.at("family") == "elementwise" || c.at("family") == "broadcasting" || op == "where" || op == "clip";
  if (elementwise)
    for (const auto& x : operands) out = broadcast_shapes(out, x.shape, "test");
  return out;
}

Case run(const Json& c) {
  Case out{mesh_from(c.at("mesh"))};
  for (const auto& o : c.at("operands"))
    out.operands.push_back({Shape(o.at("shape").get<Numbers>()), parse_dtype(o.value("dtype", "float32")), spec_from(o.at("spec"))});
  out.result = c.contains("result") ? Shape(c["result"]["shape"].get<Numbers>()) : shape_of_refused(c, out.operands);
  const auto call = call_from(c, out.operands);
  try {
    out.outcome.spec = propagate(out.mesh, call.rule, c.at("op").get<std::string>(), call.attributes, out.operands, out.result);
  } catch (const ShardingTypeError& e) {
    out.outcome.error = e.what();
    out.outcome.sharding_type = true;
  } catch (const PlacementError& e) {
    out.outcome.error = e.what();
    out.outcome.placement = true;
  }
  return out;
}

std::string describe(const Json& c, const Case& done) {
  std::string out = c.at("id").get<std::string>() + " " + c.at("op").get<std::string>() + " " + c.at("attrs").dump() + " on " +
                    to_string(done.mesh);
  for (const auto& x : done.operands) out += "\n  " + type_string(x.dtype, x.shape, x.spec) + " " + to_string(x.spec);
  out += "\n  got " + (done.outcome.spec ? to_string(*done.outcome.spec) : done.outcome.error);
  return out + "\n  want " + (c.contains("error") ? c["error"].dump() : c["result"].dump()) +
         (c.contains("suggested") ? "\n  suggested " + c["suggested"].dump() : "");
}

void check(const Json& c) {
  const auto done = run(c);
  const auto same_placement = [&](const Json& spec) {
    return done.outcome.spec && placement(done.mesh, *done.outcome.spec, done.result.ndim()) ==
                                    placement(done.mesh, spec_from(spec), done.result.ndim());
  };
  if (!c.at("must").get<bool>()) {
    EXPECT_TRUE(c.contains("suggested") ? same_placement(c["suggested"]) : done.outcome.spec.has_value()) << describe(c, done);
    return;
  }
  if (c.contains("error")) {
    const auto kind = c["error"]["kind"].get<std::string>();
    EXPECT_TRUE(kind == "rank" ? done.outcome.placement : done.outcome.sharding_type) << describe(c, done);
    EXPECT_NE(done.outcome.error.find(words.at(kind)), std::string::npos) << kind << ": " << describe(c, done);
    return;
  }
  EXPECT_TRUE(same_placement(c["result"]["spec"])) << describe(c, done);
  if (c["result"].value("exact", false)) {
    EXPECT_TRUE(done.outcome.spec && *done.outcome.spec == spec_from(c["result"]["spec"])) << describe(c, done);
  }
}

void check_file(const std::string& name) {
  const auto path = std::filesystem::path(MESHWISE_VECTORS_DIR) / name;
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  const auto file = Json::parse(in);
  detail::set_world(file.at("devices").get<std::int64_t>(), file.at("devices").get<std::int64_t>(), 0);
  std::size_t count = 0;
  for (const auto& c : file.at("cases")) {
    check(c);
    ++count;
  }
  EXPECT_GT(count, 3000u);
}

TEST(LayoutVectors, Auto) { check_file("layout_auto.json"); }
TEST(LayoutVectors, Explicit) { check_file("layout_explicit.json"); }

}  // namespace
}  // namespace meshwise
