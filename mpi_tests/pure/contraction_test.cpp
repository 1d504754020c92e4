// pure
// Which operand of a contraction moves: no other way of cutting its letters moves fewer bytes; and the steps it is computed in.
#include "meshwise/plan/contraction.hpp"

#include <gtest/gtest.h>

#include <array>

#include "meshwise/placement/sharding.hpp"

using namespace meshwise;

namespace {

std::vector<PartitionSpec> specs_of_two_axes(const std::string& x, const std::string& y) {
  return {P(), P(x), P(y), P(nullptr, x), P(nullptr, y), P(x, y), P(y, x), P({x, y}), P({y, x}), P(nullptr, {x, y}), P(nullptr, {y, x})};
}

/// Bytes that each device must be brought so that an array under `from` lies under `to`, device by device.
std::int64_t brought(const Mesh& mesh, const Shape& shape, std::int64_t item, const PartitionSpec& from, const PartitionSpec& to) {
  const NamedSharding have(mesh, from), want(mesh, to);
  std::int64_t elements = 0;
  for (std::int64_t p = 0; p < mesh.size(); ++p) {
    const auto a = have.index_at(shape, p), b = want.index_at(shape, p);
    std::int64_t common = 1;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) common *= std::max<std::int64_t>(0, intersect(a[d], b[d]).size());
    elements += b.num_elements() - common;
  }
  return elements * item;
}

struct Product {
  Mesh mesh;
  std::int64_t m, k, n;
  PartitionSpec a, b, c;

  std::vector<OperandType> operands() const { return {{Shape{m, k}, float32, a}, {Shape{k, n}, float32, b}}; }
  Attributes attributes() const { return {.subscripts = "ik,kj->ij"}; }
  std::vector<ContractionStrategy> strategies() const { return contraction_strategies(mesh, attributes(), operands(), Shape{m, n}, c); }
  Panels panels(const Topology& topology = {}) const {
    return choose_panels(mesh, attributes(), operands(), Shape{m, n}, c, strategies().front(), topology);
  }
};

/// What the textbook knows: the result stays and both operands come; an operand stays and the other, and the result, move.
std::vector<std::pair<std::int64_t, std::int64_t>> textbook(const Product& p) {  // bytes, and devices that do the same work
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  const auto repeats = [&](const PartitionSpec& s) { return p.mesh.size() / tiles(p.mesh, s); };
  const auto entry = [](const PartitionSpec& s, std::size_t d) { return d < s.entries().size() ? s.entries()[d] : SpecEntry(); };
  // The result stays where it is to be.
  out.emplace_back(brought(p.mesh, Shape{p.m, p.k}, 4, p.a, P(entry(p.c, 0), nullptr)) +
                       brought(p.mesh, Shape{p.k, p.n}, 4, p.b, P(nullptr, entry(p.c, 1))),
                   repeats(p.c));
  // The left operand stays: the right one comes beside it whole in j, sums are combined over what cuts k, and go to the result's place.
  const auto sums_of = [&](const SpecEntry& k) {
    std::int64_t parts = 1;
    for (const auto& axis : k.axes()) parts *= p.mesh.axis_sizes()[*p.mesh.find_axis(axis)];
    return parts;
  };
  const auto combined = [&](const PartitionSpec& computed, std::int64_t parts) {
    std::int64_t elements = 0;
    for (std::int64_t d = 0; d < p.mesh.size(); ++d)
      elements += NamedSharding(p.mesh, computed).index_at(Shape{p.m, p.n}, d).num_elements();
    return 2 * 4 * elements * (parts - 1) / parts + brought(p.mesh, Shape{p.m, p.n}, 4, computed, p.c);
  };
  out.emplace_back(
      brought(p.mesh, Shape{p.k, p.n}, 4, p.b, P(entry(p.a, 1), nullptr)) + combined(P(entry(p.a, 0), nullptr), sums_of(entry(p.a, 1))),
      repeats(p.a));
  out.emplace_back(
      brought(p.mesh, Shape{p.m, p.k}, 4, p.a, P(nullptr, entry(p.b, 0))) + combined(P(nullptr, entry(p.b, 1)), sums_of(entry(p.b, 0))),
      repeats(p.b));
  return out;
}

TEST(Contraction, NothingKnownMovesFewerBytesAtAnyPairOfSpecs) {
  const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = DeviceList::virtual_devices(4)});
  const auto all = specs_of_two_axes("x", "y");
  std::int64_t cases = 0;
  for (const auto& a : all)
    for (const auto& b : all)
      for (const auto& c : all)
        for (const auto& [m, k, n] :
             std::vector<std::array<std::int64_t, 3>>{{32, 32, 32}, {512, 16, 64}, {16, 512, 32}, {64, 16, 512}, {7, 5, 3}}) {
          const Product product{mesh, m, k, n, a, b, c};
          const auto found = product.strategies();
          // What moves fewer bytes repeats more work.
          for (const auto& [bytes, repeats] : textbook(product))
            ASSERT_TRUE(repeats > found.front().repeats || found.front().bytes() <= bytes)
                << to_string(a) << to_string(b) << to_string(c) << m << " " << k << " " << n;
          for (const auto& other : found) ASSERT_TRUE(other.repeats > found.front().repeats || found.front().bytes() <= other.bytes());
          ++cases;
        }
  EXPECT_EQ(cases, 11 * 11 * 11 * 5);
}

TEST(Contraction, ResultSplitOverTheContractedAxisEndsInAReduceScatter) {
  const auto mesh = make_mesh({4}, {"x"}, {.devices = DeviceList::virtual_devices(4)});
  const Product product{mesh, 64, 64, 64, P(nullptr, "x"), P("x"), P("x")};
  const auto best = product.strategies().front();
  EXPECT_EQ(best.form.partial_axes, std::vector<std::string>{"x"});
  EXPECT_EQ(best.form.computed, P());
  EXPECT_EQ(best.form.combined, P("x"));
  EXPECT_EQ(best.operand_bytes, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(best.result_bytes, 4 * 64 * 64 * 3);  // each of 64 * 64 sums takes three other devices' parts
}

TEST(Contraction, ReplicatedOperandsMoveNothing) {
  const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = DeviceList::virtual_devices(4)});
  for (const auto& c : specs_of_two_axes("x", "y")) {
    const auto best = Product{mesh, 4096, 4096, 4096, P(), P(), c}.strategies().front();
    EXPECT_EQ(best.bytes(), 0) << to_string(c);
    EXPECT_EQ(best.form.computed, c);
  }
}

TEST(Contraction, TheSmallerOperandMovesAndWorkIsShared) {
  const auto mesh = make_mesh({4}, {"x"}, {.devices = DeviceList::virtual_devices(4)});
  // Columns of the left operand and nothing of the right: it takes its part of k.
  const auto by_k = Product{mesh, 4096, 4096, 16, P(nullptr, "x"), P(), P()}.strategies().front();
  EXPECT_EQ(by_k.operand_bytes, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(by_k.repeats, 1);
  // Both by rows: the small right one comes together everywhere.
  const auto by_rows = Product{mesh, 4096, 64, 64, P("x"), P("x"), P("x")}.strategies().front();
  EXPECT_EQ(by_rows.operand_bytes, (std::vector<std::int64_t>{0, 3 * 64 * 64 * 4}));
  EXPECT_EQ(by_rows.result_bytes, 0);
  EXPECT_EQ(by_rows.repeats, 1);
}

TEST(Contraction, InOrderLeavesContractedLettersWhole) {
  const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = DeviceList::virtual_devices(4)});
  auto attributes = Attributes{.subscripts = "ik,kj->ij", .in_order = true};
  const OperandType operands[] = {{Shape{8, 8}, float32, P(nullptr, "x")}, {Shape{8, 8}, float32, P("x")}};
  for (const auto& s : contraction_strategies(mesh, attributes, operands, Shape{8, 8}, P("x"))) EXPECT_TRUE(s.form.partial_axes.empty());
}

TEST(Contraction, StepsKeepWhatIsBesideTheShardsSmall) {
  const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = DeviceList::virtual_devices(4)});
  const auto all = specs_of_two_axes("x", "y");
  const std::int64_t n = 2048, array = n * n * 4;
  for (const auto& a : all)
    for (const auto& b : all)
      for (const auto& c : all) {
        const Product product{mesh, n, n, n, a, b, c};
        const auto best = product.strategies().front();
        const auto panels = product.panels();
        const auto held = [&](const PartitionSpec& spec) { return NamedSharding(mesh, spec).shard_shape(Shape{n, n}).num_elements() * 4; };
        const auto live = held(a) + held(b) + held(c);
        std::int64_t beside = 0;
        const auto steps = [&](bool has_letter) { return has_letter && panels.count > 1 ? panels.count : 1; };
        const auto add = [&](std::int64_t bytes, std::int64_t count) { beside += count == 1 ? bytes : 2 * ((bytes + count - 1) / count); };
        if (best.operand_bytes[0] > 0) add(held(best.form.operands[0]), steps(panels.letter == 'i' || panels.letter == 'k'));
        if (best.operand_bytes[1] > 0) add(held(best.form.operands[1]), steps(panels.letter == 'k' || panels.letter == 'j'));
        if (!best.form.partial_axes.empty() || !(best.form.computed == c))
          add(held(best.form.computed), steps(panels.letter == 'i' || panels.letter == 'j'));
        // Where the rule says the result's layout, 1.3, but for P((x,y)) times P(x,y) and its like, which are computed under another spec than they are to have.
        const bool natural = c == propagate(mesh, LayoutRule::contract, "matmul", product.attributes(), product.operands(), Shape{n, n});
        ASSERT_LE(live + beside, live * (natural ? 139 : 200) / 100 + 4096)
            << to_string(a) << " " << to_string(b) << " " << to_string(c) << ": " << to_string(best.form.operands[0])
            << to_string(best.form.operands[1]) << " computed " << to_string(best.form.computed) << ", " << panels.count << " panels of "
            << panels.letter << "; an array has " << array;
      }
}

TEST(Contraction, BlocksOfTheNodeArePanels) {
  const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = DeviceList::virtual_devices(4)});
  const Topology node{.node_shares_memory = true};
  const Product product{mesh, 4096, 4096, 4096, P("x", "y"), P("x", "y"), P("x", "y")};
  EXPECT_EQ(product.panels(node), (Panels{'k', 2, false, {1, 0}}));
  EXPECT_GE(product.panels().count, 4);
  EXPECT_EQ((Product{mesh, 4096, 4096, 4096, P("x"), P(), P("x")}.panels(node)), Panels{});
  EXPECT_EQ((Product{mesh, 16, 16, 16, P("x", "y"), P("x", "y"), P("x", "y")}.panels()), Panels{}) << "not worth a step";
}

TEST(Contraction, MeshesOfManyAxesAndOperandsStayAffordable) {
  const auto mesh = make_mesh({2, 2, 2, 2, 2, 2}, {"a", "b", "c", "d", "e", "f"}, {.devices = DeviceList::virtual_devices(64)});
  const Attributes attributes{.subscripts = "ij,jk,kl->il"};
  const OperandType operands[] = {{Shape{64, 64}, float32, P({"a", "b", "c"}, {"d", "e", "f"})},
                                  {Shape{64, 64}, float32, P({"d", "e", "f"}, {"a", "b", "c"})},
                                  {Shape{64, 64}, float32, P({"f", "b"}, {"a", "c"})}};
  const auto found = contraction_strategies(mesh, attributes, operands, Shape{64, 64}, P({"a", "b", "c"}));
  EXPECT_GT(found.size(), 100u);
  EXPECT_LE(found.front().bytes(), found.back().bytes());
}

}  // namespace
