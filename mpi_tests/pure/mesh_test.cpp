#include "meshwise/placement/mesh.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <thread>

#include "meshwise/base/error.hpp"

namespace meshwise {
namespace {

class MeshTest : public testing::Test {
 protected:
  void SetUp() override { detail::set_world(8, 1, 0); }
};

template <class E = PlacementError>
void expect_refusal(const std::function<void()>& f, std::initializer_list<const char*> parts) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    for (const auto* part : parts) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST_F(MeshTest, RowMajorOverTheGivenOrder) {
  const auto mesh = make_mesh({4, 2}, {"data", "model"});
  EXPECT_EQ(mesh.axis_sizes(), (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(mesh.strides(), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(mesh.devices(), devices());
  EXPECT_EQ(mesh.size(), 8);
  EXPECT_EQ(mesh.ndim(), 2);
  EXPECT_EQ(mesh.find_axis("model"), 1u);
  EXPECT_FALSE(mesh.find_axis("nope"));
  EXPECT_EQ(make_mesh({3}, {"x"}, {.devices = {5, 0, 2}}).devices().ids(), (std::vector<std::int64_t>{5, 0, 2}));
  EXPECT_EQ(make_mesh({2, 2}, {"a", "b"}).devices().ids(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(make_mesh({2}, {"x"}, {.devices = {5, 0, 2}}).devices().ids(), (std::vector<std::int64_t>{5, 0}));
}

TEST_F(MeshTest, Prints) {
  EXPECT_EQ(to_string(make_mesh({4, 2}, {"data", "model"})), "Mesh('data': 4, 'model': 2, axis_types=(Auto, Auto))");
  EXPECT_EQ(to_string(make_mesh({8}, {"x"}, {.axis_types = AxisType::Explicit})), "Mesh('x': 8, axis_types=(Explicit,))");
  EXPECT_EQ(to_string(make_mesh({2, 4}, {"x", "y"}, {.axis_types = {AxisType::Auto, AxisType::Explicit}})),
            "Mesh('x': 2, 'y': 4, axis_types=(Auto, Explicit))");
}

TEST_F(MeshTest, EqualityIsOfSizesNamesTypesAndOrderedDevices) {
  const auto mesh = make_mesh({4, 2}, {"x", "y"});
  EXPECT_EQ(mesh, make_mesh({4, 2}, {"x", "y"}, {.devices = {0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(&mesh.axis_sizes(), &make_mesh({4, 2}, {"x", "y"}).axis_sizes());
  EXPECT_FALSE(mesh == make_mesh({2, 4}, {"x", "y"}));
  EXPECT_FALSE(mesh == make_mesh({4, 2}, {"y", "x"}));
  EXPECT_FALSE(mesh == make_mesh({4, 2}, {"x", "y"}, {.axis_types = AxisType::Explicit}));
  EXPECT_FALSE(mesh == make_mesh({4, 2}, {"x", "y"}, {.devices = devices().reversed()}));
  EXPECT_FALSE(make_mesh({1}, {"x"}, {.devices = {0}}) == make_mesh({1}, {"x"}, {.devices = {1}}));
  EXPECT_TRUE(make_mesh({2}, {"x"}, {.axis_types = AxisType::Explicit}).is_explicit());
  EXPECT_FALSE(mesh.is_explicit());
  EXPECT_NE(mesh.hash(), make_mesh({4, 2}, {"y", "x"}).hash());
}

TEST_F(MeshTest, AMeshOutlivesTheHandlesOfItsTwin) {
  auto first = std::make_unique<Mesh>(make_mesh({4, 2}, {"x", "y"}));
  const auto second = make_mesh({4, 2}, {"x", "y"});
  const auto* state = &second.axis_sizes();
  first.reset();
  EXPECT_EQ(second.axis_names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(&make_mesh({4, 2}, {"x", "y"}).axis_sizes(), state);
}

TEST_F(MeshTest, RefusalsNameTheValues) {
  expect_refusal([] { make_mesh({16}, {"data"}); }, {"(16,)", "16 devices", "there are 8", "mpirun -n 16"});
  expect_refusal([] { make_mesh({3, 3}, {"data", "model"}); }, {"(3, 3)", "9", "8"});
  expect_refusal([] { make_mesh({4, 2}, {"data", "model"}, {.devices = {0, 1, 2, 3}}); }, {"(4, 2)", "8", "[0, 1, 2, 3]", "4"});
  expect_refusal([] { make_mesh({4, 2}, {"data"}); }, {"(4, 2)", "('data',)"});
  expect_refusal([] { make_mesh({8}, {"data", "model"}); }, {"(8,)", "('data', 'model')"});
  expect_refusal([] { make_mesh({}, {}); }, {"at least one axis"});
  expect_refusal([] { make_mesh({4, 2}, {"data", ""}); }, {"empty name"});
  expect_refusal([] { make_mesh({4, 0}, {"data", "model"}); }, {"'model'", "size 0"});
  expect_refusal([] { make_mesh({-4, -2}, {"data", "model"}); }, {"'data'", "size -4"});
  expect_refusal([] { make_mesh({2}, {"data"}, {.devices = {3, 3}}); }, {"device 3", "twice", "[3, 3]"});
  expect_refusal([] { make_mesh({3}, {"data"}, {.devices = {3, 0, 3}}); }, {"device 3", "[3, 0, 3]"});
  expect_refusal([] { make_mesh({2}, {"data"}, {.devices = {3, 9}}); }, {"device 9", "0 to 7"});
  expect_refusal([] { make_mesh({4, 2}, {"x", "y"}, {.axis_types = {AxisType::Auto}}); }, {"1 axis types", "('x', 'y')"});
  expect_refusal([] { make_mesh({std::int64_t{1} << 40, std::int64_t{1} << 40}, {"x", "y"}); }, {"there are 8"});
  expect_refusal<DuplicateAxisError>([] { make_mesh({4, 2}, {"data", "data"}); }, {"'data'", "twice"});
}

TEST_F(MeshTest, TheCureCountsDevicesPerRank) {
  detail::set_world(4, 2, 0);
  expect_refusal([] { make_mesh({3, 3}, {"x", "y"}); }, {"9 devices", "there are 4", "mpirun -n 5"});
}

TEST_F(MeshTest, AHundredThousandMeshesLeaveNothing) {
  const auto make = [](int i) {
    const auto mesh = make_mesh({4, 2}, {"x" + std::to_string(i), "y"}, {.devices = {3, 1, 0, 2, 4, 5, 6, 7}});
    ASSERT_EQ(mesh.devices().position_of(1), 1);
  };
  for (int i = 0; i < 1000; ++i) make(i);
  const auto before = mallinfo2().uordblks;
  for (int i = 0; i < 100000; ++i) make(i);
  EXPECT_LT(mallinfo2().uordblks, before + 100000);
}

TEST_F(MeshTest, AMillionVirtualDevices) {
  const auto world = DeviceList::virtual_devices(1 << 20);
  std::int64_t sum = 0;
  for (int i = 0; i < 20000; ++i) sum += make_mesh({1024, 511 + i % 2, 2}, {"a", "b", "c"}, {.devices = world}).size();
  EXPECT_EQ(sum, 10000 * (std::int64_t{1024} * 511 * 2 + (1 << 20)));
}

// Handles are copied and dropped on any thread; twins meet while the last handle of the other dies.
TEST_F(MeshTest, ThreadsMakeAndDropTwins) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 5000; ++i) {
        const auto a = make_mesh({2, 2}, {"x" + std::to_string(i % 3), "y"});
        const auto b = make_mesh({2, 2}, {"x" + std::to_string(i % 3), "y"});
        ASSERT_EQ(a, b);
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace meshwise
