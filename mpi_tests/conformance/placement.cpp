#include <algorithm>

#include "common.hpp"

namespace conformance {

namespace {

mw::Index index_of(const json& j) {
  mw::Index index;
  for (const auto& range : j) index.push_back({range[0].get<std::int64_t>(), range[1].get<std::int64_t>()});
  return index;
}

void index_map(const json& test) {
  const auto shape = shape_of(test["shape"]);
  const mw::NamedSharding sharding(mesh_of(test["mesh"]), spec_of(test["spec"]));
  const auto map = sharding.devices_indices_map(shape);
  expect(map.size() == test["indices"].size(), "{} devices", map.size());
  for (std::size_t p = 0; p < map.size(); ++p) {
    expect(map[p].second == index_of(test["indices"][p]), "position {}: {}", p, mw::to_string(map[p].second));
    const auto replica = sharding.replica_id(shape, static_cast<std::int64_t>(p));
    expect(replica == test["replica_id"][p].get<std::int64_t>(), "position {}: replica_id {}", p, replica);
  }
  expect(sharding.shard_shape(shape) == shape_of(test["shard_shape"]), "shard_shape {}", mw::to_string(sharding.shard_shape(shape)));
  expect(sharding.is_fully_replicated() == test["is_fully_replicated"].get<bool>(), "is_fully_replicated {}", sharding.is_fully_replicated());
}

void equivalent(const json& test) {
  const auto a = sharding_of(test["a"]), b = sharding_of(test["b"]);
  const auto ndim = test["ndim"].get<std::int64_t>();
  expect(a.is_equivalent_to(b, ndim) == test["equivalent"].get<bool>(), "a to b: {}", a.is_equivalent_to(b, ndim));
  expect(b.is_equivalent_to(a, ndim) == test["equivalent"].get<bool>(), "b to a: {}", b.is_equivalent_to(a, ndim));
  expect((a == b) == test["equal"].get<bool>(), "a == b: {}", a == b);
}

mw::Array put(const mw::Array& x, const mw::Target& target, bool donate) {
  if (const auto* device = std::get_if<mw::Device>(&target)) return mw::device_put(x, *device, {.donate = donate});
  if (const auto* sharding = std::get_if<mw::Sharding>(&target)) return mw::device_put(x, *sharding, {.donate = donate});
  return mw::device_put(x);
}

/// A bare scalar or a host scalar of a 64-bit default type lands as the 32-bit one in JAX; the vector's result says which.
mw::Array source_of(const json& source, mw::Dtype wanted) {
  const auto x = array_of(source);
  const auto kind = source["placement"]["kind"].get<std::string>();
  return (kind == "numpy" || kind == "python") && x.dtype() != wanted ? mw::asarray(x, wanted) : x;
}

void device_put(const json& test) {
  const auto& want = test["result"];
  const auto dtype = dtype_of(want["dtype"]);
  const auto source = source_of(test["source"], dtype);
  const auto target = target_of(test["target"]);
  const bool donate = test["donate"].get<bool>();
  std::map<std::int64_t, const std::byte*> before;
  if (source.committed())
    for (const auto& shard : source.addressable_shards()) before[shard.device().id] = shard.data().data();
  const bool source_is_array = test["source"]["placement"]["kind"] != "numpy" && test["source"]["placement"]["kind"] != "python";
  const auto original = mw::device_get(source);
  const auto result = put(source, target, donate);
  mw::block_until_ready(result);
  mw::LocalArray after;
  if (!source.is_deleted()) after = mw::device_get(source);

  expect(result.sharding() == sharding_of(want["sharding"]), "sharding {}", mw::to_string(result.sharding()));
  expect(result.committed() == want["committed"].get<bool>(), "committed {}", result.committed());
  expect(result.dtype() == dtype, "dtype {}", mw::name(result.dtype()));
  const bool same = result.state() == source.state();
  if (want.contains("same_object") && source_is_array) {
    const bool flag_or_sharding_changes = result.committed() != source.committed() || !(result.sharding() == source.sharding());
    if (want["same_object"].get<bool>() && !donate) expect(same, "a new object");
    if (!want["same_object"].get<bool>() && flag_or_sharding_changes) expect(!same, "the same object");
  }
  const auto shards = result.global_shards();
  expect(shards.size() == want["shards"].size(), "{} shards", shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto& shard = shards[i];
    const auto& w = want["shards"][i];
    expect(shard.device().id == w["device"].get<std::int64_t>() && shard.index() == index_of(w["index"]) && shard.replica_id() == w["replica_id"].get<std::int64_t>(),
           "shard {}: device {}, index {}, replica {}", i, shard.device().id, mw::to_string(shard.index()), shard.replica_id());
    if (!shard.is_addressable()) continue;
    expect(same_values(shard.data(), numbers(w["values"], shard.index().shape(), dtype)), "device {} holds other values", shard.device().id);
    if (w.value("shares_buffer", false) && before.contains(shard.device().id))
      expect(shard.data().size() == 0 || shard.data().data() == before[shard.device().id], "device {} has another buffer", shard.device().id);
  }
  if (donate) {
    expect(source.is_deleted() || std::holds_alternative<std::monostate>(target), "the source is still there");
  } else {
    expect(!source.is_deleted(), "the source is deleted");
    expect(same_values(after, original), "the source changed");
  }
}

/// Both ordered id lists, the operation and both types stand in the message.
void check_refusal(const json& error, const std::string& operation, const std::exception& thrown) {
  const std::string text = thrown.what();
  const auto rule = error["rule"].get<std::string>();
  if (rule == "shape") expect(dynamic_cast<const mw::ShapeError*>(&thrown) != nullptr, "not a ShapeError: {}", text);
  if (rule == "mesh_type" || rule == "sharding_type") expect(dynamic_cast<const mw::ShardingTypeError*>(&thrown) != nullptr, "not a ShardingTypeError: {}", text);
  if (rule != "devices") return;
  expect(dynamic_cast<const mw::CommitmentError*>(&thrown) != nullptr, "not a CommitmentError: {}", text);
  for (const auto& side : error["sides"]) {
    const auto ids = fmt::format("[{}]", fmt::join(ints_of(side["devices"]), ", "));
    expect(text.find(ids) != std::string::npos, "{} is not in: {}", ids, text);
    // JAX lowers x[indices] to a gather whose indices have one more axis: that type is its own.
    const bool lowered = operation == "index" && side.value("argument", "") == "args[1]";
    if (side.contains("type") && !lowered) expect(text.find(side["type"].get<std::string>()) != std::string::npos, "{} is not in: {}", side["type"].get<std::string>(), text);
  }
  if (!operation.starts_with("jit")) expect(text.find(operation == "index" ? "take" : operation) != std::string::npos, "{} is not in: {}", operation, text);
}

mw::Array apply(const std::string& op, const std::vector<mw::Operand>& o, const json& test) {
  const auto array = [&](std::size_t i) { return o[i].array() != nullptr ? *o[i].array() : mw::asarray(*o[i].scalar()); };
  if (op == "concatenate" || op == "stack") {
    std::vector<mw::Array> arrays;
    for (std::size_t i = 0; i < o.size(); ++i) arrays.push_back(array(i));
    const auto axis = test["axis"].get<std::int64_t>();
    return op == "stack" ? mw::stack(arrays, axis) : mw::concatenate(arrays, axis);
  }
  if (op == "transpose") return mw::transpose(array(0));
  if (op == "index") return array(0)[array(1)];
  if (op == "sum") return mw::sum(array(0));
  if (op == "jit3") return mw::jit([](const mw::Array& x, const mw::Array& y, const mw::Array& z) { return x * y + z; })(array(0), array(1), array(2));
  if (op == "jit_closure") return mw::jit([captured = array(1)](const mw::Array& x) { return x * 2 + captured; })(array(0));
  if (op == "jit_unused") return mw::jit([](const mw::Array& x, const mw::Array&) { return x * 2; })(array(0), array(1));
  if (op == "jit_device_put") return mw::jit([&](const mw::Array& x) { return mw::device_put(x, target_of(test["target"])); })(array(0));
  return call(op, o, json::object()).front();
}

void commitment(const json& test) {
  const auto op = test["op"].get<std::string>();
  std::vector<mw::Operand> operands;
  for (const auto& operand : test["operands"]) operands.push_back(operand_of(operand));
  const auto& decided = test.contains("meshwise") ? test["meshwise"] : test;
  if (decided.contains("error")) {
    try {
      apply(op, operands, test);
    } catch (const mw::Error& thrown) {
      return check_refusal(decided["error"], op, thrown);
    }
    throw Failure("accepted");
  }
  const auto result = apply(op, operands, test);
  const auto& want = test["result"];
  const auto value = mw::device_get(result);
  const auto& where = test.contains("meshwise") ? decided : want;
  expect(result.committed() == where["committed"].get<bool>(), "committed {}", result.committed());
  expect(result.sharding().devices().ids() == ints_of(where["devices"]), "on {}", mw::to_string(result.sharding().devices()));
  expect(result.shape() == shape_of(want["shape"]) && result.dtype() == dtype_of(want["dtype"]), "{}", mw::type_string(result));
  expect(same_values(value, numbers(want["values"], result.shape(), result.dtype())), "other values");
}

template <class Leaf, class MakeLeaf>
mw::BasicTree<Leaf> tree_of(const json& j, const MakeLeaf& leaf) {
  if (j.contains("none")) return {};
  if (j.contains("dict")) {
    typename mw::BasicTree<Leaf>::Entries entries;
    for (const auto& [key, value] : j["dict"].items()) entries.emplace(key, tree_of<Leaf>(value, leaf));
    return mw::BasicTree<Leaf>(std::move(entries));
  }
  if (j.contains("list") || j.contains("tuple")) {
    std::vector<mw::BasicTree<Leaf>> items;
    for (const auto& item : j.contains("list") ? j["list"] : j["tuple"]) items.push_back(tree_of<Leaf>(item, leaf));
    return j.contains("list") ? mw::BasicTree<Leaf>::list(std::move(items)) : mw::BasicTree<Leaf>::tuple(std::move(items));
  }
  return mw::BasicTree<Leaf>(leaf(j));
}

void pytree(const json& test) {
  const auto data = tree_of<mw::Array>(test["data"], [](const json& j) { return array_of(j["leaf"]); });
  const auto target = tree_of<mw::Target>(test["target"], [](const json& j) { return target_of(j["target"]); });
  if (test.contains("error")) {
    try {
      mw::device_put(data, target);
    } catch (const mw::Error&) {
      return;
    }
    throw Failure("accepted");
  }
  const auto placed = mw::tree_flatten_with_path(mw::device_put(data, target));
  const auto& want = test["leaves"];
  expect(placed.size() == want.size(), "{} leaves", placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto& [path, leaf] = placed[i];
    const auto& w = want[i];
    expect(path == w["path"].get<std::string>(), "leaf {}: path {}", i, path);
    expect(leaf.shape() == shape_of(w["shape"]) && mw::name(leaf.dtype()) == w["dtype"].get<std::string>(), "{}: {}", path, mw::type_string(leaf));
    expect(leaf.committed() == w["committed"].get<bool>(), "{}: committed {}", path, leaf.committed());
    if (!w["sharding"].is_null()) expect(leaf.sharding() == sharding_of(w["sharding"]), "{}: {}", path, mw::to_string(leaf.sharding()));
    expect(leaf.sharding().shard_shape(leaf.shape()) == shape_of(w["shard_shape"]), "{}: shard_shape", path);
  }
}

/// What JAX refuses, and C++ can express, meshwise refuses too.
void errors(const json& test) {
  const auto name = test["call"].get<std::string>();
  const auto attempt = [&] {
    if (name == "make_mesh" || name == "mesh") {
      mw::MeshOptions options;
      if (test.contains("devices")) options.devices = mw::DeviceList(ints_of(test["devices"]));
      else options.devices = mw::devices().first(test["n_devices"].get<std::int64_t>());
      if (test.contains("types")) {
        std::vector<mw::AxisType> types;
        for (const auto& t : test["types"]) types.push_back(t == "Explicit" ? mw::AxisType::Explicit : mw::AxisType::Auto);
        options.axis_types = mw::AxisTypes(types);
      }
      std::vector<std::string> names;
      for (const auto& axis : test["axes"]) names.push_back(axis.is_string() ? axis.get<std::string>() : "");
      mw::make_mesh(ints_of(test["shape"]), names, options);
    } else if (name == "named_sharding") {
      mw::NamedSharding(mesh_of(test["mesh"]), spec_of(test["spec"]));
    } else if (name == "device_put") {
      put(array_of(test["data"]), target_of(test["target"]), false);
    } else if (name == "shard_shape") {
      mw::NamedSharding(mesh_of(test["mesh"]), spec_of(test["spec"])).shard_shape(shape_of(test["shape"]));
    } else if (name == "devices_indices_map") {
      mw::NamedSharding(mesh_of(test["mesh"]), spec_of(test["spec"])).devices_indices_map(shape_of(test["shape"]));
    } else if (name == "use_deleted") {
      auto x = array_of(test["data"]);
      x.free();
      x + 1;
    } else {
      throw Skip{name};
    }
  };
  if (name == "device_put_bad_target") return;  // does not compile: a target is a type
  if (name == "named_sharding")
    for (const auto& entry : test["spec"])
      if (entry.is_array())
        for (const auto& axis : entry)
          if (!axis.is_string()) return;  // does not compile either: an entry is a list of names
  if (!test.contains("error")) return;          // what JAX accepts is information
  try {
    attempt();
  } catch (const mw::Error&) {
    return;
  }
  // Shapes that do not divide are meant to work here.
  if (test["error"]["text"].get<std::string>().find("divisible") != std::string::npos) return;
  throw Failure("accepted");
}

}  // namespace

void add_placement(Kinds& kinds) {
  kinds["index_map"] = index_map;
  kinds["equivalent"] = equivalent;
  kinds["device_put"] = device_put;
  kinds["commitment"] = commitment;
  kinds["pytree"] = pytree;
  kinds["errors"] = errors;
}

}  // namespace conformance
