// Files by h5py and netCDF4 read, and files of ours read by them.
// ranks: 1 3 4
// devices_per_rank: 8
// links: hdf5 mpi
#include <meshwise/base/error.hpp>
#include <meshwise/meshwise.hpp>

#include "support/foreign_files.hpp"

namespace {

using namespace hdf5_files;
using mw::io::read;

constexpr char kind[] = "hdf5";
using Hdf5Foreign = support::ForeignFiles<kind>;

const Shape shape{13, 6};

TEST_F(Hdf5Foreign, EveryDtypeInBothByteOrders) {
  for (const auto dtype : numpy_dtypes)
    for (const auto* order : {"native", "big"})
      for (const auto& spec : {P("x"), P(nullptr, "x")})
        expect_test_values(read(in_folder("theirs.h5"), fmt::format("/{}/{}", order, mw::name(dtype)), line(spec)), shape, dtype,
                           line(spec));
  const auto tree = mw::io::read_tree(in_folder("theirs.h5"), "/big", line(P("x")));
  for (const auto dtype : numpy_dtypes) expect_test_values(tree[std::string(mw::name(dtype))], shape, dtype, line(P("x")));
}

TEST_F(Hdf5Foreign, CompressedVirtualAndFilled) {
  const auto file = in_folder("theirs.h5");
  for (const auto& spec : {P("x"), P(nullptr, "x"), P()}) {
    expect_test_values(read(file, "/packed/gzip", line(spec)), shape, Dtype::float32, line(spec));
    expect_test_values(read(file, "/packed/big", line(spec)), shape, Dtype::int16, line(spec));
    expect_test_values(read(file, "/virtual", line(spec)), shape, Dtype::int32, line(spec));
  }
  const auto filled = read(file, "/filled");
  for (std::int64_t k = 0; k < 78; ++k) EXPECT_EQ(filled.view<std::int32_t>()[k], k < 24 ? make_value<std::int32_t>(k) : -9);
  const auto box = read(file, "/virtual", {.box = {{3, 9}, {1, 6}}, .steps = {2, 3}});
  for (std::int64_t k = 0; k < 6; ++k)
    EXPECT_EQ(box.view<std::int32_t>()[k], make_value<std::int32_t>((3 + k / 2 * 2) * 6 + 1 + k % 2 * 3));
}

TEST_F(Hdf5Foreign, WhatCannotBeRead) {
  const auto file = in_folder("theirs.h5");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read(file, "/packed/lzf", line(P())); }), "lzf");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read(file, "/names", line(P())); }), "it is string[2]");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { mw::io::read_tree(file, "/"); }),
             "/names string[2], /nothing float32 without a shape, /records compound{a,b}[3], /text string[] cannot be arrays");
  const auto tree = mw::io::read_tree(file, "/", line(P()), {.only = {"native", "names"}, .skip_unreadable = true});
  EXPECT_EQ(mw::tree_leaves(tree).size(), 14u);
}

// Of an HDF5 that may be newer than ours, asked for its newest format.
TEST_F(Hdf5Foreign, NewestFormat) {
  const auto file = in_folder("theirs-newest.h5");
  std::string words;
  try {
    expect_test_values(read(file, "/x", line(P("x"))), shape, Dtype::float32, line(P("x")));
  } catch (const mw::CheckpointError& e) {
    words = e.what();
    EXPECT_HAS(words, "a newer HDF5");
  }
  EXPECT_EQ(words, from_first(words));
}

TEST_F(Hdf5Foreign, Attributes) {
  using Integers = std::vector<std::int64_t>;
  using Reals = std::vector<double>;
  using Texts = std::vector<std::string>;
  const mw::io::Attributes expected{{"text", std::string("µm")},
                                    {"bytes", std::string("fixed")},
                                    {"texts", Texts{"a", "bc"}},
                                    {"fixed texts", Texts{"a", "bc"}},
                                    {"int", std::int64_t{7}},
                                    {"small", std::int64_t{-3}},
                                    {"unsigned", {}},
                                    {"float", 0.5},
                                    {"floats", Reals{0.5, 1.5}},
                                    {"ints", Integers{1, 2, 3}},
                                    {"truth", true},
                                    {"truths", Integers{1, 0}},
                                    {"complex", {}},
                                    {"matrix", {}},
                                    {"empty", {}},
                                    {"reference", {}}};
  const auto found = mw::io::read_attributes(in_folder("theirs.h5"), "/growing");
  for (const auto& [name, value] : expected) EXPECT_TRUE(found.contains(name) && found.at(name) == value) << name;
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_EQ(std::get<std::string>(mw::io::read_attributes(in_folder("theirs.h5")).at("title")), "of the file");
}

TEST_F(Hdf5Foreign, NetCdf4) {
  const auto file = in_folder("climate.nc");
  for (const auto& spec : {P("x"), P(nullptr, "x"), P()})
    expect_test_values(read(file, "/temperature", line(spec)), shape, Dtype::float32, line(spec));
  const auto tree = mw::io::read_tree(file, "/", line(P()), {.only = {"time", "lat", "model"}});
  expect_test_values(tree["time"], {13}, Dtype::float64, line(P()));
  expect_test_values(tree["lat"], {6}, Dtype::float32, line(P()));
  EXPECT_EQ(tree["model"]["run"].item<std::int32_t>(), 42);
  EXPECT_EQ(mw::tree_leaves(mw::io::read_tree(file)).size(), 5u);
  const auto found = mw::io::read_attributes(file, "/temperature");
  EXPECT_EQ(std::get<std::string>(found.at("units")), "K");
  EXPECT_TRUE(found.at("_FillValue") == mw::io::Attribute(std::vector<double>{-999.0}));
  EXPECT_TRUE(found.at("levels") == mw::io::Attribute(std::vector<std::int64_t>{0, 400}));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(found.at("DIMENSION_LIST")));
}

// Last: what is changed here the others have read.
TEST_F(Hdf5Foreign, WhatWeWriteTheyRead) {
  for (const auto dtype : {Dtype::bool_, Dtype::int16, Dtype::float16, Dtype::float64, Dtype::complex64})
    mw::io::append(in_folder("grown.h5"), std::string(mw::name(dtype)), test_array(shape, dtype, line(P("x"))));
  const auto part = [](std::int64_t from, std::int64_t to) {
    return test_array(shape, Dtype::int32, line(P("x")))[{mw::Slice(from, to), mw::Slice()}];
  };
  mw::io::append(in_folder("grown.h5"), "log", part(0, 4));
  mw::io::append(in_folder("grown.h5"), "log", part(4, 13));
  const auto more = test_array({26, 6}, Dtype::float64, line(P("x")))[{mw::Slice(13, 26), mw::Slice()}];
  mw::io::append(in_folder("theirs.h5"), "/growing", more);
  mw::io::write_attributes(in_folder("theirs.h5"), "/growing", {{"text", std::string("now ours")}});
  mw::io::write_attributes(in_folder("climate.nc"), "/temperature", {{"units", std::string("degC")}});
  const auto w = test_array(shape, Dtype::float32, line(P("x")));
  mw::io::write_tree(
      in_folder("tree.h5"), "/",
      mw::Tree{{"layers", mw::Tree::list({mw::Tree{{"w", w}}, mw::Tree{{"w", w}}})}, {"step", test_array({}, Dtype::int64, line(P()))}});
  mw::io::write_attributes(in_folder("tree.h5"), "layers",
                           {{"text", std::string("µm")},
                            {"texts", std::vector<std::string>{"a", ""}},
                            {"truth", true},
                            {"int", std::int64_t{-7}},
                            {"floats", std::vector<double>{0.5, 1.5}},
                            {"no ints", std::vector<std::int64_t>{}}});
  EXPECT_EQ(check(), 0);
}

}  // namespace
