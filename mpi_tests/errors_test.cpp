// ranks: 1 2 4
// hosts: 2x2 4x1
// devices_per_rank: 8
// Every error a call can raise, on all ranks, and on one rank where that can happen; the next call works.
#include <gtest/gtest.h>

#include <fstream>

#include "meshwise/runtime/node.hpp"
#include "support/random_placement.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

mw::Mesh line(mw::AxisType type = mw::AxisType::Auto) { return mw::make_mesh({mw::devices().size()}, {"x"}, {.axis_types = type}); }
mw::Array placed(const mw::Shape& shape) { return mw::device_put(mw::ones(shape), NamedSharding(line(), P("x"))); }

using support::words;

void expect_words(const std::string& text, std::initializer_list<const char*> all) {
  EXPECT_FALSE(text.empty());
  for (const auto* word : all) EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
}

/// The library still works: a collective call with a known answer.
void expect_working() { EXPECT_EQ(mw::sum(placed({6, 2})).item<float>(), 12.0f); }

TEST(Errors, Placement) {
  expect_words(words<mw::UnknownAxisError>([] { NamedSharding(line(), P("y")); }), {"y", "'x'"});
  expect_words(words<mw::DuplicateAxisError>([] { NamedSharding(line(), P("x", "x")); }), {"x"});
  expect_words(words<mw::PlacementError>([] { mw::make_mesh({1000}, {"x"}); }), {"1000", std::to_string(mw::devices().size()).c_str()});
  expect_words(words<mw::PlacementError>([] { mw::device_put(mw::ones({4}), NamedSharding(line(), P(nullptr, "x"))); }), {"P(None, 'x')", "2", "1"});
  expect_words(words<mw::PlacementError>([] { mw::device_put(mw::asarray(1.0), NamedSharding(line(), P("x"))); }), {"P('x',)"});
  expect_working();
}

TEST(Errors, ShapesDtypesIndices) {
  const auto x = placed({4, 3});
  expect_words(words<mw::ShapeError>([&] { x + mw::ones({4, 2}); }), {"add", "(4, 3)", "(4, 2)"});
  expect_words(words<mw::ShapeError>([&] { mw::matmul(x, x); }), {"matmul"});
  expect_words(words<mw::ShapeError>([&] { x.reshape({5, 5}); }), {"reshape", "(5, 5)"});
  expect_words(words<mw::ShapeError>([&] { mw::max(mw::zeros({0})); }), {"max", "float32[0]"});
  expect_words(words<mw::ShapeError>([&] { x.item<float>(); }), {"12"});
  expect_words(words<mw::DtypeError>([&] { mw::bitwise_and(x, x); }), {"bitwise_and", "float32"});
  expect_words(words<mw::DtypeError>([&] { mw::sum(x).item<double>(); }), {"float64", "float32"});
  expect_words(words<mw::IndexError>([&] { x[7]; }), {"7", "4"});
  expect_words(words<mw::IndexError>([&] { mw::sum(x, {2}); }), {"sum", "2"});
  expect_words(words<mw::IndexError>([&] { mw::sum(x, {0, 0}); }), {"sum", "0"});
  expect_working();
}

TEST(Errors, CommitmentAndShardingTypes) {
  const auto x = placed({4});
  if (mw::devices().size() > 1) {
    const auto far = mw::device_put(mw::ones({4}), mw::devices()[1]);
    expect_words(words<mw::CommitmentError>([&] { x * far; }), {"multiply", "[1]", "device_put"});
    expect_words(words<mw::CommitmentError>([&] { mw::reshard(x, mw::SingleDeviceSharding(mw::devices()[1])); }), {"reshard", "[1]", "device_put"});
    const auto explicit_line = line(mw::AxisType::Explicit);
    const auto a = mw::device_put(mw::ones({8, 8}), NamedSharding(explicit_line, P("x"))), b = mw::device_put(mw::ones({8, 8}), NamedSharding(explicit_line, P(nullptr, "x")));
    expect_words(words<mw::ShardingTypeError>([&] { a + b; }), {"add", "float32[8@x,8]", "float32[8,8@x]"});
  }
  expect_working();
}

TEST(Errors, AddressableAndDonated) {
  auto x = placed({4});
  if (!x.is_fully_addressable()) expect_words(words<mw::NotAddressableError>([&] { x.view<float>(); }), {"device_get", "P('x',)"});
  const auto y = mw::device_put(x, NamedSharding(line(), P()), {.donate = true});
  expect_words(words<mw::DonatedError>([&] { x + y; }), {"add", "argument x", "donated to device_put"});
  expect_working();
}

TEST(Errors, MemoryWhenMetadataShowsIt) {
  // More than any machine: an error of every rank at the call, not a killed process.
  const auto text = words<mw::OutOfMemoryError>([] { mw::agree([] { mw::LocalArray(mw::Shape{std::int64_t{1} << 40, std::int64_t{1} << 10}, mw::float64); }); });
  EXPECT_FALSE(text.empty());
  expect_working();
}

TEST(Errors, AResultThatFitsNowhere) {
  // Nobody has allocated anything yet: the same words on every rank, arrays as they were, and the next call works.
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const mw::NamedSharding whole(mesh, mw::P()), rows(mesh, mw::P("x"));
  const auto placed = words<mw::OutOfMemoryError>([&] { mw::device_put(mw::zeros({1 << 25, 1 << 25}, mw::float64), whole); });
  expect_words(placed, {"device_put", "float64[33554432,33554432]", "no rank can have more than"});
  // Each rank could have its block, but not all ranks of this machine.
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::int64_t kibibytes = 0;
  info >> key >> kibibytes;
  const auto n = mw::devices().size(), side = kibibytes / n * 3 / 2;  // 1.5 times the memory there is
  if (n > 1 && mw::detail::topology().ranks_per_node == 0) {
    const auto together = words<mw::OutOfMemoryError>([&] { mw::device_put(mw::zeros({n, side, 128}, mw::float64), rows); });
    expect_words(together, {"device_put", "bytes on", "together"});
  }
  const auto column = mw::device_put(mw::ones({1 << 24, 1}, mw::float64), whole), row = mw::device_put(mw::ones({1, 1 << 24}, mw::float64), whole);
  const auto computed = words<mw::OutOfMemoryError>([&] { mw::matmul(column, row); });
  expect_words(computed, {"matmul", "float64[16777216,16777216]"});
  const auto added = words<mw::OutOfMemoryError>([&] { column + row; });
  expect_words(added, {"add", "float64[16777216,16777216]"});
  EXPECT_EQ(mw::sum(column).item<double>(), 1 << 24);
  expect_working();
}

TEST(Errors, OneRankFailsInsideAgree) {
  const auto last = mw::process_count() - 1;
  const auto text = words<mw::Error>([&] {
    mw::agree([&] {
      if (mw::process_index() == last) throw mw::ShapeError("the words of one rank");
    });
  });
  expect_words(text, {"the words of one rank"});
  if (mw::process_index() != last) expect_words(text, {std::to_string(last).c_str()});
  expect_working();
}

TEST(Errors, OneRanksCallbackFails) {
  const auto last = mw::process_count() - 1;
  const auto text = words<std::exception>([&] {  // the rank's own exception there, an Error elsewhere
    mw::make_array_from_callback({8, 2}, mw::float32, NamedSharding(line(), P("x")), [&](const mw::Index&, mw::LocalArray&) {
      if (mw::process_index() == last) throw std::runtime_error("no such file");
    });
  });
  expect_words(text, {"no such file"});
  expect_working();
}

TEST(Errors, FilesThatAreNotThere) {
  expect_words(words<mw::CheckpointError>([] { mw::io::read("no_such_file.h5", "/x", NamedSharding(line(), P("x"))); }), {"no_such_file.h5"});
  const std::string digits = MESHWISE_SOURCE_DIR "/examples/data/digits.h5";
  expect_words(words<mw::CheckpointError>([&] { mw::io::read(digits, "/nothing", NamedSharding(line(), P("x"))); }), {"/nothing", "images", "labels"});
  expect_working();
}

}  // namespace
