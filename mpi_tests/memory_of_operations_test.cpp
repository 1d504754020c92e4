// ranks: 4
// variant: private ranks=4 MESHWISE_STORE=private
// timeout: 300
// Under a cap of 1.3 times operands and result, and a little, every operation still runs: nothing gathers and then computes, nothing leaves whole arrays lying about.
#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>
#include <meshwise/tools/explain.hpp>

#include <map>
#include <set>

#include "support/hooks.hpp"
#include "tools/operation_rows.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;

namespace {

mw::detail::SampleArrays samples() {
  const auto mesh = mw::make_mesh({2, 2}, {"x", "y"});
  constexpr std::int64_t rows = 2048, columns = 4096;
  const auto put = [&](const Array& x, const mw::PartitionSpec& spec) { return mw::device_put(x, NamedSharding(mesh, spec)); };
  const auto of = [&](std::uint64_t seed, const Shape& shape) {
    return mw::random::uniform(mw::random::key(static_cast<std::int64_t>(seed)), shape);
  };
  const auto x = put(of(1, {rows, columns}), P("x", "y"));
  return {x,
          put(of(2, {rows, columns}), P("x", "y")),
          put(of(3, {columns}), P("y")),
          put(of(4, {rows * columns}), P("x")),
          put(of(5, {columns, 1024}), P("x", "y")),
          put(mw::asarray(std::vector<std::int32_t>{5, 3, 0, 1, 7, 2}), P()),
          put(mw::less(of(6, {rows, columns}), 0.5), P("x", "y"))};
}

std::int64_t shard_bytes(const Array& x) {
  std::int64_t most = 0;
  for (const auto& shard : x.addressable_shards()) most = std::max(most, shard.data().nbytes());
  return most;
}

// Small matrices on one device (linear algebra beside products), and what has a larger shape than the samples allow.
const std::set<std::string_view> elsewhere{"outer", "meshgrid", "linalg::cross", "one_hot", "searchsorted", "digitize", "stencil"};

TEST(MemoryOfOperations, AtThreeTenthsAboveTheIdealAllRun) {
  if (mw::memory_stats().store != "private") GTEST_SKIP() << "a block that another rank lends counts with both, and takes no memory";
  const auto all = samples();
  std::vector<std::string> failed;
  const auto other_live = mw::memory_stats().live;
  for (const auto& family : mw::detail::operation_families())
    for (const auto& row : family.rows) {
      if (!row.call || row.name.starts_with("linalg::") || elsewhere.contains(row.name)) continue;
      std::int64_t result_bytes = 0;
      try {
        result_bytes = shard_bytes(row.call(all));
      } catch (const mw::DtypeError&) {
        continue;
      }
      mw::trim();
      std::int64_t operands = 0;
      for (const auto& [name, x] : std::vector<std::pair<std::string_view, const Array*>>{{"x", &all.x},
                                                                                          {"y", &all.y},
                                                                                          {"small", &all.small},
                                                                                          {"vector", &all.vector},
                                                                                          {"matrix", &all.matrix},
                                                                                          {"indices", &all.indices},
                                                                                          {"truths", &all.truths}})
        for (std::size_t at = 0; at < row.shown.size();) {
          const auto end = std::min(row.shown.find(", ", at), row.shown.size());
          if (row.shown.substr(at, end - at) == name) operands += shard_bytes(*x);
          at = end + 2;
        }
      mw::detail::test_limit_memory(other_live + result_bytes +
                                    static_cast<std::int64_t>(static_cast<double>(operands + result_bytes) * 0.3) +
                                    (std::int64_t{1} << 20));
      try {
        mw::agree([&] { mw::block_until_ready(row.call(all)); });
      } catch (const mw::OutOfMemoryError&) {
        failed.push_back(fmt::format("{}: {}", row.name, mw::explain([&] { return row.call(all); })));
      }
      mw::detail::test_limit_memory(0);
    }
  EXPECT_EQ(fmt::format("{}", fmt::join(failed, "\n")), "");
}

}  // namespace
