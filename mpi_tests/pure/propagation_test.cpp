// The layout rules as text: operands and results are written as types, refusals by their words. What JAX itself answers is
// in layout_vectors_test; here stand the examples of the rule book and the cases that JAX does not have (uneven parts).
#include "meshwise/plan/propagation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwise/base/error.hpp"
#include "meshwise/placement/device.hpp"

namespace meshwise {
namespace {

using Rule = LayoutRule;

std::vector<std::string> split(const std::string& text) {  // at commas outside of parentheses
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) out.emplace_back();
    else out.back() += c;
  }
  return text.empty() ? std::vector<std::string>{} : out;
}

// `8@x,16@(x,y)`: every axis's entry is given, so the spec has ndim entries.
OperandType type(const std::string& text) {
  OperandType out;
  std::vector<SpecEntry> entries;
  for (const auto& axis : split(text)) {
    const auto mark = axis.find('@');
    out.shape.push_back(std::stoll(axis));
    std::vector<std::string> names;
    if (mark != std::string::npos) {
      auto list = axis.substr(mark + 1);
      if (list.front() == '(') list = list.substr(1, list.size() - 2);
      names = split(list);
    }
    entries.emplace_back(std::move(names));
  }
  out.spec = PartitionSpec(std::move(entries));
  return out;
}

struct Rules : ::testing::Test {
  static void SetUpTestSuite() { detail::set_world(8, 8, 0); }
  Mesh autos = make_mesh({4, 2}, {"x", "y"});
  Mesh explicits = make_mesh({4, 2}, {"x", "y"}, {.axis_types = AxisType::Explicit});

  // The result's type as text, or the message of the refusal.
  static std::string ask(const Mesh& mesh, Rule rule, const std::vector<std::string>& operands, const std::string& result,
                         const Attributes& attributes = {}, const std::string& operation = "op") {
    std::vector<OperandType> types;
    for (const auto& o : operands) types.push_back(type(o));
    const auto shape = type(result).shape;
    try {
      const auto text = type_string(Dtype::float32, shape, propagate(mesh, rule, operation, attributes, types, shape));
      return text.substr(8, text.size() - 9);
    } catch (const ShardingTypeError& e) {
      return e.what();
    }
  }
  std::string automatic(Rule rule, const std::vector<std::string>& operands, const std::string& result,
                        const Attributes& attributes = {}) const {
    return ask(autos, rule, operands, result, attributes);
  }
  std::string strict(Rule rule, const std::vector<std::string>& operands, const std::string& result,
                     const Attributes& attributes = {}) const {
    return ask(explicits, rule, operands, result, attributes);
  }
  std::string object(Rule rule, const Shape& shape, const PartitionSpec& spec, const Shape& result,
                     const Attributes& attributes = {}) const {
    const OperandType x[] = {{shape, Dtype::float32, spec}};
    return to_string(propagate(autos, rule, "op", attributes, x, result));
  }
};

Attributes with_axes(std::vector<std::int64_t> axes) { return {.axes = std::move(axes)}; }
Attributes with_subscripts(std::string text) { return {.subscripts = std::move(text)}; }
Attributes with_out(PartitionSpec spec) { return {.out_spec = std::move(spec)}; }

TEST(Types, AsText) {
  EXPECT_EQ(type_string(Dtype::float32, Shape{8, 16}, P("x", "y")), "float32[8@x,16@y]");
  EXPECT_EQ(type_string(Dtype::bfloat16, Shape{8, 4}, P({"x", "y"})), "bfloat16[8@(x,y),4]");
  EXPECT_EQ(type_string(Dtype::int32, Shape{8, 4}), "int32[8,4]");
  EXPECT_EQ(type_string(Dtype::bool_, Shape{}, P()), "bool[]");
}

TEST_F(Rules, TilesMultiply) {
  EXPECT_EQ(tiles(autos, P()), 1);
  EXPECT_EQ(tiles(autos, P("x", nullptr)), 4);
  EXPECT_EQ(tiles(autos, P(nullptr, {"y", "x"})), 8);
}

TEST_F(Rules, AutoElementwise) {
  const auto add = [&](const std::string& a, const std::string& b) { return automatic(Rule::elementwise, {a, b}, "8,16"); };
  EXPECT_EQ(add("8@x,16@y", "8@y,16@x"), "8@x,16@y");  // a tie: the first
  EXPECT_EQ(add("8@y,16@x", "8@x,16@y"), "8@y,16@x");
  EXPECT_EQ(add("8,16", "8@x,16@y"), "8@x,16@y");  // split beats replicated in both orders
  EXPECT_EQ(add("8@x,16@y", "8,16"), "8@x,16@y");
  EXPECT_EQ(add("8@x,16", "8,16@y"), "8@x,16@y");  // what fits is merged, in both orders
  EXPECT_EQ(add("8,16@y", "8@x,16"), "8@x,16@y");
  EXPECT_EQ(add("8@x,16", "8@(x,y),16"), "8@(x,y),16");  // no prefix logic: more tiles
  EXPECT_EQ(add("8@y,16", "8@x,16"), "8@x,16");
  EXPECT_EQ(add("8@x,16", "8,16@x"), "8@x,16");  // a mesh axis twice does not fit
}

TEST_F(Rules, AutoElementwiseTakesTwoPasses) {
  // Scanning once, the second operand would claim x for columns before the third, with most tiles, is seen.
  const auto m = make_mesh({2, 2, 2}, {"x", "y", "z"});
  EXPECT_EQ(ask(m, Rule::elementwise, {"8@y,16", "8,16@x", "8@(x,z),16"}, "8,16"), "8@(x,z),16");
  EXPECT_EQ(ask(m, Rule::where, {"8@x,16", "8,16@z", "8,16@(x,z)"}, "8,16"), "8,16@(x,z)");
}

TEST_F(Rules, AutoBroadcasting) {
  EXPECT_EQ(automatic(Rule::elementwise, {"16@x", "8,16"}, "8,16"), "8,16@x");        // fills in
  EXPECT_EQ(automatic(Rule::elementwise, {"16@(x,y)", "8,16@x"}, "8,16"), "8,16@(x,y)");  // refines
  EXPECT_EQ(automatic(Rule::elementwise, {"16@(x,y)", "8,16@y"}, "8,16"), "8,16@y");      // never replaces
  EXPECT_EQ(automatic(Rule::elementwise, {"8@x,1", "1,16@y"}, "8,16"), "8@x,16@y");
  EXPECT_EQ(automatic(Rule::elementwise, {"", "8@y,16@x"}, "8,16"), "8@y,16@x");
  EXPECT_EQ(automatic(Rule::elementwise, {"1@x,16", "8,16"}, "8,16"), "8,16");  // a grown axis is whole
}

TEST_F(Rules, AutoClipIsMinimumOfMaximum) {
  EXPECT_EQ(automatic(Rule::clip, {"8@x,16@y", "8@y,16@x", "8,16"}, "8,16"), "8@y,16@x");
  EXPECT_EQ(automatic(Rule::clip, {"8@x,16@y", "", ""}, "8,16"), "8@x,16@y");
}

TEST_F(Rules, AutoReductions) {
  EXPECT_EQ(automatic(Rule::reduce, {"8@x,16@y"}, "8", with_axes({1})), "8@x");
  EXPECT_EQ(automatic(Rule::reduce, {"8@x,16@y"}, "1,16", {.axes = {0}, .keepdims = true}), "1,16@y");
  EXPECT_EQ(automatic(Rule::arg_reduce, {"8@x,16@y"}, "", with_axes({0, 1})), "");
}

TEST_F(Rules, AutoAxesMove) {
  EXPECT_EQ(automatic(Rule::transpose, {"8@x,16,4@y"}, "4,8,16", with_axes({2, 0, 1})), "4@y,8@x,16");
  EXPECT_EQ(automatic(Rule::expand_dims, {"8@x,16@y"}, "8,1,16", with_axes({1})), "8@x,1,16@y");
  EXPECT_EQ(automatic(Rule::squeeze, {"8@x,1,16@y"}, "8,16", with_axes({1})), "8@x,16@y");
  EXPECT_EQ(automatic(Rule::broadcast_to, {"1,16@y"}, "3,8,16"), "3,8,16@y");
  EXPECT_EQ(automatic(Rule::tile, {"8@x,16@y"}, "16,16", with_axes({0})), "16,16@y");
}

TEST_F(Rules, AutoContractions) {
  const auto matmul = [&](const std::string& a, const std::string& b, const std::string& out) {
    return automatic(Rule::contract, {a, b}, out, with_subscripts("ij,jk->ik"));
  };
  EXPECT_EQ(matmul("8@x,16", "16,4@y", "8,4"), "8@x,4@y");
  EXPECT_EQ(matmul("8@x,16@y", "16@y,4", "8,4"), "8@x,4");  // the contracted split does not show
  EXPECT_EQ(matmul("8@x,16", "16,4@x", "8,4"), "8@x,4");    // a conflict: more elements keep theirs
  EXPECT_EQ(matmul("8@x,16", "16,16@x", "8,16"), "8,16@x");
  EXPECT_EQ(matmul("8@x,16", "16,8@x", "8,8"), "8@x,8");    // equally many: lhs
  EXPECT_EQ(automatic(Rule::contract, {"4@x,8,16", "4,16,2@y"}, "4,8,2", with_subscripts("bij,bjk->bik")), "4@x,8,2@y");
  EXPECT_EQ(automatic(Rule::contract, {"8@x", "8@x"}, "", with_subscripts("j,j->")), "");
}

TEST_F(Rules, AutoJoinsDoNotMerge) {
  EXPECT_EQ(automatic(Rule::concatenate, {"8@y,16", "8,16@x"}, "16,16", with_axes({0})), "16,16@x");
  EXPECT_EQ(automatic(Rule::concatenate, {"8@x,16", "8,16@x"}, "16,16", with_axes({0})), "16@x,16");
  EXPECT_EQ(automatic(Rule::stack, {"8@x,16", "8,16@y"}, "8,2,16", with_axes({1})), "8@x,2,16");
}

TEST_F(Rules, AutoReshape) {
  const auto reshape = [&](const std::string& x, const std::string& out) { return automatic(Rule::reshape, {x}, out); };
  EXPECT_EQ(reshape("4@x,4@y", "16"), "16@(x,y)");
  EXPECT_EQ(reshape("8@x,4@y", "32"), "32@x");  // the row parts are not single rows
  EXPECT_EQ(reshape("8,4@y", "32"), "32");
  EXPECT_EQ(reshape("16@(x,y)", "4,4"), "4@x,4@y");
  EXPECT_EQ(reshape("8@x,1,4@y", "8,4,1"), "8@x,4@y,1");
  EXPECT_EQ(reshape("8@x,4", "2,4,4"), "2,4,4");            // half of x: dropped
  EXPECT_EQ(reshape("32@(y,x)", "4,8"), "4@y,8");           // half of x, behind all of y
  EXPECT_EQ(reshape("8@(y,x)", "2,4"), "2@y,4@x");
  EXPECT_EQ(reshape("8,4@y,2@x", "32,2"), "32,2@x");        // what can be said of the rest is kept
}

TEST_F(Rules, AutoCutsKeepTheEntry) {
  using Kind = IndexItem::Kind;
  const IndexItem all{}, cut{Kind::range, 1, 4, 1, false}, third{Kind::integer, 3, 0, 1, false}, fresh{Kind::new_axis, 0, 0, 1, true};
  EXPECT_EQ(automatic(Rule::getitem, {"8@x,16@y"}, "3,16", {.items = {cut, all}}), "3@x,16@y");
  EXPECT_EQ(automatic(Rule::getitem, {"8@x,16@y"}, "16", {.items = {third, all}}), "16@y");
  EXPECT_EQ(automatic(Rule::getitem, {"8@x,16@y"}, "8,1,16", {.items = {all, fresh}}), "8@x,1,16@y");
  EXPECT_EQ(automatic(Rule::slice, {"8@x,16@y"}, "3,16", {.items = {cut, all}}), "3@x,16@y");
  EXPECT_EQ(automatic(Rule::dynamic_slice, {"8@x,16"}, "3,16", {.items = {cut, all}}), "3@x,16");
  EXPECT_EQ(automatic(Rule::pad, {"8@x,16"}, "9,16", with_axes({0})), "9@x,16");
  EXPECT_EQ(automatic(Rule::flip, {"8@x,16@y"}, "8,16", with_axes({0})), "8@x,16@y");
  EXPECT_EQ(automatic(Rule::worked_axis, {"8@x,16@y"}, "8,16", with_axes({0})), "8@x,16@y");
}

TEST_F(Rules, AutoGathersAndUpdates) {
  EXPECT_EQ(automatic(Rule::take, {"8@x,16@y", "5"}, "5,16", with_axes({0})), "5,16@y");
  EXPECT_EQ(automatic(Rule::take, {"8@x,16@y", "5@x"}, "5,16", with_axes({0})), "5@x,16@y");
  EXPECT_EQ(automatic(Rule::take, {"8@x,16@y", "5@y,3@x"}, "5,3,16", with_axes({0})), "5@y,3@x,16");
  EXPECT_EQ(automatic(Rule::gather_get, {"8@x,16@y", "5"}, "5,16"), "5,16@y");
  EXPECT_EQ(automatic(Rule::take_along_axis, {"8@x,16@y", "8,4"}, "8,4", with_axes({1})), "8@x,4");
  EXPECT_EQ(automatic(Rule::take_along_axis, {"8@y,16", "8,4@x"}, "8,4", with_axes({1})), "8@y,4@x");
  EXPECT_EQ(automatic(Rule::take_along_axis, {"8@x,16", "8@y,4@x"}, "8,4", with_axes({1})), "8@y,4@x");
  EXPECT_EQ(automatic(Rule::at_set, {"8@y,16", "16@x"}, "8,16", {.items = {{IndexItem::Kind::integer, 1, 0, 1, false}, {}}}), "8@y,16");
  EXPECT_EQ(automatic(Rule::dynamic_update_slice, {"8@y,16", "4@x,16"}, "8,16"), "8@y,16");
}

TEST_F(Rules, UnevenLengthsKeepTheirEntries) {
  EXPECT_EQ(automatic(Rule::elementwise, {"7@x,5", "7,5@y"}, "7,5"), "7@x,5@y");
  EXPECT_EQ(automatic(Rule::reshape, {"7@x,3"}, "21"), "21@x");
  EXPECT_EQ(automatic(Rule::elementwise, {"0@x", "0"}, "0"), "0@x");
  EXPECT_EQ(automatic(Rule::reshape, {"0@x,3"}, "3,0"), "3,0");
  EXPECT_EQ(automatic(Rule::reshape, {"0@x,3"}, "0,1,3"), "0@x,1,3");
  EXPECT_EQ(strict(Rule::slice, {"8@x,16"}, "3,16"), "3@x,16");
  EXPECT_EQ(strict(Rule::pad, {"8@x,16"}, "9,16", with_axes({0})), "9@x,16");
  EXPECT_EQ(strict(Rule::reshape, {"8@x,16"}, "2,64", with_out(P("x"))), "2@x,64");
}

TEST_F(Rules, TheSpecObject) {
  const Shape s{8, 16};
  EXPECT_EQ(object(Rule::unary, s, P("x", nullptr), s), "P('x', None)");  // verbatim
  EXPECT_EQ(object(Rule::unary, s, P("x"), s), "P('x',)");
  EXPECT_EQ(object(Rule::pad, s, P("x", nullptr), Shape{8, 20}, with_axes({1})), "P('x', None)");
  EXPECT_EQ(object(Rule::reduce, s, P(nullptr, nullptr), Shape{8}, with_axes({1})), "P()");  // another ndim: rebuilt
  EXPECT_EQ(object(Rule::reduce, Shape{8, 4, 2}, P("x", nullptr, "y"), Shape{8, 4}, with_axes({2})), "P('x',)");
  EXPECT_EQ(object(Rule::transpose, s, P("x", nullptr), Shape{16, 8}, with_axes({1, 0})), "P(None, 'x')");
  EXPECT_EQ(object(Rule::transpose, Shape{8, 8}, P(nullptr, nullptr), Shape{8, 8}, with_axes({1, 0})), "P(None, None)");

  const auto m = make_mesh({4, 1, 2}, {"x", "one", "y"});
  const OperandType operands[] = {{s, Dtype::float32, P("x", "one")}, {s, Dtype::float32, P(nullptr, "y")}};
  EXPECT_EQ(to_string(propagate(m, Rule::unary, "op", {}, {operands, 1}, s)), "P('x', 'one')");
  EXPECT_EQ(to_string(propagate(m, Rule::elementwise, "op", {}, operands, s)), "P('x', 'y')");  // size 1 counts for nothing
  const OperandType named_one[] = {{Shape{4, 8, 16}, Dtype::float32, P("x", "one", nullptr)}};
  EXPECT_EQ(to_string(propagate(m, Rule::reduce, "op", with_axes({2}), named_one, Shape{4, 8})), "P('x',)");
}

TEST_F(Rules, OutSpecIsTakenAsGiven) {
  EXPECT_EQ(object(Rule::reshard, Shape{8, 16}, P("x"), Shape{8, 16}, with_out(P("y"))), "P('y',)");
  const OperandType x[] = {{Shape{8, 16}, Dtype::float32, P("x")}};
  EXPECT_EQ(to_string(propagate(explicits, Rule::reshard, "reshard", with_out(P("y")), x, Shape{8, 16})), "P('y', None)");
  EXPECT_EQ(strict(Rule::contract, {"8@x,16@y", "16@y,4"}, "8,4", {.subscripts = "ij,jk->ik", .out_spec = P("y", "x")}), "8@y,4@x");
  try {
    propagate(explicits, Rule::reshard, "reshard", with_out(P("x", nullptr, "y")), x, Shape{8, 16});
    FAIL() << "a spec longer than ndim";
  } catch (const PlacementError& e) {
    EXPECT_NE(std::string(e.what()).find("reshard: out_spec P('x', None, 'y') has 3 entries, but the result has shape (8, 16)"),
              std::string::npos) << e.what();
  }
  EXPECT_THROW(propagate(autos, Rule::reshard, "reshard", with_out(P("z")), x, Shape{8, 16}), UnknownAxisError);
  EXPECT_THROW(propagate(autos, Rule::reshard, "reshard", with_out(P("x", "x")), x, Shape{8, 16}), DuplicateAxisError);
}

TEST_F(Rules, ExplicitResults) {
  EXPECT_EQ(strict(Rule::elementwise, {"8@x,16", "8,16@y"}, "8,16"), "8@x,16@y");
  EXPECT_EQ(strict(Rule::elementwise, {"8@x,16", "16@y"}, "8,16"), "8@x,16@y");
  EXPECT_EQ(strict(Rule::elementwise, {"", "8@x,16"}, "8,16"), "8@x,16");
  EXPECT_EQ(strict(Rule::where, {"", "8@x,16", "8@x,16"}, "8,16"), "8@x,16");
  EXPECT_EQ(strict(Rule::stack, {"8@x,16", "8@x,16"}, "2,8,16", with_axes({0})), "2,8@x,16");
  EXPECT_EQ(strict(Rule::contract, {"8@x,16@y", "16,4"}, "8,4", with_subscripts("ij,jk->ik")), "8@x,4");
  EXPECT_EQ(strict(Rule::reshape, {"8@x,4@y"}, "32"), "32@(x,y)");  // data moves; Auto says 32@x
  EXPECT_EQ(strict(Rule::reshape, {"16@(x,y),3"}, "4,4,3"), "4@x,4@y,3");
  EXPECT_EQ(strict(Rule::slice, {"8@x,16@y"}, "1,1"), "1,1");
  EXPECT_EQ(strict(Rule::take, {"8,16@y", "5"}, "5,16", with_axes({0})), "5,16@y");
  EXPECT_EQ(strict(Rule::tile, {"8@x,16"}, "8,32", with_axes({1})), "8@x,32");
  const OperandType x[] = {{Shape{8, 16}, Dtype::float32, P("x")}};
  EXPECT_EQ(to_string(propagate(explicits, Rule::unary, "exp", {}, x, Shape{8, 16})), "P('x', None)");        // ndim entries
  EXPECT_EQ(to_string(propagate(explicits, Rule::reshape, "reshape", {}, x, Shape{8, 16})), "P('x',)");       // the same array
}

TEST_F(Rules, ExplicitRefusals) {
  const auto refused = [&](const std::string& words, Rule rule, const std::vector<std::string>& operands, const std::string& result,
                           const Attributes& attributes = {}) {
    const auto got = strict(rule, operands, result, attributes);
    EXPECT_NE(got.find(words), std::string::npos) << words << "\n got " << got;
    EXPECT_NE(got.find("Mesh('x': 4, 'y': 2, axis_types=(Explicit, Explicit)) over devices [0, 1, 2, 3, 4, 5, 6, 7]"), std::string::npos)
        << got;
  };
  refused("op got incompatible shardings for broadcasting: ('x', 'y'), ('y', 'x').", Rule::elementwise, {"8@x,16@y", "8@y,16@x"}, "8,16");
  refused("incompatible", Rule::elementwise, {"8@x,16", "8@(x,y),16"}, "8,16");
  refused("op operation with inputs: float32[8@x,16], float32[8,16@x] produces an illegally sharded result: float32[8@x,16@x]",
          Rule::elementwise, {"8@x,16", "8,16@x"}, "8,16");
  refused("maximum (clip's first step) got incompatible", Rule::clip, {"8@x,16", "8@y,16", "8,16"}, "8,16");
  refused("same sharding. Got shardings ('x', None), ('x', None), (None, None)", Rule::where, {"8@x,16", "8@x,16", "8,16"}, "8,16");
  refused("same sharding", Rule::concatenate, {"8@x,16", "8,16"}, "16,16", with_axes({0}));
  refused("Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please specify the output sharding "
          "via the out_spec (out_sharding) parameter. Got lhs_contracting_spec=('x',) and rhs_contracting_spec=('x',)",
          Rule::contract, {"8,16@x", "16@x,4"}, "8,4", with_subscripts("ij,jk->ik"));
  refused("same sharding, got ('x',) and (None,).", Rule::contract, {"4@x,8,16", "4,16,2"}, "4,8,2", with_subscripts("bij,bjk->bik"));
  refused("illegally sharded result", Rule::contract, {"8@x,16", "16,4@x"}, "8,4", with_subscripts("ij,jk->ik"));
  refused("This reshape is not supported.", Rule::reshape, {"8@x,16"}, "16,8");
  refused("Got operand type: float32[8,4@y], new sizes: (32,)", Rule::reshape, {"8,4@y"}, "32");
  refused("of the gather indexing", Rule::take, {"8@x,16", "5"}, "5,16", with_axes({0}));
  refused("duplicate entries in ('x', 'x')", Rule::gather_get, {"8,16@x", "4@x"}, "4,16");
  refused("of the gather indexing", Rule::getitem, {"8@x,16"}, "16", {.items = {{IndexItem::Kind::integer, 1, 0, 1, false}, {}}});
  refused("of the gather indexing", Rule::take_along_axis, {"8@x,16", "8@y,4"}, "8,4", with_axes({1}));
  refused("input type=float32[16@y] and requested type=float32[16]", Rule::at_set, {"8,16", "16@y"}, "8,16",
          {.items = {{IndexItem::Kind::integer, 1, 0, 1, false}, {}}});
  refused("of the scatter indexing", Rule::at_set, {"8@x,16", "16"}, "8,16", {.items = {{IndexItem::Kind::integer, 1, 0, 1, false}, {}}});
  refused("unsharded over the axis worked on. Got type=float32[8@x,16] and axis=0", Rule::worked_axis, {"8@x,16"}, "8,16", with_axes({0}));
  refused("Incompatible types for broadcasting: input type=float32[16@y] and requested type=float32[8@x,16]", Rule::broadcast_to,
          {"16@y"}, "8,16", with_out(P("x")));
}

TEST_F(Rules, RefusalsNameArgumentsAndCure) {
  EXPECT_EQ(ask(explicits, Rule::elementwise, {"8@x,16", "8@y,16"}, "8,16", {}, "add"),
            "add got incompatible shardings for broadcasting: ('x', None), ('y', None). Operands of add: x: float32[8@x,16], y: "
            "float32[8@y,16], on Mesh('x': 4, 'y': 2, axis_types=(Explicit, Explicit)) over devices [0, 1, 2, 3, 4, 5, 6, 7]. Cure: "
            "reshard the operands to one spec first.");
  EXPECT_NE(strict(Rule::where, {"8,16", "8@x,16", "8@x,16"}, "8,16").find("condition: float32[8,16], x: float32[8@x,16], y: "),
            std::string::npos);
  EXPECT_NE(strict(Rule::stack, {"8,16", "8@x,16"}, "2,8,16", with_axes({0})).find("args[0]: float32[8,16], args[1]: float32[8@x,16]"),
            std::string::npos);
}

}  // namespace
}  // namespace meshwise
