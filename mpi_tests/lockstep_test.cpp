// ranks: 4
// env: MESHWISE_CHECK=lockstep
// What ranks say differently is an error at the call, the same on all of them, and the next call works.
#include <gtest/gtest.h>

#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

template <class F>
std::string mismatch(F&& f) {
  try {
    f();
  } catch (const mw::MismatchError& error) {
    return error.what();
  }
  return "";
}

TEST(Lockstep, U073_CopiesThatDiffer) {
  const auto mesh = mw::make_mesh({4}, {"x"});
  const auto text = mismatch([&] { mw::device_put(std::vector<float>(4, static_cast<float>(mw::process_index())), NamedSharding(mesh, P())); });
  for (const auto* word : {"ranks 0 and 1", "flat index 0", "0.0 on rank 0", "1.0 on rank 1"}) EXPECT_NE(text.find(word), std::string::npos) << text;
  const auto x = mw::device_put(mw::full({4}, 2.0), NamedSharding(mesh, P("x")));
  EXPECT_EQ(mw::sum(x).item<float>(), 8.0f);
}

TEST(Lockstep, TargetsThatDiffer) {
  const auto text = mismatch([&] { mw::device_put(mw::ones({4}), mw::devices()[mw::process_index()]); });
  EXPECT_NE(text.find("make_array_from_process_local_data"), std::string::npos) << text;
}

TEST(Lockstep, U019_EachRankAsksForASliceOfItsOwn) {
  const auto mesh = mw::make_mesh({4}, {"x"});
  const auto x = mw::device_put(mw::full({8, 10000}, 1.0), NamedSharding(mesh, P("x")));
  const auto me = mw::process_index();
  const auto mine = x.addressable_data(0);  // what each of them wanted is there already
  ASSERT_EQ(mine.shape(), mw::Shape({2, 10000}));
  EXPECT_EQ(mine.view<float>()[0], 1.0f);
  const auto text = mismatch([&] { static_cast<void>(x[mw::Slice(2 * me, 2 * me + 2)]); });
  for (const auto* word : {"arguments differ between ranks 0 and 1", "[0:2, 0:10000] of float32[8@x,10000]", "[2:4, 0:10000]", "addressable_shards"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_EQ(mw::sum(x).item<float>(), 80000.0f);
  EXPECT_EQ(mw::sum(x[mw::Slice(2, 4)]).item<float>(), 20000.0f);
}

TEST(Lockstep, EverythingElseStillWorks) {
  const auto mesh = mw::make_mesh({2, 2}, {"x", "y"});
  const auto x = mw::device_put(mw::arange(36.0).reshape({6, 6}), NamedSharding(mesh, P("x", "y")));
  EXPECT_EQ(mw::sum(mw::matmul(x, x.T()) - mw::matmul(x, x.T())).item<float>(), 0.0f);
  EXPECT_EQ(mw::device_get(x[{mw::Slice(1, 3), 2}]).view<float>()[1], 14.0f);
}

}  // namespace
