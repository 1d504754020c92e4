// links: json
// Vectors made with JAX itself: index maps, equivalence and promotion.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "meshwise/base/dtype.hpp"
#include "meshwise/placement/sharding.hpp"

#ifndef MESHWISE_VECTORS_DIR
#define MESHWISE_VECTORS_DIR MESHWISE_SOURCE_DIR "/mpi_tests/vectors"
#endif

namespace meshwise {
namespace {

using nlohmann::json;

json cases_of(const std::string& kind) {
  std::ifstream file(std::string(MESHWISE_VECTORS_DIR) + "/" + kind + ".json");
  EXPECT_TRUE(file) << MESHWISE_VECTORS_DIR << "/" << kind << ".json cannot be read";
  return file ? json::parse(file).at("cases") : json::array();
}

Mesh mesh_of(const json& j) {
  std::vector<AxisType> types;
  for (const auto& type : j.at("types")) types.push_back(type == "Auto" ? AxisType::Auto : AxisType::Explicit);
  return make_mesh(j.at("shape"), j.at("axes"),
                   {.devices = DeviceList(j.at("devices").get<std::vector<std::int64_t>>()), .axis_types = AxisTypes(types)});
}

PartitionSpec spec_of(const json& j) {
  std::vector<SpecEntry> entries;
  for (const auto& entry : j) {
    if (entry.is_null())
      entries.emplace_back(none);
    else if (entry.is_string())
      entries.emplace_back(entry.get<std::string>());
    else
      entries.emplace_back(entry.get<std::vector<std::string>>());
  }
  return PartitionSpec(std::move(entries));
}

Sharding sharding_of(const json& j) {
  if (j.at("kind") == "single") return SingleDeviceSharding(devices()[j.at("device")]);
  return NamedSharding(mesh_of(j.at("mesh")), spec_of(j.at("spec")));
}

class PlacementVectors : public testing::Test {
 protected:
  void SetUp() override { detail::set_world(12, 1, 0); }
};

TEST_F(PlacementVectors, IndexMap) {
  const auto cases = cases_of("index_map");
  ASSERT_GE(cases.size(), 600u);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.at("id"));
    const NamedSharding sharding(mesh_of(c.at("mesh")), spec_of(c.at("spec")));
    const Shape shape(c.at("shape").get<std::vector<std::int64_t>>());
    json indices = json::array(), replicas = json::array(), ids = json::array();
    std::int64_t position = 0;
    for (const auto& [device, index] : sharding.devices_indices_map(shape)) {
      json box = json::array();
      for (const auto& range : index) box.push_back({range.start, range.stop});
      indices.push_back(box);
      ids.push_back(device.id);
      EXPECT_EQ(sharding.shard_shape(shape, device), index.shape());
      replicas.push_back(sharding.replica_id(shape, position++));
    }
    EXPECT_EQ(ids, c.at("mesh").at("devices"));
    EXPECT_EQ(indices, c.at("indices"));
    EXPECT_EQ(replicas, c.at("replica_id"));
    const auto largest = sharding.shard_shape(shape);
    EXPECT_EQ(json(std::vector<std::int64_t>(largest.begin(), largest.end())), c.at("shard_shape"));
    EXPECT_EQ(sharding.is_fully_replicated(), c.at("is_fully_replicated").get<bool>());
  }
}

TEST_F(PlacementVectors, Equivalent) {
  const auto cases = cases_of("equivalent");
  ASSERT_GE(cases.size(), 400u);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.at("id"));
    const auto a = sharding_of(c.at("a")), b = sharding_of(c.at("b"));
    EXPECT_EQ(a.is_equivalent_to(b, c.at("ndim")), c.at("equivalent").get<bool>());
    EXPECT_EQ(b.is_equivalent_to(a, c.at("ndim")), c.at("equivalent").get<bool>());
    EXPECT_EQ(a == b, c.at("equal").get<bool>());
    EXPECT_EQ(a.hash() == b.hash(), c.at("equal").get<bool>());
  }
}

Scalar literal_of(const json& j) {
  const auto& value = j.at("value");
  if (j.at("weak") == "bool") return value.get<bool>();
  if (j.at("weak") == "int") return value.get<std::int64_t>();
  if (j.at("weak") == "float") return value.get<double>();
  return std::complex<double>(value[0], value[1]);
}

TEST_F(PlacementVectors, Promotion) {
  int types = 0, literals = 0;
  for (const auto& c : cases_of("promotion")) {
    SCOPED_TRACE(c.at("id"));
    const auto& args = c.at("args");
    if (c.at("fn") == "promote_types") {
      ++types;
      EXPECT_EQ(name(promote_types(parse_dtype(args[0].get<std::string>()), parse_dtype(args[1].get<std::string>()))), c.at("result"));
    } else if (c.at("fn") == "promote_weak") {
      ++literals;
      EXPECT_EQ(name(literal_of(args[1]).beside(parse_dtype(args[0].get<std::string>()))), c.at("result"));
    }
  }
  EXPECT_EQ(types, 225);
  EXPECT_EQ(literals, 60);
}

}  // namespace
}  // namespace meshwise
