#include "common.hpp"

namespace conformance {

namespace {

mw::Array operand(const json& j, const mw::Mesh& mesh) {
  const auto dtype = j.contains("dtype") ? dtype_of(j["dtype"]) : mw::float32;
  return mw::device_put(mw::zeros(shape_of(j["shape"]), dtype), mw::NamedSharding(mesh, spec_of(j["spec"])));
}

mw::IndexExpression item_of(const json& j) {
  if (j.is_null()) return mw::none;
  if (j.is_number_integer()) return j.get<std::int64_t>();
  const auto bound = [&](std::size_t i) { return j[i].is_null() ? std::optional<std::int64_t>{} : j[i].get<std::int64_t>(); };
  return mw::Slice(bound(0), bound(1), bound(2));
}

std::vector<mw::Operand> starts_of(const json& attrs) {
  std::vector<mw::Operand> starts;
  for (const auto start : ints_of(attrs["start"])) starts.emplace_back(start);
  return starts;
}

std::optional<mw::PartitionSpec> out_spec(const json& attrs) {
  if (!attrs.contains("out_spec") || attrs["out_spec"].is_null()) return {};
  return spec_of(attrs["out_spec"]);
}

mw::Array run_operation(const std::string& op, const json& attrs, const std::vector<mw::Array>& o) {
  if (op == "reshape") return mw::reshape(o[0], shape_of(attrs["shape"]), out_spec(attrs));
  if (op == "transpose") return mw::transpose(o[0], ints_of(attrs["perm"]));
  if (op == "concatenate") return mw::concatenate(o, attrs["axis"].get<std::int64_t>());
  if (op == "stack") return mw::stack(o, attrs["axis"].get<std::int64_t>());
  if (op == "slice") return mw::slice(o[0], ints_of(attrs["start"]), ints_of(attrs["limit"]), attrs["stride"].is_null() ? std::vector<std::int64_t>{} : ints_of(attrs["stride"]));
  if (op == "reshard") return mw::reshard(o[0], spec_of(attrs["out_spec"]));
  if (op == "getitem" || op == "at_get") {
    std::vector<mw::IndexExpression> items;
    for (const auto& item : attrs["index"]) items.push_back(item_of(item));
    return op == "at_get" ? mw::at(o[0], items).get(out_spec(attrs)) : mw::getitem(o[0], items);
  }
  if (op == "gather_get") return mw::at(o[0], {o[1]}).get(out_spec(attrs));
  if (op == "dynamic_slice") return mw::dynamic_slice(o[0], starts_of(attrs), ints_of(attrs["sizes"]));
  if (op == "dynamic_update_slice") return mw::dynamic_update_slice(o[0], o[1], starts_of(attrs));
  if ((op == "matmul" || op == "dot") && attrs.contains("out_spec")) return mw::matmul(o[0], o[1], out_spec(attrs));
  if (op == "broadcast_to") return mw::broadcast_to(o[0], shape_of(attrs["shape"]), out_spec(attrs));
  if (op == "take") return mw::take(o[0], o[1], attrs["axis"].get<std::int64_t>(), mw::IndexMode::fill, out_spec(attrs));
  if (op == "einsum") return mw::einsum(attrs["subscripts"].get<std::string>(), o, out_spec(attrs));
  std::vector<mw::Operand> operands(o.begin(), o.end());
  if (op == "add_scalar") return o[0] + 2.0;
  // Attributes by the names that values_* use.
  json kw = json::object();
  std::string function = op;
  for (const auto& [key, value] : attrs.items()) kw[key == "axes" ? "axis" : key] = value;
  if (op == "dot") function = "matmul";
  if (op == "expand_dims" || op == "squeeze" || op == "flip") kw["axis"] = attrs["axis"];
  return call(function, operands, kw).front();
}

void layout(const json& test) {
  // What is not binding still has to work, or to be refused, without a hang: it is run all the same.
  const bool must = test["must"].get<bool>();
  const auto mesh = mesh_of(test["mesh"]);
  std::vector<mw::Array> operands;
  std::optional<std::string> refused;
  bool sharding_type = false, placement = false;
  mw::Array result;
  try {
    for (const auto& j : test["operands"]) operands.push_back(operand(j, mesh));
    result = run_operation(test["op"].get<std::string>(), test["attrs"], operands);
    mw::block_until_ready(result);
  } catch (const mw::Error& error) {
    refused = error.what();
    sharding_type = dynamic_cast<const mw::ShardingTypeError*>(&error) != nullptr;
    placement = dynamic_cast<const mw::PlacementError*>(&error) != nullptr;
  }
  if (!must) return;
  if (test.contains("error")) {
    const auto kind = test["error"]["kind"].get<std::string>();
    expect(refused.has_value(), "accepted, JAX says {}", kind);
    if (kind == "rank") expect(placement, "not a PlacementError: {}", *refused);
    else expect(sharding_type, "not a ShardingTypeError: {}", *refused);
    return;
  }
  expect(!refused, "refused: {}", refused.value_or(""));
  const auto& want = test["result"];
  const auto spec = spec_of(want["spec"]);
  const auto got = result.sharding().spec();
  expect(result.shape() == shape_of(want["shape"]), "shape {}", mw::to_string(result.shape()));
  expect(mw::name(result.dtype()) == want["dtype"].get<std::string>(), "dtype {}", mw::name(result.dtype()));
  expect(result.sharding().mesh() == mesh, "mesh {}", mw::to_string(result.sharding().mesh()));
  expect(result.sharding().is_equivalent_to(mw::NamedSharding(mesh, spec), result.ndim()), "{}, want {}", mw::to_string(got), mw::to_string(spec));
  if (want.value("exact", false)) expect(got == spec, "{} as an object, want {}", mw::to_string(got), mw::to_string(spec));
}

}  // namespace

void add_layout(Kinds& kinds) {
  kinds["layout_auto"] = layout;
  kinds["layout_explicit"] = layout;
}

}  // namespace conformance
