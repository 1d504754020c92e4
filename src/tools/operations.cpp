#include "tools/operations.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "array/rehearsal.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/tools/explain.hpp"
#include "tools/operation_rows.hpp"

namespace meshwise::detail {

namespace {

constexpr int dtypes = 15;

SampleArrays samples(Dtype dtype) {
  static const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = DeviceList::virtual_devices(4)});
  const auto made = [](const Shape& shape, Dtype d, const PartitionSpec& spec) {
    return make_sharded_array(shape, d, NamedSharding(mesh, spec), true, {});
  };
  return {made({8, 16}, dtype, P("x", "y")),
          made({8, 16}, dtype, P("x", "y")),
          made({16}, dtype, P("y")),
          made({16}, dtype, P("x")),
          made({16, 16}, dtype, P("x", "y")),
          made({6}, Dtype::int32, P()),
          made({8, 16}, Dtype::bool_, P("x", "y"))};
}

std::string sample_types(std::string_view shown) {
  const auto s = samples(Dtype::float32);
  std::string text;
  for (std::size_t at = 0; at < shown.size();) {
    const auto end = std::min(shown.find(", ", at), shown.size());
    const auto name = shown.substr(at, end - at);
    const auto& x = name == "y"         ? s.y
                    : name == "small"   ? s.small
                    : name == "vector"  ? s.vector
                    : name == "matrix"  ? s.matrix
                    : name == "indices" ? s.indices
                    : name == "truths"  ? s.truths
                                        : s.x;
    text += (text.empty() ? "" : ", ") + type_string(x);
    at = end + 2;
  }
  return text;
}

bool takes(const OperationRow& row, Dtype dtype) {
  Rehearsal rehearsal;
  try {
    row.call(samples(dtype));
    return true;
  } catch (const DtypeError&) {
    return false;
  }
}

/// `bool, integers, floats, complex`; names where it is a part of a kind.
std::string dtypes_text(const OperationRow& row) {
  if (row.shown == "indices") return "integers";
  struct Kind {
    const char* name;
    std::vector<Dtype> members;
  };
  std::vector<Kind> kinds{{"bool", {}}, {"integers", {}}, {"floats", {}}, {"complex", {}}};
  std::vector<bool> taken;
  for (int i = 0; i < dtypes; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    kinds[dtype == Dtype::bool_ ? 0 : is_integer(dtype) ? 1 : is_floating(dtype) ? 2 : 3].members.push_back(dtype);
    taken.push_back(takes(row, dtype));
  }
  std::string text;
  const auto add = [&](std::string_view word) { text.append(text.empty() ? "" : ", ").append(word); };
  bool all = true;
  for (const auto& kind : kinds) {
    std::size_t count = 0;
    for (const auto d : kind.members) count += taken[static_cast<std::size_t>(d)] ? 1 : 0;
    all = all && count == kind.members.size();
    if (count == kind.members.size())
      add(kind.name);
    else
      for (const auto d : kind.members)
        if (taken[static_cast<std::size_t>(d)]) add(name(d));
  }
  return all ? "all" : text;
}

std::string row_text(const OperationRow& row) {
  if (!row.call) return fmt::format("| `{}` | | | {} |\n", row.name, row.says);
  // The first of these dtypes that the operation takes.
  for (const auto dtype : {Dtype::float32, Dtype::int32, Dtype::bool_, Dtype::complex64}) {
    if (!takes(row, dtype)) continue;
    Rehearsal rehearsal;
    const auto result = type_string(row.call(samples(dtype)));
    std::string moves;
    for (const auto& call : rehearsal.calls())
      for (const auto& step : call.steps) moves += (moves.empty() ? "" : "; ") + step;
    return fmt::format("| `{}` | {} | `{}` -> `{}` | {} |\n", row.name, dtypes_text(row), sample_types(row.shown), result,
                       moves.empty() ? "nothing" : moves);
  }
  return fmt::format("| `{}` | none | | |\n", row.name);
}

}  // namespace

std::string operations_document() {
  std::string text =
      "# Operations\n\n"
      "Made by `meshwise operations`, which asks each operation itself: the dtypes it takes, and on four devices, a (2,2) mesh (x, y), the "
      "result's layout and what\n"
      "moves (bytes over all devices, each counted as a process; of float32, where the operation takes it). Your own arrays: "
      "`explain(operation, operands...)`.\n"
      "The rules behind the layouts are [design 017](design/017-orders-scans-updates.md), [018](design/018-contractions.md) and the "
      "comments of `plan/propagation.hpp`.\n";
  for (const auto& family : operation_families()) {
    text += fmt::format("\n## {}\n\n| operation | dtypes | of these arrays | what moves |\n| --- | --- | --- | --- |\n", family.title);
    for (const auto& row : family.rows) text += row_text(row);
  }
  return text;
}

}  // namespace meshwise::detail
