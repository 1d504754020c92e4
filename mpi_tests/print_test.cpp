// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// Arrays as text. The wanted texts are NumPy 2.4's.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>

#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;

namespace {

mw::Mesh line() { return mw::make_mesh({mw::devices().size()}, {"x"}); }

template <class T>
std::string text(const std::vector<T>& values) {
  return to_string(mw::asarray(values));
}

TEST(Print, Numbers) {
  EXPECT_EQ(to_string(mw::arange(3.0)), "[0. 1. 2.]");
  EXPECT_EQ(to_string(mw::arange(4)), "[0 1 2 3]");
  EXPECT_EQ(text<float>({1e-5f, 1, 123456}), "[1.00000e-05 1.00000e+00 1.23456e+05]");
  EXPECT_EQ(text<double>({1.0 / 3, 2.0 / 3, 1}), "[0.33333333 0.66666667 1.        ]");
  EXPECT_EQ(text<float>({std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 1.5f}), "[ nan -inf  1.5]");
  EXPECT_EQ(text<std::complex<float>>({{1, 2}, {0, -0.5f}}), "[1.+2.j  0.-0.5j]");
  EXPECT_EQ(text<std::int64_t>({-1, 10, 200}), "[ -1  10 200]");
  EXPECT_EQ(text<std::uint8_t>({1, 255}), "[  1 255]");
  EXPECT_EQ(to_string(mw::asarray({true, false})), "[ True False]");
  EXPECT_EQ(to_string(mw::asarray({0.1, 2.5}, mw::float16)), "[0.1 2.5]");
  EXPECT_EQ(to_string(mw::asarray({0.1, 2.5}, mw::bfloat16)), "[0.1 2.5]");
  EXPECT_EQ(text<float>({0.1f, -0.0f, 3.1415927f}), "[ 0.1       -0.         3.1415927]");
}

TEST(Print, ScalarsAndNothing) {
  EXPECT_EQ(to_string(mw::asarray(1.5)), "1.5");
  EXPECT_EQ(to_string(mw::asarray(1.0)), "1.0");
  EXPECT_EQ(to_string(mw::asarray(1e-5)), "1e-05");
  EXPECT_EQ(to_string(mw::asarray(7)), "7");
  EXPECT_EQ(to_string(mw::asarray(true)), "True");
  EXPECT_EQ(to_string(mw::asarray(std::complex<double>(1, 2))), "(1+2j)");
  EXPECT_EQ(to_string(mw::asarray(std::complex<double>(0, 2))), "2j");
  EXPECT_EQ(to_string(mw::zeros({0, 5})), "[]");
  EXPECT_EQ(to_string(mw::zeros({2, 0})), "[]");
}

TEST(Print, RowsAndWrappedLines) {
  EXPECT_EQ(to_string(mw::arange(12.0).reshape({3, 4})), "[[ 0.  1.  2.  3.]\n [ 4.  5.  6.  7.]\n [ 8.  9. 10. 11.]]");
  EXPECT_EQ(to_string(mw::zeros({2, 2, 2}, mw::int32)), "[[[0 0]\n  [0 0]]\n\n [[0 0]\n  [0 0]]]");
  EXPECT_EQ(to_string(mw::arange(0, 30000, 1000)),
            "[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
            " 12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
            " 24000 25000 26000 27000 28000 29000]");
}

const char* hundred =
    "[[   0    1    2 ...   97   98   99]\n"
    " [ 100  101  102 ...  197  198  199]\n"
    " [ 200  201  202 ...  297  298  299]\n"
    " ...\n"
    " [9700 9701 9702 ... 9797 9798 9799]\n"
    " [9800 9801 9802 ... 9897 9898 9899]\n"
    " [9900 9901 9902 ... 9997 9998 9999]]";

TEST(Print, LargeArraysByTheirCorners) {
  const auto x = mw::arange(10000).reshape({100, 100});
  EXPECT_EQ(to_string(x), hundred);
  // The corners of a rule for 2^60 elements: nobody makes more.
  EXPECT_EQ(
      to_string(mw::zeros({std::int64_t{1} << 30, std::int64_t{1} << 30}, mw::int8)),
      "[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n ...\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]]");
  const auto everywhere = mw::asarray(mw::device_get(x));
  EXPECT_EQ(to_string(everywhere), hundred);
  EXPECT_EQ(to_string(mw::device_put(x, NamedSharding(line(), P()))), hundred);
  EXPECT_EQ(to_string(mw::device_get(x)), hundred);
}

TEST(Print, ValuesOnlyWhereTheyAreAllHere) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(mw::arange(10000).reshape({100, 100}), NamedSharding(line(), P(nullptr, "x")));
  const auto got = to_string(x);
  if (mw::process_count() == 1) {
    EXPECT_EQ(got, hundred);
  } else {
    EXPECT_EQ(got, fmt::format("Array(shape=(100, 100), dtype=int32, sharding=NamedSharding(mesh=Mesh('x': {}, axis_types=(Auto,)), "
                               "spec=P(None, 'x')), devices={})",
                               n, to_string(mw::devices())));
  }
  EXPECT_EQ(fmt::format("{}", mw::arange(3)), "[0 1 2]");
  const auto far = mw::device_put(mw::arange(3), mw::devices()[n - 1]);
  const bool here = mw::process_index() == mw::process_count() - 1;
  EXPECT_EQ(
      to_string(far),
      here ? "[0 1 2]" : fmt::format("Array(shape=(3,), dtype=int32, sharding=SingleDeviceSharding(device={0}), devices=[{0}])", n - 1));
  auto gone = mw::device_put(mw::arange(3), mw::devices()[0]);
  gone.free();
  EXPECT_THROW(to_string(gone), mw::DonatedError);
}

std::int64_t resident_pages() {
  std::ifstream in("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident;
}

TEST(UserCases, U143_PrintingALargeArrayGathersNothing) {
  const auto x = mw::device_put(mw::zeros({100000, 100}), NamedSharding(line(), P("x")));
  to_string(x);
  const auto before = resident_pages();
  const auto start = std::chrono::steady_clock::now();
  const auto text = to_string(x);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_LT((resident_pages() - before) * 4096, 1 << 20);
  if (mw::process_count() > 1) {
    for (const auto* word : {"(100000, 100)", "float32", "P('x',)", "Mesh('x': "}) EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

}  // namespace
