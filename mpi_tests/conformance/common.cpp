#include "common.hpp"

#include <algorithm>
#include <cstring>

namespace conformance {

mw::Shape shape_of(const json& j) { return mw::Shape(j.get<std::vector<std::int64_t>>()); }
mw::Dtype dtype_of(const json& j) { return mw::parse_dtype(j.get<std::string>()); }
std::vector<std::int64_t> ints_of(const json& j) { return j.get<std::vector<std::int64_t>>(); }

namespace {

/// The world's devices, or imagined ones where a pure vector speaks of more.
mw::DeviceList list_of(const std::vector<std::int64_t>& ids) {
  const auto world = mw::devices();
  const auto most = ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) + 1;
  return (most > world.size() ? mw::DeviceList::virtual_devices(most, world.devices_per_rank()) : world).pick(ids);
}

}  // namespace

mw::Mesh mesh_of(const json& j) {
  std::vector<mw::AxisType> types;
  if (j.contains("types"))
    for (const auto& t : j["types"]) types.push_back(t == "Explicit" ? mw::AxisType::Explicit : mw::AxisType::Auto);
  else types.assign(j["shape"].size(), mw::AxisType::Auto);
  return mw::make_mesh(ints_of(j["shape"]), j["axes"].get<std::vector<std::string>>(),
                       {.devices = list_of(ints_of(j["devices"])), .axis_types = mw::AxisTypes(types)});
}

mw::PartitionSpec spec_of(const json& j) {
  std::vector<mw::SpecEntry> entries;
  for (const auto& e : j) {
    if (e.is_null()) entries.emplace_back(nullptr);
    else if (e.is_string()) entries.emplace_back(e.get<std::string>());
    else entries.emplace_back(e.get<std::vector<std::string>>());
  }
  return mw::PartitionSpec(std::move(entries));
}

mw::Sharding sharding_of(const json& j) {
  if (j["kind"] == "named") return mw::NamedSharding(mesh_of(j["mesh"]), spec_of(j["spec"]));
  return mw::SingleDeviceSharding(list_of({j["device"].get<std::int64_t>()})[0]);
}

mw::Target target_of(const json& j) {
  if (j["kind"] == "none") return std::monostate{};
  if (j["kind"] == "device") return mw::devices()[j["device"].get<std::int64_t>()];
  return sharding_of(j);
}

mw::LocalArray numbers(const json& values, const mw::Shape& shape, mw::Dtype dtype) {
  mw::LocalArray out(shape, dtype);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto& v = values[static_cast<std::size_t>(i)];
    const auto scalar = v.is_number_integer() ? mw::Scalar(v.get<std::int64_t>()) : mw::Scalar(v.get<double>());
    scalar.store(dtype, out.data() + static_cast<std::size_t>(i) * mw::itemsize(dtype));
  }
  return out;
}

mw::LocalArray values_of(const json& array) {
  const auto shape = shape_of(array["shape"]);
  if (array.contains("values")) return numbers(array["values"], shape, dtype_of(array["dtype"]));
  json counted = json::array();
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) counted.push_back(array["start"].get<std::int64_t>() + i);
  return numbers(counted, shape, dtype_of(array["dtype"]));
}

mw::Operand operand_of(const json& array) {
  const auto& placement = array["placement"];
  const auto kind = placement["kind"].get<std::string>();
  if (kind == "python") {
    const auto& v = array["values"][0];
    if (array["dtype"] == "bool") return mw::Operand(v.get<std::int64_t>() != 0);
    return v.is_number_integer() && array["dtype"].get<std::string>().starts_with("int") ? mw::Operand(v.get<std::int64_t>()) : mw::Operand(v.get<double>());
  }
  return mw::Operand(array_of(array));
}

mw::Array array_of(const json& array) {
  const auto& placement = array["placement"];
  const auto kind = placement["kind"].get<std::string>();
  if (kind == "python") return mw::asarray(*operand_of(array).scalar());
  const auto values = values_of(array);
  if (kind == "uncommitted") {
    const mw::default_device scope(mw::devices()[placement.value("device", std::int64_t{0})]);
    return mw::asarray(values);
  }
  // JAX lands host scalars of a 64-bit default type as the 32-bit one; the vectors say so in the result's dtype.
  if (kind == "numpy") return mw::asarray(values);
  const auto host = mw::asarray(values);
  if (kind == "device") return mw::device_put(host, mw::devices()[placement["device"].get<std::int64_t>()]);
  return mw::device_put(host, sharding_of(placement));
}

bool same_values(const mw::LocalArray& a, const mw::LocalArray& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  const auto x = a.contiguous(), y = b.contiguous();
  return a.size() == 0 || std::memcmp(x.data(), y.data(), static_cast<std::size_t>(a.nbytes())) == 0;
}

}  // namespace conformance
