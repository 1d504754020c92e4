// timeout: 240
// Local forms, by computing: every device evaluates the serial definition of the operation on its own boxes alone, parts are
// added up over the partial axes, and each device's box must hold the serial result. Lengths are uneven on purpose.
#include "meshwise/plan/local_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "meshwise/base/error.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise {
namespace {

using Coordinates = std::vector<std::int64_t>;

void for_each(const Index& box, const std::function<void(const Coordinates&)>& f) {
  if (box.empty()) return;
  Coordinates at;
  for (const auto& r : box) at.push_back(r.start);
  for (;;) {
    f(at);
    auto d = static_cast<std::int64_t>(at.size()) - 1;
    while (d >= 0 && ++at[static_cast<std::size_t>(d)] == box[d].stop) at[static_cast<std::size_t>(d)] = box[d].start, --d;
    if (d < 0) return;
  }
}

// Operand values are whole numbers, so that sums are exact in any order.
double value(std::size_t operand, const Coordinates& at) {
  std::int64_t v = static_cast<std::int64_t>(operand) * 5 + 3;
  for (const auto i : at) v = (v * 31 + i * 7 + 1) % 23;
  return static_cast<double>(v) - 11;
}

PartitionSpec random_spec(std::mt19937& random, const Mesh& mesh, std::int64_t ndim) {
  std::vector<std::vector<std::string>> names(static_cast<std::size_t>(ndim));
  auto axes = mesh.axis_names();
  std::shuffle(axes.begin(), axes.end(), random);
  for (const auto& axis : axes)
    if (const auto d = random() % (static_cast<unsigned>(ndim) + 1); d < names.size()) names[d].push_back(axis);
  std::vector<SpecEntry> entries;
  for (auto& n : names) entries.emplace_back(std::move(n));
  return PartitionSpec(std::move(entries));
}

struct Trial {
  Mesh mesh;
  LayoutRule rule;
  Attributes attributes;
  std::vector<OperandType> operands;
  Shape result;
  PartitionSpec spec;
  LocalForm form;

  Index box(std::size_t operand, std::int64_t position) const {
    return NamedSharding(mesh, form.operands[operand]).index_at(operands[operand].shape, position);
  }
  Index computed_box(std::int64_t position) const { return NamedSharding(mesh, form.computed).index_at(result, position); }

  // Positions that a combination over the partial axes brings together with this one.
  std::vector<std::int64_t> group(std::int64_t position) const {
    std::vector<std::int64_t> out{position};
    for (const auto& name : form.partial_axes) {
      const auto axis = *mesh.find_axis(name);
      const auto stride = mesh.strides()[axis], size = mesh.axis_sizes()[axis];
      std::vector<std::int64_t> wider;
      for (const auto p : out)
        for (std::int64_t k = 0; k < size; ++k) wider.push_back(p + (k - p / stride % size) * stride);
      out = wider;
    }
    return out;
  }
  std::string text() const {
    std::string out = to_string(mesh) + " '" + attributes.subscripts + "' to " + to_string(spec) + ", computed " + to_string(form.computed);
    for (std::size_t i = 0; i < operands.size(); ++i)
      out += "\n  " + type_string(operands[i].dtype, operands[i].shape, operands[i].spec) + " brought to " + to_string(form.operands[i]);
    for (const auto& axis : form.partial_axes) out += " partial " + axis;
    return out;
  }
};

// What one element of the result is, summed over the terms that `allowed` admits: called with an operand and where it reads.
using Admits = std::function<bool(std::size_t, const Coordinates&)>;
using Definition = std::function<double(const Trial&, const Coordinates&, const Admits&)>;

void check(const Trial& run, const Definition& definition) {
  SCOPED_TRACE(run.text());
  std::vector<std::map<Coordinates, double>> local(static_cast<std::size_t>(run.mesh.size()));
  for (std::int64_t p = 0; p < run.mesh.size(); ++p)
    for_each(run.computed_box(p), [&](const Coordinates& at) {
      local[static_cast<std::size_t>(p)][at] = definition(run, at, [&](std::size_t operand, const Coordinates& from) {
        const auto box = run.box(operand, p);
        for (std::int64_t d = 0; d < box.ndim(); ++d)
          if (const auto i = from[static_cast<std::size_t>(d)]; i < box[d].start || i >= box[d].stop) return false;
        return true;
      });
    });
  for (std::int64_t p = 0; p < run.mesh.size(); ++p)
    for_each(run.computed_box(p), [&](const Coordinates& at) {
      double sum = 0;
      for (const auto q : run.group(p)) sum += local[static_cast<std::size_t>(q)].at(at);
      ASSERT_EQ(sum, definition(run, at, [](std::size_t, const Coordinates&) { return true; })) << "device " << p;
    });
}

struct Subscript {
  std::string a, b, result;
};

// Sums products over the letters that the result does not have.
double einsum(const Trial& run, const Subscript& s, const Coordinates& at, const Admits& admits) {
  std::map<char, std::int64_t> length, value_of;
  const auto learn = [&](const std::string& term, std::size_t operand) {
    for (std::size_t d = 0; d < term.size(); ++d) length[term[d]] = run.operands[operand].shape[static_cast<std::int64_t>(d)];
  };
  learn(s.a, 0);
  if (run.operands.size() > 1) learn(s.b, 1);
  for (std::size_t d = 0; d < s.result.size(); ++d) value_of[s.result[d]] = at[d];
  std::string summed;
  PerAxis<Range> ranges;
  for (const auto& [letter, n] : length)
    if (s.result.find(letter) == std::string::npos) {
      summed.push_back(letter);
      ranges.push_back({0, n});
    }
  double sum = 0;
  const auto add = [&](const Coordinates& inner) {
    for (std::size_t k = 0; k < summed.size(); ++k) value_of[summed[k]] = inner[k];
    double product = 1;
    for (std::size_t i = 0; i < run.operands.size(); ++i) {
      Coordinates from;
      for (const char letter : i == 0 ? s.a : s.b) from.push_back(value_of[letter]);
      if (!admits(i, from)) return;
      product *= value(i, from);
    }
    sum += product;
  };
  if (ranges.empty()) add({});
  else for_each(Index(ranges), add);
  return sum;
}

// What a local matrix product needs beyond covering: a letter has one range in every term and in the result.
void check_blocks_fit(const Trial& run, const Subscript& s) {
  for (std::int64_t p = 0; p < run.mesh.size(); ++p) {
    std::map<char, Range> ranges;
    const auto fits = [&](const std::string& term, const Index& box) {
      for (std::size_t d = 0; d < term.size(); ++d) {
        const auto& range = box[static_cast<std::int64_t>(d)];
        ASSERT_EQ(ranges.try_emplace(term[d], range).first->second, range) << "device " << p << " letter " << term[d] << run.text();
      }
    };
    fits(s.a, run.box(0, p));
    fits(s.b, run.box(1, p));
    fits(s.result, run.computed_box(p));
  }
}

struct Forms : ::testing::Test {
  static void SetUpTestSuite() { detail::set_world(8, 8, 0); }
  std::mt19937 random{20240817};
  std::vector<Mesh> meshes{make_mesh({4, 2}, {"x", "y"}), make_mesh({3, 2}, {"x", "y"}), make_mesh({2, 2, 2}, {"x", "y", "z"}),
                           make_mesh({2, 1, 3}, {"x", "one", "y"})};

  // The rule's own spec, or any other: the form must be right for whatever the caller wants.
  Trial make(LayoutRule rule, const Attributes& attributes, const std::vector<Shape>& shapes, const Shape& result) {
    const auto& mesh = meshes[random() % meshes.size()];
    std::vector<OperandType> operands;
    for (const auto& s : shapes) operands.push_back({s, Dtype::float64, random_spec(random, mesh, s.ndim())});
    const auto spec = random() % 2 ? propagate(mesh, rule, "op", attributes, operands, result) : random_spec(random, mesh, result.ndim());
    return {mesh, rule, attributes, operands, result, spec, local_form(mesh, rule, attributes, operands, result, spec)};
  }
};

TEST_F(Forms, Contractions) {
  const std::map<char, std::int64_t> lengths{{'b', 3}, {'i', 7}, {'j', 5}, {'k', 4}, {'l', 2}};
  const std::vector<Subscript> list{{"ij", "jk", "ik"}, {"bij", "bjk", "bik"}, {"ij", "ij", ""}, {"ij", "kj", "ki"}, {"i", "j", "ij"},
                                    {"ij", "kl", ""}, {"ij", "kl", "ik"}, {"iij", "jk", "ik"}, {"ii", "ij", "j"}, {"j", "jk", "k"}};
  const auto shape_of = [&](const std::string& term) {
    Shape out;
    for (const char letter : term) out.push_back(lengths.at(letter));
    return out;
  };
  for (const auto& s : list)
    for (int round = 0; round < 40; ++round) {
      const Attributes attributes{.subscripts = s.a + "," + s.b + "->" + s.result};
      const auto run = make(LayoutRule::contract, attributes, {shape_of(s.a), shape_of(s.b)}, shape_of(s.result));
      check(run, [&](const Trial& r, const Coordinates& at, const Admits& admits) { return einsum(r, s, at, admits); });
      check_blocks_fit(run, s);
    }
}

TEST_F(Forms, Reductions) {
  struct Sum {
    std::vector<std::int64_t> axes;
    bool keepdims;
    Subscript letters;
    Shape result;
  };
  const std::vector<Sum> list{{{1}, false, {"ij", "", "i"}, Shape{7}},        {{0}, false, {"ij", "", "j"}, Shape{5}},
                              {{0, 1}, false, {"ij", "", ""}, Shape{}},       {{0}, true, {"ij", "", "aj"}, Shape{1, 5}}};
  for (const auto& s : list)
    for (int round = 0; round < 60; ++round) {
      const auto run = make(LayoutRule::reduce, {.axes = s.axes, .keepdims = s.keepdims}, {Shape{7, 5}}, s.result);
      check(run, [&](const Trial& r, const Coordinates& at, const Admits& admits) { return einsum(r, s.letters, at, admits); });
    }
}

TEST_F(Forms, ReductionsDoNotMoveTheOperandUnderTheRulesSpec) {
  const OperandType x[] = {{Shape{7, 5}, Dtype::float32, P("x", "y")}};
  const Attributes attributes{.axes = {0}};
  const auto spec = propagate(meshes[0], LayoutRule::reduce, "sum", attributes, x, Shape{5});
  const auto form = local_form(meshes[0], LayoutRule::reduce, attributes, x, Shape{5}, spec);
  EXPECT_EQ(form.operands[0], x[0].spec);
  EXPECT_EQ(form.computed, P("y"));
  EXPECT_EQ(form.partial_axes, std::vector<std::string>{"x"});
}

// Every operand's axis must have the result's box, or the whole axis where it is broadcast.
TEST_F(Forms, Elementwise) {
  for (int round = 0; round < 200; ++round) {
    const auto run = make(LayoutRule::where, {}, {Shape{7, 1}, Shape{7, 5}, Shape{5}}, Shape{7, 5});
    EXPECT_EQ(run.form.computed, run.spec);
    EXPECT_TRUE(run.form.partial_axes.empty());
    for (std::int64_t p = 0; p < run.mesh.size(); ++p) {
      const auto out = run.computed_box(p);
      ASSERT_EQ(run.box(0, p), Index({out[0], Range{0, 1}})) << run.text();
      ASSERT_EQ(run.box(1, p), out) << run.text();
      ASSERT_EQ(run.box(2, p), Index({out[1]})) << run.text();
    }
  }
}

TEST_F(Forms, AxesMove) {
  for (int round = 0; round < 100; ++round) {
    const auto turned = make(LayoutRule::transpose, {.axes = {2, 0, 1}}, {Shape{7, 5, 3}}, Shape{3, 7, 5});
    const auto wider = make(LayoutRule::expand_dims, {.axes = {0, 2}}, {Shape{7, 5}}, Shape{1, 7, 1, 5});
    const auto narrower = make(LayoutRule::squeeze, {.axes = {1}}, {Shape{7, 1, 5}}, Shape{7, 5});
    const auto grown = make(LayoutRule::broadcast_to, {}, {Shape{1, 5}}, Shape{3, 7, 5});
    const auto tiled = make(LayoutRule::tile, {.axes = {0}}, {Shape{7, 5}}, Shape{14, 5});
    for (std::int64_t p = 0; p < 6; ++p) {
      const auto t = turned.computed_box(p), w = wider.computed_box(p), n = narrower.computed_box(p), g = grown.computed_box(p),
                 r = tiled.computed_box(p);
      ASSERT_EQ(turned.box(0, p), Index({t[1], t[2], t[0]})) << turned.text();
      ASSERT_EQ(wider.box(0, p), Index({w[1], w[3]})) << wider.text();
      ASSERT_EQ(w[0], (Range{0, 1})) << wider.text();
      ASSERT_EQ(narrower.box(0, p), Index({n[0], Range{0, 1}, n[1]})) << narrower.text();
      ASSERT_EQ(grown.box(0, p), Index({Range{0, 1}, g[2]})) << grown.text();
      ASSERT_EQ(tiled.box(0, p), Index({Range{0, 7}, r[1]})) << tiled.text();
      ASSERT_EQ(r[0], (Range{0, 14})) << tiled.text();
    }
  }
}

TEST_F(Forms, GathersAndWorkedAxes) {
  for (int round = 0; round < 100; ++round) {
    const auto take = make(LayoutRule::take, {.axes = {1}}, {Shape{7, 5, 3}, Shape{4, 6}}, Shape{7, 4, 6, 3});
    const auto along = make(LayoutRule::take_along_axis, {.axes = {1}}, {Shape{7, 5}, Shape{7, 9}}, Shape{7, 9});
    const auto sort = make(LayoutRule::worked_axis, {.axes = {1}}, {Shape{7, 5}}, Shape{7, 5});
    for (std::int64_t p = 0; p < 6; ++p) {
      const auto t = take.computed_box(p), a = along.computed_box(p), s = sort.computed_box(p);
      ASSERT_EQ(take.box(0, p), Index({t[0], Range{0, 5}, t[3]})) << take.text();  // 24 results for 5 elements: they come together
      ASSERT_EQ(take.box(1, p), Index({t[1], t[2]})) << take.text();
      ASSERT_EQ(along.box(0, p), Index({a[0], Range{0, 5}})) << along.text();
      ASSERT_EQ(along.box(1, p), a) << along.text();
      ASSERT_EQ(sort.box(0, p), s) << sort.text();
      ASSERT_EQ(s[1], (Range{0, 5})) << sort.text();
      ASSERT_EQ(s[0], NamedSharding(sort.mesh, sort.spec).index_at(sort.result, p)[0]) << sort.text();
    }
  }
}

// What is gathered is a sum over the axis of one element and of zeros: each device of a group must have other elements, together all.
TEST_F(Forms, GathersOfLongAxesArePartial) {
  int partial = 0;
  for (int round = 0; round < 40; ++round) {
    const auto take = make(LayoutRule::take, {.axes = {1}}, {Shape{7, 53, 3}, Shape{2, 4}}, Shape{7, 2, 4, 3});
    check(take, [&](const Trial&, const Coordinates& at, const Admits& admits) {
      double sum = 0;
      for (std::int64_t i = 0; i < 53; ++i)
        if (const Coordinates from{at[0], i, at[3]}; admits(1, {at[1], at[2]}) && admits(0, from)) sum += value(0, from);
      return sum;
    });
    const auto along = make(LayoutRule::take_along_axis, {.axes = {1}}, {Shape{7, 53}, Shape{1, 4}}, Shape{7, 4});
    check(along, [&](const Trial&, const Coordinates& at, const Admits& admits) {
      double sum = 0;
      for (std::int64_t i = 0; i < 53; ++i)
        if (const Coordinates from{at[0], i}; admits(1, {0, at[1]}) && admits(0, from)) sum += value(0, from);
      return sum;
    });
    for (const auto* trial : {&take, &along}) {
      partial += !trial->form.partial_axes.empty();
      for (std::int64_t p = 0; p < trial->mesh.size(); ++p) {
        const auto wanted = NamedSharding(trial->mesh, trial->spec).index_at(trial->result, p), computed = trial->computed_box(p);
        for (std::int64_t d = 0; d < wanted.ndim(); ++d)
          ASSERT_TRUE(wanted[d].empty() || intersect(wanted[d], computed[d]) == wanted[d]) << "what a device wants it computes: " << trial->text();
      }
    }
  }
  EXPECT_GT(partial, 20);
}

TEST_F(Forms, ATableCutByRowsStaysWhereItIs) {
  const OperandType x[] = {{Shape{1000, 64}, Dtype::float32, P("x")}, {Shape{16}, Dtype::int32, P("x")}};
  const auto spec = propagate(meshes[0], LayoutRule::take, "take", {.axes = {0}}, x, Shape{16, 64});
  EXPECT_EQ(spec, P("x"));
  const auto form = local_form(meshes[0], LayoutRule::take, {.axes = {0}}, x, Shape{16, 64}, spec);
  EXPECT_EQ(form.operands, (std::vector{P("x"), P()}));
  EXPECT_EQ(form.computed, P());
  EXPECT_EQ(form.partial_axes, std::vector<std::string>{"x"});
}

TEST_F(Forms, ContractionsAlikeStaySplitAndNothingMoves) {
  const OperandType operands[] = {{Shape{7, 5}, Dtype::float32, P("x", "y")}, {Shape{5, 4}, Dtype::float32, P("y")}};
  const Attributes attributes{.subscripts = "ij,jk->ik"};
  const auto spec = propagate(meshes[0], LayoutRule::contract, "matmul", attributes, operands, Shape{7, 4});
  const auto form = local_form(meshes[0], LayoutRule::contract, attributes, operands, Shape{7, 4}, spec);
  EXPECT_EQ(form.operands, (std::vector{P("x", "y"), P("y")}));
  EXPECT_EQ(form.computed, P("x"));
  EXPECT_EQ(form.partial_axes, std::vector<std::string>{"y"});
}

TEST_F(Forms, AnOperandThatNeedNotMoveKeepsItsSpecObject) {
  const OperandType operands[] = {{Shape{7, 5}, Dtype::float32, P("x", nullptr)}, {Shape{7, 5}, Dtype::float32, P(nullptr, "y")}};
  const auto form = local_form(meshes[0], LayoutRule::elementwise, {}, operands, Shape{7, 5}, P("x"));
  EXPECT_EQ(form.operands, (std::vector{P("x", nullptr), P("x")}));
}

TEST_F(Forms, MovementsHaveNone) {
  const OperandType x[] = {{Shape{8}, Dtype::float32, P("x")}};
  EXPECT_FALSE(has_local_form(LayoutRule::reshape));
  EXPECT_TRUE(has_local_form(LayoutRule::reduce));
  EXPECT_THROW(local_form(meshes[0], LayoutRule::flip, {.axes = {0}}, x, Shape{8}, P("x")), Error);
}

}  // namespace
}  // namespace meshwise
