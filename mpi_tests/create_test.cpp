// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// Creations against values computed element by element: every dtype, views of recipes, each device its own box.
#include <gtest/gtest.h>

#include <cmath>

#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::Array, mw::Index, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

mw::Mesh line(std::int64_t n) { return mw::make_mesh({n}, {"x"}, {.devices = mw::devices().first(n)}); }
mw::Mesh all_devices() { return line(mw::devices().size()); }

/// The values of `want` at every multi-index of a shape.
using Rule = std::function<std::int64_t(const std::vector<std::int64_t>& at)>;

/// Compares x's blocks on this rank, converted to int64 text by NumPy's rules of printing whole numbers, with the rule.
::testing::AssertionResult holds(const Array& x, const Rule& rule) {
  for (const auto& shard : x.addressable_shards()) {
    const auto dense = shard.data().contiguous();
    std::vector<std::int64_t> at(static_cast<std::size_t>(x.ndim()));
    std::array<std::byte, 16> want{};
    const auto size = mw::itemsize(x.dtype());
    for (std::int64_t k = 0; k < dense.size(); ++k) {
      std::int64_t rest = k;
      for (auto d = x.ndim(); d-- > 0;) {
        at[static_cast<std::size_t>(d)] = shard.index()[d].start + rest % shard.index()[d].size();
        rest /= shard.index()[d].size();
      }
      mw::Scalar(rule(at)).store(x.dtype(), want.data());
      if (std::memcmp(want.data(), dense.data() + static_cast<std::size_t>(k) * size, size) != 0)
        return ::testing::AssertionFailure() << mw::type_string(x) << " on device " << shard.device().id << " element " << k << " of "
                                             << to_string(shard.index());
    }
  }
  return ::testing::AssertionSuccess();
}

constexpr mw::Dtype numbers[] = {mw::int8,   mw::int16,   mw::int32,    mw::int64,   mw::uint8,   mw::uint16,    mw::uint32,
                                 mw::uint64, mw::float16, mw::bfloat16, mw::float32, mw::float64, mw::complex64, mw::complex128};

template <class T>
std::vector<T> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<T>().begin(), whole.view<T>().end()};
}

template <class E>
std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

TEST(Create, EveryDtypeOnEveryLayout) {
  RandomPlacement random(31);
  for (int round = 0; round < 20; ++round) {
    const auto shape = random.shape(2);
    const auto s = random.sharding(2);
    for (const auto dtype : numbers) {
      EXPECT_TRUE(holds(mw::device_put(mw::zeros(shape, dtype), s), [](auto&) { return 0; }));
      EXPECT_TRUE(holds(mw::device_put(mw::ones(shape, dtype), s), [](auto&) { return 1; }));
      EXPECT_TRUE(holds(mw::device_put(mw::full(shape, 7, dtype), s), [](auto&) { return 7; }));
      EXPECT_TRUE(holds(mw::device_put(mw::eye(shape[0], shape[1], 1, dtype), s), [](auto& at) { return at[1] - at[0] == 1; }));
      EXPECT_TRUE(holds(mw::device_put(mw::arange(3, 100, 7, dtype), NamedSharding(s.mesh(), random.spec(s.mesh(), 1))),
                        [](auto& at) { return 3 + 7 * at[0]; }));
    }
    EXPECT_TRUE(holds(mw::device_put(mw::full(shape, true), s), [](auto&) { return 1; }));
  }
}

TEST(Create, ViewsAndCastsOfARecipeStayARule) {
  RandomPlacement random(32);
  for (int round = 0; round < 30; ++round) {
    const auto x = mw::arange(60).reshape({3, 4, 5});  // 20 i + 5 j + k
    const auto place = [&](const Array& y) { return mw::device_put(y, random.sharding(y.ndim())); };
    EXPECT_TRUE(holds(place(x), [](auto& at) { return 20 * at[0] + 5 * at[1] + at[2]; }));
    EXPECT_TRUE(holds(place(x.transpose({2, 0, 1})), [](auto& at) { return 20 * at[1] + 5 * at[2] + at[0]; }));
    EXPECT_TRUE(holds(place(x.transpose({2, 0, 1}).reshape({15, 4})), [](auto& at) { return 20 * (at[0] % 3) + 5 * at[1] + at[0] / 3; }));
    // No strides say this reshape: the recipe is wrapped.
    EXPECT_TRUE(holds(place(x.transpose({2, 0, 1}).reshape({20, 3})), [](auto& at) {
      const auto n = 3 * at[0] + at[1];
      return 20 * (n / 4 % 3) + 5 * (n % 4) + n / 12;
    }));
    EXPECT_TRUE(holds(place(x.astype(mw::float64).reshape({4, 15})), [](auto& at) { return 15 * at[0] + at[1]; }));
    EXPECT_TRUE(holds(place(mw::broadcast_to(mw::arange(5).reshape({5, 1}), {2, 5, 3})), [](auto& at) { return at[1]; }));
    EXPECT_TRUE(holds(place(x[{mw::Slice(2, mw::none, -1), 1, mw::Slice(0, 5, 2)}]),
                      [](auto& at) { return 20 * (2 - at[0]) + 5 + 2 * at[1]; }));
    EXPECT_TRUE(holds(place(x.transpose({1, 2, 0}).reshape({12, 5})[mw::Slice(10, 2, -3)]), [](auto& at) {
      const auto n = 5 * (10 - 3 * at[0]) + at[1];
      return 20 * (n % 3) + 5 * (n / 15) + n / 3 % 5;
    }));
  }
}

TEST(Create, RangesOfFloatsStepFromTheStart) {
  const auto x = values<float>(mw::arange(0.1, 1.0, 0.1));
  ASSERT_EQ(x.size(), 9u);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], 0.1f + static_cast<float>(i) * 0.1f);
  EXPECT_EQ(values<double>(mw::arange(5, 0, -1.5, mw::float64)), (std::vector<double>{5, 3.5, 2, 0.5}));
  EXPECT_EQ(values<std::int8_t>(mw::arange(9, 2, -3, mw::int8)), (std::vector<std::int8_t>{9, 6, 3}));
  EXPECT_EQ(mw::arange(-3).shape(), Shape{0});
  EXPECT_EQ(mw::arange(std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 3).dtype(), mw::uint64);
  EXPECT_EQ(values<std::uint64_t>(mw::arange(std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 3))[2], (std::uint64_t{1} << 63) + 2);
  EXPECT_THROW(mw::arange(0, 4, 0), mw::Error);
  EXPECT_THROW(mw::arange(4, mw::bool_), mw::DtypeError);
  EXPECT_NE(message<mw::DtypeError>([] { mw::arange(300, mw::int8); }).find("299"), std::string::npos);
}

TEST(Create, PointsOfALine) {
  const auto x = values<float>(mw::linspace(-1, 1, 4));
  ASSERT_EQ(x.size(), 4u);
  EXPECT_EQ(x.front(), -1.0f);
  EXPECT_EQ(x.back(), 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], -1 + 2.0 * static_cast<double>(i) / 3, 1e-6);
  EXPECT_EQ(values<std::int32_t>(mw::linspace(0, 1, 5, true, mw::int32)), (std::vector<std::int32_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(values<float>(mw::linspace(0, 1, 2, false)), (std::vector<float>{0, 0.5f}));
  EXPECT_EQ(values<std::complex<float>>(mw::linspace(0, std::complex<float>(2, 4), 3))[1], std::complex<float>(1, 2));
  EXPECT_THROW(mw::linspace(0, 1, -1), mw::ShapeError);
}

TEST(Create, LiteralsTakeTheirDefaultDtype) {
  EXPECT_EQ(mw::asarray(3).dtype(), mw::int32);
  EXPECT_EQ(mw::asarray(3.5).dtype(), mw::float32);
  EXPECT_EQ(mw::asarray(true).dtype(), mw::bool_);
  EXPECT_EQ(mw::asarray(std::complex<double>(0, 2)).dtype(), mw::complex64);
  EXPECT_EQ(mw::asarray(std::int64_t{1} << 40).dtype(), mw::int64);
  EXPECT_EQ(mw::asarray({{1, 2}, {3, 4}}).shape(), (Shape{2, 2}));
  EXPECT_EQ(values<std::int32_t>(mw::asarray({{1, 2}, {3, 4}})), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(values<float>(mw::asarray({1, 2.5})), (std::vector<float>{1, 2.5f}));
  EXPECT_EQ(mw::asarray({{{1}, {2}}}).shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(mw::asarray({1, 2}, mw::float64).dtype(), mw::float64);
  EXPECT_EQ(mw::asarray({}).shape(), Shape{0});
  EXPECT_THROW(mw::asarray({{1, 2}, {3}}), mw::ShapeError);
  EXPECT_THROW(mw::asarray({{1, 2}, 3}), mw::ShapeError);
  EXPECT_THROW(mw::full({2}, 300, mw::int8), mw::DtypeError);
  EXPECT_THROW(mw::zeros({2, -1}), mw::ShapeError);
  EXPECT_FALSE(mw::zeros({4}).committed());
}

TEST(Create, ListsOfElementsBecomeArrays) {
  const std::vector<std::int64_t> six{5, 6, 7, 8, 9, 10};
  const std::span<const std::int64_t> window(six.data() + 1, 4);
  EXPECT_EQ(mw::asarray(window).shape(), Shape{4});
  EXPECT_EQ(values<std::int64_t>(mw::asarray(window)), (std::vector<std::int64_t>{6, 7, 8, 9}));
  EXPECT_EQ(mw::asarray(window, {2, 2}).shape(), (Shape{2, 2}));
  EXPECT_THROW(mw::asarray(window, {3}), mw::ShapeError);
  EXPECT_EQ(values<std::int16_t>(mw::asarray(std::array<std::int16_t, 2>{3, 4})), (std::vector<std::int16_t>{3, 4}));
  const auto flags = mw::asarray(std::vector<bool>{true, false, true});
  EXPECT_EQ(flags.dtype(), mw::bool_);
  EXPECT_EQ(values<bool>(flags), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(mw::asarray(std::vector<bool>{true, false}, {2, 1}).shape(), (Shape{2, 1}));
  const auto table = mw::asarray(std::vector<std::vector<double>>{{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(mw::type_string(table), "float64[3,2]");
  EXPECT_EQ(values<double>(table), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values<bool>(mw::asarray(std::vector<std::vector<bool>>{{true}, {false}})), (std::vector<bool>{true, false}));
  const float square[2][2] = {{1, 2}, {3, 4}};
  EXPECT_EQ(values<float>(mw::asarray(square)), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(mw::asarray(std::vector<float>{}).shape(), Shape{0});
  EXPECT_EQ(mw::asarray(std::vector<std::vector<float>>{}).shape(), (Shape{0, 0}));
  EXPECT_EQ(mw::asarray(std::vector<std::vector<float>>(3)).shape(), (Shape{3, 0}));
  const auto ragged = message<mw::ShapeError>([] { mw::asarray(std::vector<std::vector<int>>{{1, 2}, {3}}); });
  EXPECT_NE(ragged.find("depth 1 have 2 and 1"), std::string::npos) << ragged;
  EXPECT_EQ(static_cast<float>(values<mw::float16_t>(mw::asarray(mw::float16_t(2.5f)))[0]), 2.5f);
  EXPECT_EQ(mw::asarray(mw::bfloat16_t(1.0f), mw::float64).dtype(), mw::float64);
}

TEST(Create, BytesOnDevicesCountReplicas) {
  const auto n = mw::devices().size();
  const auto mesh = all_devices();
  EXPECT_EQ(mw::zeros({8, 16}).on_device_bytes(), 512);
  EXPECT_EQ(mw::device_put(mw::zeros({5}, mw::complex64), mw::devices()[n - 1]).on_device_bytes(), 40);
  const auto split = mw::device_put(mw::zeros({2 * n, 4}, mw::float64), NamedSharding(mesh, P("x")));
  EXPECT_EQ(split.on_device_bytes(), 64 * n);  // (2, 4) on each
  EXPECT_EQ(split.nbytes(), 64 * n);
  const auto copied = mw::device_put(mw::zeros({3}, mw::int16), NamedSharding(mesh, P()));
  EXPECT_EQ(copied.on_device_bytes(), 6 * n);
  EXPECT_EQ(copied.nbytes(), 6);
  const auto uneven = mw::device_put(mw::zeros({2 * n + 1}), NamedSharding(mesh, P("x")));
  EXPECT_EQ(uneven.on_device_bytes(), 12 * n);  // the largest shard has 3 elements
  EXPECT_EQ(mw::device_put(mw::zeros({0, 4}), NamedSharding(mesh, P("x"))).on_device_bytes(), 0);
}

TEST(UserCases, U011_ZerosLikeKeepsThePlacement) {
  const auto n = mw::devices().size();
  const NamedSharding s(all_devices(), P("x"));
  const auto x = mw::device_put(mw::ones({2 * n, 2}), s);
  const auto before = mw::runtime_stats().live_bytes;
  const auto z = mw::zeros_like(x);
  EXPECT_LE(mw::runtime_stats().live_bytes - before, mw::local_devices().size() * 2 * 2 * 4 + 64 * mw::local_devices().size());
  EXPECT_EQ(z.sharding(), x.sharding());
  EXPECT_TRUE(z.committed());
  for (const auto& shard : z.addressable_shards()) EXPECT_EQ(shard.data().shape(), (Shape{2, 2}));
  EXPECT_TRUE(holds(z, [](auto&) { return 0; }));
  EXPECT_TRUE(holds(mw::full_like(x, 3, mw::int16), [](auto&) { return 3; }));
  EXPECT_FALSE(mw::ones_like(mw::zeros({3})).committed());
  auto gone = mw::device_put(mw::ones({n}), s);
  gone.free();
  EXPECT_THROW(mw::zeros_like(gone), mw::DonatedError);
}

TEST(UserCases, U063_NobodyMakesTheWhole) {
  const auto n = mw::devices().size();
  const NamedSharding s(all_devices(), P("x"));
  const auto share = 1024 * 1024 * 8 / n * mw::local_devices().size();
  const std::vector<std::function<Array()>> makers = {[] {
                                                        return mw::zeros({1024, 1024}, mw::float64);
                                                      },
                                                      [] {
                                                        return mw::arange(1024.0 * 1024, mw::float64).reshape({1024, 1024});
                                                      },
                                                      [] {
                                                        return mw::random::normal(mw::random::key(0), {1024, 1024}, mw::float64);
                                                      }};
  for (const auto& make : makers) {
    const auto before = mw::runtime_stats().peak_bytes, live = mw::runtime_stats().live_bytes;
    const auto x = mw::device_put(make(), s);
    EXPECT_LE(mw::runtime_stats().live_bytes - live, share * 5 / 4);
    EXPECT_LE(mw::runtime_stats().peak_bytes, std::max(before, live + share * 5 / 4));
  }
}

TEST(UserCases, U081_HostMemoryIsCopied) {
  for (const std::size_t size : {1u, 8u, 100u, 100000u}) {
    std::vector<float> host(size);
    std::iota(host.begin(), host.end(), 0.0f);
    const auto x = mw::device_put(host, NamedSharding(all_devices(), P("x")));
    const auto y = mw::asarray(host);
    std::fill(host.begin(), host.end(), -1.0f);
    host = {};
    const auto v = values<float>(x);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(v[i], static_cast<float>(i));
    EXPECT_EQ(values<float>(y), v);
  }
}

TEST(FromCallback, EachDistinctBoxOnceAndOnlyMine) {
  RandomPlacement random(33);
  for (int round = 0; round < 20; ++round) {
    const auto s = random.sharding(2);
    const auto shape = random.shape(2);
    std::vector<Index> asked;
    const auto x = mw::make_array_from_callback(shape, mw::int64, s, [&](const Index& box, LocalArray& out) {
      EXPECT_EQ(out.shape(), box.shape());
      EXPECT_EQ(std::find(asked.begin(), asked.end(), box), asked.end());
      asked.push_back(box);
      const auto v = out.mutable_view<std::int64_t>();
      for (std::int64_t i = 0; i < out.shape()[0]; ++i)
        for (std::int64_t j = 0; j < out.shape()[1]; ++j) v(i, j) = 1000 * (box[0].start + i) + box[1].start + j;
    });
    EXPECT_TRUE(x.committed());
    EXPECT_EQ(x.sharding(), s);
    EXPECT_TRUE(holds(x, [](auto& at) { return 1000 * at[0] + at[1]; }));
  }
}

TEST(FromCallback, AThrowOnOneRankIsEverybodys) {
  const NamedSharding s(all_devices(), P("x"));
  const auto last = mw::process_count() - 1;
  std::string what;
  try {
    mw::make_array_from_callback({64}, mw::float32, s, [&](const Index&, LocalArray&) {
      if (mw::process_index() == last) throw std::runtime_error("no such file");
    });
  } catch (const std::exception& error) {
    what = error.what();
  }
  EXPECT_NE(what.find("no such file"), std::string::npos) << what;
  if (mw::process_index() != last) {
    EXPECT_NE(what.find(std::to_string(last)), std::string::npos) << what;
  }
  // Agreed, so the next call works; a collective call inside a callback is refused.
  EXPECT_THROW(mw::make_array_from_callback({64}, mw::float32, s, [](const Index&, LocalArray&) { mw::zeros({3}); }), mw::Error);
  EXPECT_TRUE(holds(
      mw::make_array_from_callback(
          {64}, mw::float32, s, [](const Index&, LocalArray& out) { std::memset(out.data(), 0, static_cast<std::size_t>(out.nbytes())); }),
      [](auto&) { return 0; }));
}

/// This rank's union box of a split of n rows over one line of all devices.
mw::Range my_rows(std::int64_t n) {
  const auto devices = mw::devices().size(), first = mw::local_device().id, last = first + mw::local_devices().size() - 1;
  return {mw::part(first, devices, n).start, mw::part(last, devices, n).stop};
}

LocalArray rows(mw::Range range) {
  LocalArray out({range.size(), 3}, mw::float64);
  for (std::int64_t i = 0; i < range.size(); ++i)
    for (std::int64_t j = 0; j < 3; ++j) out.mutable_view<double>()(i, j) = static_cast<double>(10 * (range.start + i) + j);
  return out;
}

TEST(FromLocalData, PiecesBecomeOneArray) {
  const NamedSharding s(all_devices(), P("x"));
  for (const std::int64_t n : {2 * mw::devices().size(), 2 * mw::devices().size() + 1, std::int64_t{1}}) {
    const auto mine = rows(my_rows(n));
    EXPECT_TRUE(holds(mw::make_array_from_process_local_data(s, mine, Shape{n, 3}), [](auto& at) { return 10 * at[0] + at[1]; }));
    const auto stacked = mw::make_array_from_process_local_data(s, mine);
    EXPECT_EQ(stacked.shape(), (Shape{n, 3}));
    EXPECT_TRUE(holds(stacked, [](auto& at) { return 10 * at[0] + at[1]; }));
  }
  const auto replicated = mw::make_array_from_process_local_data(NamedSharding(all_devices(), P()), rows({0, 4}));
  EXPECT_EQ(replicated.shape(), (Shape{4, 3}));
}

TEST(FromLocalData, RanksWithoutDevicesTakePart) {
  if (mw::process_count() < 2) GTEST_SKIP() << "needs 2 ranks";
  const NamedSharding s(mw::make_mesh({1}, {"x"}), P("x"));
  const auto x = mw::make_array_from_process_local_data(s, mw::process_index() == 0 ? rows({0, 4}) : LocalArray{});
  EXPECT_EQ(x.dtype(), mw::float64);
  EXPECT_EQ(x.shape(), (Shape{4, 3}));
  EXPECT_EQ(x.addressable_shards().size(), mw::process_index() == 0 ? 1u : 0u);
}

TEST(UserCases, U025_IrregularPiecesAreRefused) {
  const auto n = mw::process_count();
  if (n < 2) GTEST_SKIP() << "needs 2 ranks";
  const NamedSharding s(all_devices(), P(nullptr, "x"));
  const Shape global{2, 3 * n + 2};
  const auto text = message<mw::ShapeError>([&] {
    mw::make_array_from_process_local_data(s, LocalArray({2, 2 + mw::process_index()}, mw::float32), global);
  });
  for (std::int64_t rank = 0; rank < n; ++rank) {
    const auto wanted = mw::part(rank, n, global[1]).size();
    const auto line = fmt::format("rank {} passed {}, wanted {}", rank, to_string(Shape{2, 2 + rank}), to_string(Shape{2, wanted}));
    EXPECT_EQ(text.find(line) != std::string::npos, wanted != 2 + rank) << text;
  }
}

TEST(UserCases, U043_ManyMismatchesAtOnce) {
  const auto n = mw::process_count();
  if (n < 2) GTEST_SKIP() << "needs 2 ranks";
  const NamedSharding s(all_devices(), P("x"));
  const auto r = mw::process_index();
  const auto text = message<mw::ShapeError>([&] { mw::make_array_from_process_local_data(s, LocalArray({r + 1, r + 1}, mw::float32)); });
  for (std::int64_t rank = 1; rank < n; ++rank)
    EXPECT_NE(text.find(fmt::format("rank {} passed {}", rank, to_string(Shape{rank + 1, rank + 1}))), std::string::npos) << text;
  const auto types = message<mw::DtypeError>([&] {
    mw::make_array_from_process_local_data(s, LocalArray({1, 1}, r == 1 ? mw::int32 : mw::float32));
  });
  EXPECT_NE(types.find("rank 1 passed int32"), std::string::npos) << types;
  EXPECT_NE(types.find("rank 0 passed float32"), std::string::npos) << types;
}

TEST(FromDeviceArrays, OnePerDeviceInMeshOrder) {
  RandomPlacement random(34);
  for (int round = 0; round < 20; ++round) {
    const auto s = random.sharding(2);
    const auto shape = random.shape(2);
    std::vector<LocalArray> pieces;
    for (const auto& [device, box] : s.devices_indices_map(shape)) {
      if (device.rank != mw::process_index()) continue;
      LocalArray piece(box.shape(), mw::int32);
      for (std::int64_t i = 0; i < piece.shape()[0]; ++i)
        for (std::int64_t j = 0; j < piece.shape()[1]; ++j)
          piece.mutable_view<std::int32_t>()(i, j) = static_cast<std::int32_t>(100 * (box[0].start + i) + box[1].start + j);
      pieces.push_back(std::move(piece));
    }
    EXPECT_TRUE(holds(mw::make_array_from_single_device_arrays(shape, s, pieces), [](auto& at) { return 100 * at[0] + at[1]; }));
  }
  const NamedSharding s(all_devices(), P("x"));
  const auto n = mw::devices().size();
  std::vector<LocalArray> pieces(static_cast<std::size_t>(mw::local_devices().size()), LocalArray({2}, mw::float32));
  if (mw::process_index() == 0) pieces.pop_back();
  EXPECT_NE(message<mw::ShapeError>([&] { mw::make_array_from_single_device_arrays({2 * n}, s, pieces); }).find("rank 0 passed"),
            std::string::npos);
  if (mw::process_index() == 0) pieces.emplace_back(Shape{3}, mw::float32);
  const auto text = message<mw::ShapeError>([&] { mw::make_array_from_single_device_arrays({2 * n}, s, pieces); });
  EXPECT_NE(text.find("rank 0 passed for device"), std::string::npos) << text;
  EXPECT_NE(text.find("(3,), wanted (2,)"), std::string::npos) << text;
}

}  // namespace
