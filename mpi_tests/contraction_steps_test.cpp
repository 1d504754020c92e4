// ranks: 1 2 4 6
// devices_per_rank: 8 4@2
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: dealt ranks=4 MESHWISE_NODES=0,1
// counters
// links: mpi
// Products so large that they are computed in steps: their values, what is there beside operands and result, and what explain() says of them.
#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>
#include <meshwise/plan/contraction.hpp>
#include <meshwise/plan/propagation.hpp>
#include <meshwise/tools/explain.hpp>

#include <mpi.h>

#include "support/counters.hpp"
#include "support/exact.hpp"
#include "support/hooks.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;

namespace {

// Small whole numbers whose products, summed over k, are known for every residue of i and j: exact in float32, and wrong wherever a k is missing, twice or shifted.
constexpr std::int64_t m = 1280, k = 1344, n = 1408;
float left_at(std::int64_t i, std::int64_t p) { return static_cast<float>((i % 7 + 1) * (p % 13) % 5 - 2 + (p == k - 1 ? 7 : 0)); }
float right_at(std::int64_t p, std::int64_t j) { return static_cast<float>((p % 13 + j % 11) % 6 - 2); }

template <class F>
Array made(const Shape& shape, const mw::Sharding& where, F&& at) {
  return mw::make_array_from_callback(shape, mw::float32, where, [&](const mw::Index& box, mw::LocalArray& out) {
    auto view = out.mutable_view<float>();
    for (std::int64_t i = 0; i < box[0].size(); ++i)
      for (std::int64_t j = 0; j < box[1].size(); ++j) view(i, j) = at(box[0].start + i, box[1].start + j);
  });
}

float want(std::int64_t i, std::int64_t j) {
  static const auto table = [] {
    std::vector<float> out(7 * 66);
    for (std::int64_t a = 0; a < 7; ++a)
      for (std::int64_t b = 0; b < 66; ++b)
        for (std::int64_t p = 0; p < k; ++p) out[static_cast<std::size_t>(a * 66 + b)] += left_at(a, p) * right_at(p, b);
    return out;
  }();
  return table[static_cast<std::size_t>(i % 7 * 66 + j % 66)];
}

std::string wrong(const Array& c) {
  for (const auto& shard : c.addressable_shards()) {
    const auto v = shard.data().view<float>();
    for (std::int64_t i = 0; i < shard.index()[0].size(); ++i)
      for (std::int64_t j = 0; j < shard.index()[1].size(); ++j)
        if (const auto a = shard.index()[0].start + i, b = shard.index()[1].start + j; v(i, j) != want(a, b))
          return fmt::format("[{}, {}] is {}, wanted {}", a, b, v(i, j), want(a, b));
  }
  return {};
}

mw::Mesh mesh_of_two() {
  const auto devices = mw::devices().size();
  const auto rows = devices % 2 == 0 ? 2 : 1;
  return mw::make_mesh({rows, devices / rows}, {"x", "y"});
}

std::int64_t tiles_of_result(const Array& x, const Array& y) {
  const mw::OperandType operands[] = {{x.shape(), x.dtype(), x.sharding().spec()}, {y.shape(), y.dtype(), y.sharding().spec()}};
  const auto& mesh = x.sharding().mesh();
  return mw::tiles(mesh, mw::propagate(mesh, mw::LayoutRule::contract, "matmul", {.subscripts = "ik,kj->ij"}, operands, {m, n}));
}

std::vector<mw::PartitionSpec> specs() {
  return {P(), P("x"), P(nullptr, "x"), P("x", "y"), P("y", "x"), P({"x", "y"}), P(nullptr, {"y", "x"})};
}

// Beside operands and result there is a third of them at most, a panel of the result in its other layout included (three tenths but where the result is moved).
TEST(ContractionSteps, EveryPairOfSpecsIsRightAndNoneNeedsASecondCopy) {
  const auto mesh = mesh_of_two();
  const bool capped = mw::memory_stats().store == "private" && mw::process_count() == 4;
  for (const auto& a : specs())
    for (const auto& b : specs()) {
      const auto x = made(Shape{m, k}, NamedSharding(mesh, a), left_at), y = made(Shape{k, n}, NamedSharding(mesh, b), right_at);
      const auto result = mw::explain([](const Array& p, const Array& q) { return mw::matmul(p, q); }, x, y);
      if (capped) {
        mw::trim();
        const auto shard = [&](const mw::PartitionSpec& spec, const Shape& shape) {
          return NamedSharding(mesh, spec).shard_shape(shape).num_elements() * 4;
        };
        const auto ideal = shard(a, {m, k}) + shard(b, {k, n}) + shard(P(), {m, n}) / tiles_of_result(x, y);
        mw::detail::test_limit_memory(ideal * 13 / 10 + (std::int64_t{3} << 19));
      }
      Array z;
      EXPECT_NO_THROW(mw::agree([&] { z = mw::matmul(x, y); })) << to_string(a) << " " << to_string(b) << "\n" << result;
      mw::detail::test_limit_memory(0);
      ASSERT_EQ(wrong(z), "") << to_string(a) << " " << to_string(b);
    }
}

// What the strategy says is what goes through MPI, where nothing is shared: payload to the byte, and heads beside it.
TEST(ContractionSteps, BytesSentAreThePlans) {
  if (mw::memory_stats().store != "private" || mw::process_count() != 4) GTEST_SKIP() << "on a node that shares memory nothing is sent";
  const auto mesh = mesh_of_two();
  for (const auto& a : specs())
    for (const auto& b : specs()) {
      const auto x = made(Shape{m, k}, NamedSharding(mesh, a), left_at), y = made(Shape{k, n}, NamedSharding(mesh, b), right_at);
      const mw::OperandType operands[] = {{x.shape(), x.dtype(), a}, {y.shape(), y.dtype(), b}};
      const mw::Attributes attributes{.subscripts = "ik,kj->ij"};
      const auto c = mw::propagate(mesh, mw::LayoutRule::contract, "matmul", attributes, operands, {m, n});
      const auto planned = mw::contraction_strategies(mesh, attributes, operands, {m, n}, c).front().bytes();
      const auto sent_by = [&](bool multiplies) {  // a barrier's own bytes are not the product's
        mw::barrier();
        const auto before = mw::runtime_stats().bytes_sent;
        const auto counted = support::snapshot_all_threads().bytes;
        if (multiplies) mw::block_until_ready(mw::matmul(x, y));
        mw::barrier();
        return std::pair(mw::runtime_stats().bytes_sent - before,
                         static_cast<std::int64_t>(support::snapshot_all_threads().bytes - counted));
      };
      const auto idle = sent_by(false), busy = sent_by(true);
      std::int64_t sums[2] = {busy.first - idle.first, busy.second - idle.second};
      MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
      ASSERT_EQ(sums[0], planned) << to_string(a) << " " << to_string(b) << " to " << to_string(c);
      ASSERT_GE(sums[1], planned);
      ASSERT_LE(sums[1], planned + planned / 100 + (std::int64_t{64} << 10)) << to_string(a) << " " << to_string(b);
    }
}

TEST(ContractionSteps, EveryResultAskedForIsRight) {
  const auto mesh = mesh_of_two();
  for (const auto& c : specs())
    for (const auto& [a, b] : std::vector<std::pair<mw::PartitionSpec, mw::PartitionSpec>>{{P(nullptr, "x"), P("x")},
                                                                                           {P("x", "y"), P("x", "y")},
                                                                                           {P("x", "y"), P("y", "x")},
                                                                                           {P(nullptr, {"x", "y"}), P({"x", "y"})},
                                                                                           {P("x"), P()}}) {
      const auto x = made(Shape{m, k}, NamedSharding(mesh, a), left_at), y = made(Shape{k, n}, NamedSharding(mesh, b), right_at);
      const auto z = mw::matmul(x, y, c);
      ASSERT_EQ(wrong(z), "") << to_string(a) << " " << to_string(b) << " to " << to_string(c);
    }
}

TEST(ContractionSteps, OperandsAndResultsOfOtherLettersAndDtypes) {
  const auto mesh = mesh_of_two();
  const auto x = made(Shape{m, k}, NamedSharding(mesh, P("x", "y")), left_at),
             y = made(Shape{k, n}, NamedSharding(mesh, P("x", "y")), right_at);
  EXPECT_EQ(wrong(mw::einsum("pi,pj->ij", {mw::reshard(x.T(), P("y", "x")), y})), "");
  EXPECT_EQ(wrong(mw::einsum("ip,pj->ji", {x, y}).T()), "");
  for (const auto dtype : {mw::float64, mw::int32, mw::complex64}) {
    const auto z = mw::matmul(x.astype(dtype), y.astype(dtype));
    EXPECT_EQ(wrong((dtype == mw::complex64 ? mw::real(z) : z).astype(mw::float32)), "") << name(dtype);
  }
}

TEST(ContractionSteps, ExplainSaysWhatMovesAndNothingDoes) {
  const auto devices = mw::devices().size();
  const auto mesh = mw::make_mesh({devices}, {"x"});
  const auto x = mw::device_put(mw::ones({1024, 1024}), NamedSharding(mesh, P("x"))),
             w = mw::device_put(mw::ones({1024, 256}), NamedSharding(mesh, P()));
  const auto too_few = x[mw::Slice(0, 3)];
  const auto before = mw::runtime_stats();
  const auto product = [](const Array& a, const Array& b) { return mw::matmul(a, b); };
  EXPECT_EQ(mw::explain(product, x, w),
            fmt::format("matmul: float32[1024@x,1024], float32[1024,256] -> float32[1024@x,256]\nnothing moves\n"));
  const auto parts = mw::explain([](const Array& a) { return mw::matmul(a.T(), a); }, x);
  EXPECT_TRUE(devices == 1 || parts.find("matmul: float32[1024,1024@x], float32[1024@x,1024] -> float32[1024,1024]") != std::string::npos)
      << parts;
  EXPECT_TRUE(devices == 1 || parts.find("parts over x combined, to all of them") != std::string::npos) << parts;
  EXPECT_TRUE(devices != 4 || parts.find("24.0 MiB move in all") != std::string::npos) << parts;  // 2 * 3/4 * 4 MiB on each of 4
  const auto several = mw::explain([](const Array& a) { return mw::sum(mw::reshape(mw::transpose(a) + 1.0, {-1})); }, x);
  for (const auto* part : {"transpose: ", "add: ", "reshape: ", "sum: "}) EXPECT_NE(several.find(part), std::string::npos) << several;
  EXPECT_THROW(mw::explain([](const Array& a) { return mw::sum(a).item<float>(); }, x), mw::Error);
  EXPECT_THROW(mw::explain(product, x, too_few), mw::ShapeError);
  EXPECT_EQ(mw::runtime_stats().messages_sent, before.messages_sent);
  EXPECT_EQ(mw::sum(x).item<float>(), 1048576.0f) << "calls go on as before";
}

}  // namespace
