// ranks: 4
// variant: private ranks=4 MESHWISE_STORE=private
// timeout: 300
// Under a cap of 1.3 times operands and result, and a little, every operation still runs: nothing gathers and then computes, nothing leaves whole arrays lying about.
#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>
#include <meshwise/tools/explain.hpp>

#include <functional>
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

// Rows whose samples are not of a fit size: they stand below with others. linalg: factorisations of matrices on one device.
const std::set<std::string_view> elsewhere{"outer", "meshgrid", "linalg::cross", "one_hot", "searchsorted", "digitize", "stencil"};

struct Case {
  const char* name;
  std::vector<Array> operands;
  std::function<std::vector<Array>(const std::vector<Array>&)> call;
};

std::vector<Case> other_cases(const mw::detail::SampleArrays& all) {
  const auto mesh = all.x.sharding().mesh();
  const auto rows = [&](const Array& x) { return mw::device_put(x, NamedSharding(mesh, P(mw::SpecEntry({"x", "y"})))); };
  const auto triples = mw::device_put(mw::reshape(all.x[mw::Slice(0, 3 << 8)], {3, (1 << 8) * 4096}), NamedSharding(mesh, P(nullptr, mw::SpecEntry({"x", "y"}))));
  const auto line = mw::device_put(mw::arange(4096.0), NamedSharding(mesh, P("x"))), across = mw::device_put(mw::arange(4096.0), NamedSharding(mesh, P("y")));
  const auto classes = rows(mw::remainder(mw::arange(1 << 16), 64));
  const auto ordered = mw::sort(rows(all.vector[mw::Slice(0, 1 << 20)])), some = rows(all.vector[mw::Slice(1 << 20, 2 << 20)]), tall = rows(mw::reshape(all.vector, {1 << 18, 32}));
  using Arrays = const std::vector<Array>&;
  return {{"outer", {line, across}, [](Arrays a) { return std::vector{mw::outer(a[0], a[1])}; }},
          {"meshgrid", {line, across}, [](Arrays a) { return mw::meshgrid({a[0], a[1]}); }},
          {"linalg::cross", {triples, triples}, [](Arrays a) { return std::vector{mw::linalg::cross(a[0], a[1], 0)}; }},
          {"one_hot", {classes}, [](Arrays a) { return std::vector{mw::one_hot(a[0], 64)}; }},
          {"searchsorted", {ordered, some}, [](Arrays a) { return std::vector{mw::searchsorted(a[0], a[1])}; }},
          {"digitize", {some, ordered}, [](Arrays a) { return std::vector{mw::digitize(a[0], a[1])}; }},
          {"linalg::qr of a tall matrix", {tall}, [](Arrays a) { auto [q, r] = mw::linalg::qr(a[0]); return std::vector{q, r}; }},
          {"linalg::svd of a tall matrix", {tall}, [](Arrays a) { auto [u, s, vh] = mw::linalg::svd(a[0], false); return std::vector{u, s, vh}; }}};
}

std::int64_t shard_bytes(const std::vector<Array>& all) {
  std::int64_t sum = 0;
  for (const auto& x : all) sum += shard_bytes(x);
  return sum;
}

// Whether a call runs with three tenths of operands and result, and a little, beside them.
bool runs_within(std::int64_t live, std::int64_t operands, std::int64_t results, const std::function<void()>& call) {
  mw::trim();
  mw::detail::test_limit_memory(live + results + (operands + results) * 3 / 10 + (std::int64_t{1} << 20));
  bool runs = true;
  try {
    mw::agree(call);
  } catch (const mw::OutOfMemoryError&) {
    runs = false;
  }
  mw::detail::test_limit_memory(0);
  return runs;
}

TEST(MemoryOfOperations, OfOtherShapes) {
  if (mw::memory_stats().store != "private") GTEST_SKIP() << "a block that another rank lends counts with both, and takes no memory";
  const auto cases = other_cases(samples());
  const auto live = mw::memory_stats().live;
  for (const auto& [name, operands, call] : cases) {
    const auto results = shard_bytes(call(operands));
    EXPECT_TRUE(runs_within(live, shard_bytes(operands), results, [&, &f = call, &given = operands] {
                  for (const auto& x : f(given)) mw::block_until_ready(x);
                })) << name;
  }
}

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
      if (!runs_within(other_live, operands, result_bytes, [&] { mw::block_until_ready(row.call(all)); }))
        failed.push_back(fmt::format("{}: {}", row.name, mw::explain([&] { return row.call(all); })));
    }
  EXPECT_EQ(fmt::format("{}", fmt::join(failed, "\n")), "");
}

}  // namespace
