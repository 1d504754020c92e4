#pragma once
// Reading the vectors (formats: vectors/README.md), and what a case may say.

#include <meshwise/meshwise.hpp>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

namespace mw = meshwise;
using nlohmann::json;

/// The case needs an operation the library does not have.
struct Skip {
  std::string operation;
};
/// The case's answer is another.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args>
void expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw Failure(fmt::format(format, std::forward<Args>(args)...));
}

/// Runs one case on every rank; throws Skip or Failure. Collective calls come before the first check, so that ranks stay in step.
using Run = std::function<void(const json& test)>;
/// kind -> how to run its cases.
using Kinds = std::map<std::string, Run>;

void add_placement(Kinds& kinds);   // index_map, equivalent, device_put, commitment, pytree, errors
void add_layout(Kinds& kinds);      // layout_auto, layout_explicit
void add_values(Kinds& kinds);      // values_*, random, creation, promotion

mw::Mesh mesh_of(const json& j);
mw::PartitionSpec spec_of(const json& j);
mw::Sharding sharding_of(const json& j);
mw::Target target_of(const json& j);
mw::Shape shape_of(const json& j);
mw::Dtype dtype_of(const json& j);
std::vector<std::int64_t> ints_of(const json& j);

/// `values` or `start` of an array, in its shape and dtype.
mw::LocalArray values_of(const json& array);
/// The bytes of a values_* array.
mw::LocalArray bytes_of(const json& array);
/// Numbers in a shape and dtype.
mw::LocalArray numbers(const json& values, const mw::Shape& shape, mw::Dtype dtype);
/// An operand placed as the vector says; a bare scalar of the language is a literal.
mw::Operand operand_of(const json& array);
mw::Array array_of(const json& array);
/// Bytes equal, shapes and dtypes too.
bool same_values(const mw::LocalArray& a, const mw::LocalArray& b);

/// The function of an operation on whole arrays by the vectors' name, or Skip.
std::vector<mw::Array> call(const std::string& function, const std::vector<mw::Operand>& args, const json& kw);

}  // namespace conformance
