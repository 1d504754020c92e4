// The link figures: measured by all ranks, kept in a file, and used by explain.
// ranks: 1 2 4
// devices_per_rank: 8
// variant: nodes ranks=2,4 MESHWISE_NODE_SIZE=1
// variant: pairs ranks=4 MESHWISE_NODE_SIZE=2
// variant: dealt ranks=4 MESHWISE_NODES=0,1
#include <gtest/gtest.h>
#include <unistd.h>
#include <meshwise/meshwise.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "meshwise/runtime/node.hpp"

namespace meshwise {
namespace {

// Jobs run side by side, each with its own file: rank 0's name governs. Set before the Environment begins.
const bool own_file = [] {
  const auto folder = std::filesystem::temp_directory_path() / ("meshwise-calibrate." + std::to_string(getpid()));
  return setenv("MESHWISE_CALIBRATION", (folder / "links.json").c_str(), 1) == 0;
}();

bool has_node() { return process_count() > 1 && detail::topology().ranks_per_node != 1; }
bool has_network() { return detail::topology().ranks_per_node > 0 && process_count() > detail::topology().ranks_per_node; }

void expect_measured(const LinkFigures& link, bool measured, const LinkFigures& otherwise) {
  EXPECT_EQ(link.measured, measured);
  EXPECT_EQ(link == otherwise, !measured);
  EXPECT_GT(link.bandwidth, 1e6);
  EXPECT_GT(link.rank_bandwidth, 1e6);
  EXPECT_GE(link.latency, 0);
  EXPECT_LT(link.latency, 1);
}

// One test, because a process reads its figures once.
TEST(Calibrate, MeasuresKeepsAndReads) {
  ASSERT_TRUE(own_file);
  const std::filesystem::path path = links_path();
  agree([&] {
    if (process_index() != 0) return;
    std::filesystem::remove_all(path.parent_path());
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "{\"version\": 1, \"links\": {\"memory\": {\"bandwidth\": ";  // somebody's disk was full
  });
  EXPECT_EQ(links(), Links{});
  const auto mesh = make_mesh({devices().size()}, {"x"});
  const auto x = device_put(arange(64.0F).reshape({8, 8}), NamedSharding(mesh, P("x")));
  const auto before = explain(x, NamedSharding(mesh, P(none, "x")));
  EXPECT_EQ(before.find("default link figures: run calibrate()") != std::string::npos, devices().size() > 1) << before;

  const auto start = std::chrono::steady_clock::now();
  const auto measured = calibrate();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  print("{}{:.2f} s\n", to_string(measured), took.count());
  expect_measured(measured.memory, true, Links{}.memory);
  expect_measured(measured.node, has_node(), Links{}.node);
  expect_measured(measured.network, has_network(), Links{}.network);
  EXPECT_EQ(links(), measured);
  // Every rank has rank 0's figures, bit for bit.
  const auto bits = device_put(asarray(std::vector<double>{measured.memory.bandwidth}), NamedSharding(mesh, P()));
  EXPECT_EQ(bits.view<double>()[0], measured.memory.bandwidth);

  const auto after = explain(x, NamedSharding(mesh, P(none, "x")));
  EXPECT_EQ(after.find("default"), std::string::npos) << after;
  const auto report = plan_report(x, NamedSharding(mesh, P(none, "x")));
  EXPECT_EQ(report.options.links, measured);
  EXPECT_EQ(report.seconds > 0, devices().size() > 1);
}

TEST(Calibrate, AFolderThatCannotBeIsAnErrorOnAllRanks) {
  const std::filesystem::path folder = std::filesystem::path(links_path()).parent_path();
  agree([&] {
    if (process_index() != 0) return;
    std::filesystem::remove_all(folder);
    std::ofstream(folder) << "a file where the folder should be\n";
  });
  std::string words;
  try {
    calibrate();
  } catch (const Error& error) {
    words = error.what();
  }
  EXPECT_NE(words.find("calibrate: the link figures cannot be written to"), std::string::npos) << words;
  EXPECT_NE(words.find("MESHWISE_CALIBRATION"), std::string::npos) << words;
  EXPECT_TRUE(links().memory.measured);  // they hold nevertheless
  agree([&] {
    if (process_index() == 0) std::filesystem::remove(folder);
  });
  EXPECT_NO_THROW(calibrate());
  EXPECT_TRUE(process_index() != 0 || std::filesystem::exists(links_path()));
  agree([&] {
    if (process_index() == 0) std::filesystem::remove_all(folder);
  });
}

TEST(Explain, AnUncommittedArrayMovesNothing) {
  const auto mesh = make_mesh({devices().size()}, {"x"});
  const auto report = plan_report(ones({16, 4}), NamedSharding(mesh, P("x")));
  EXPECT_EQ(report.from, "float32[16,4]");
  EXPECT_EQ(report.seconds, 0);
  std::int64_t peak = 0;
  for (const auto& r : report.ranks) {
    EXPECT_EQ(r.bytes_before, 0);
    EXPECT_EQ(r.memory, LinkUse{});
    EXPECT_EQ(r.network, LinkUse{});
    peak += r.peak_bytes;
  }
  EXPECT_EQ(peak, 16 * 4 * 4);
  EXPECT_NE(explain(ones({16, 4}), NamedSharding(mesh, P("x"))).find("float32[16,4], uncommitted -> float32[16@x,4] on"),
            std::string::npos);
  auto gone = device_put(ones({16, 4}), NamedSharding(mesh, P("x")));
  gone.free();
  EXPECT_THROW(explain(gone, NamedSharding(mesh, P())), DonatedError);
}

}  // namespace
}  // namespace meshwise
