// ranks: 1 2 4 8
// devices_per_rank: 8
// Pictures of layouts, drawn for devices that need not exist.
#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;
using mw::DeviceList, mw::NamedSharding, mw::P, mw::Shape, mw::visualize;

namespace {

mw::Mesh eight() { return mw::make_mesh({4, 2}, {"data", "model"}, {.devices = DeviceList::virtual_devices(8)}); }
mw::Mesh many(std::int64_t a, std::int64_t b) { return mw::make_mesh({a, b}, {"x", "y"}, {.devices = DeviceList::virtual_devices(a * b)}); }

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::size_t columns(const std::string& line) {
  std::size_t n = 0;
  for (const char c : line) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

TEST(Visualize, TwoAxes) {
  EXPECT_EQ(visualize(NamedSharding(eight(), P("data", "model")), {8, 16}),
            "┌───────┬───────┐\n"
            "│ CPU 0 │ CPU 1 │\n"
            "├───────┼───────┤\n"
            "│ CPU 2 │ CPU 3 │\n"
            "├───────┼───────┤\n"
            "│ CPU 4 │ CPU 5 │\n"
            "├───────┼───────┤\n"
            "│ CPU 6 │ CPU 7 │\n"
            "└───────┴───────┘\n"
            "axis 0: 8 over 'data', downwards; axis 1: 16 over 'model', across\n");
}

TEST(Visualize, ReplicasShareACell) {
  EXPECT_EQ(visualize(NamedSharding(eight(), P(nullptr, "data")), {8, 16}),
            "┌─────────┬─────────┬─────────┬─────────┐\n"
            "│ CPU 0,1 │ CPU 2,3 │ CPU 4,5 │ CPU 6,7 │\n"
            "└─────────┴─────────┴─────────┴─────────┘\n"
            "axis 1: 16 over 'data', across\n");
  EXPECT_EQ(visualize(NamedSharding(eight(), P()), {8, 16}),
            "┌─────────────────────┐\n"
            "│ CPU 0,1,2,3,4,5,6,7 │\n"
            "└─────────────────────┘\n");
  EXPECT_NE(visualize(NamedSharding(many(16, 16), P()), {4}).find("CPU 0-255"), std::string::npos);
}

TEST(Visualize, UnevenAndEmptyParts) {
  EXPECT_EQ(visualize(NamedSharding(eight(), P("data", "model")), {3, 5}),
            "┌───────┬───────────┐\n"
            "│ CPU 2 │   CPU 3   │\n"
            "├───────┼───────────┤\n"
            "│ CPU 4 │   CPU 5   │\n"
            "├───────┼───────────┤\n"
            "│ CPU 6 │   CPU 7   │\n"
            "└───────┴───────────┘\n"
            "axis 0: 3 over 'data', downwards; axis 1: 5 over 'model', across\n"
            "empty: CPU 0,1\n");
  // Two rows against three: the longer parts are drawn taller.
  const auto tall = lines(visualize(NamedSharding(eight(), P("data")), {6, 4}));
  EXPECT_EQ(tall[3], "│ CPU 2,3 │");
  EXPECT_EQ(tall[4], "│         │");
  EXPECT_NE(visualize(NamedSharding(eight(), P("data")), {0, 4}).find("no elements"), std::string::npos);
}

TEST(Visualize, MoreAxesThanAPictureHas) {
  const auto m = mw::make_mesh({2, 2, 2}, {"a", "b", "c"}, {.devices = DeviceList::virtual_devices(8)});
  const auto picture = visualize(NamedSharding(m, P("a", nullptr, "b", "c")), {4, 3, 4, 4});
  EXPECT_EQ(lines(picture)[1], "│ CPU 0,1 │ CPU 2,3 │");
  EXPECT_NE(picture.find("axis 3: 4 over 'c', not drawn"), std::string::npos);
  EXPECT_THROW(visualize(NamedSharding(m, P("a", "b")), {4}), mw::PlacementError);
  EXPECT_EQ(lines(visualize(mw::SingleDeviceSharding(DeviceList::virtual_devices(8)[3]), Shape{}))[1], "│ CPU 3 │");
}

TEST(Visualize, FitsTheWidth) {
  for (const std::int64_t width : {20, 33, 79, 80})
    for (const auto& m : {many(1, 3), many(8, 8), many(3, 40), many(64, 64), many(1, 1000)})
      for (const auto& spec : {P("x", "y"), P("y", "x"), P("y"), P(nullptr, "y"), P({"x", "y"}), P()}) {
        const auto picture = visualize(NamedSharding(m, spec), {1000, 777}, width);
        for (const auto& line : lines(picture))
          if (!line.starts_with("axis")) {
            EXPECT_LE(columns(line), static_cast<std::size_t>(width)) << picture;
          }
        EXPECT_LT(lines(picture).size(), 140u);
      }
}

TEST(Visualize, AnArrayUnderItsType) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(mw::ones({2 * n, 3}), NamedSharding(mw::make_mesh({n}, {"x"}), P("x")));
  const auto picture = lines(visualize(x));
  EXPECT_EQ(picture[0], fmt::format("float32[{}@x,3]", 2 * n));
  EXPECT_EQ(picture[2], "│ CPU 0 │");
}

}  // namespace
