// What a move costs: figures against ones worked out by hand, and the table's text.
#include <gtest/gtest.h>

#include "meshwise/base/error.hpp"
#include "meshwise/plan/cost.hpp"
#include "meshwise/plan/donation.hpp"

namespace meshwise {
namespace {

Mesh mesh(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names, const DeviceList& devices) {
  return make_mesh(sizes, names, {.devices = devices});
}

DeviceList all(std::int64_t n) { return DeviceList::virtual_devices(n); }

/// Figures that are easily reckoned with: 1 GB/s in memory, half of it on the node, a tenth of it between nodes.
Links round_links() { return {.memory = {2e9, 1e9, 1e-6, true}, .node = {1e9, 5e8, 1e-5, true}, .network = {1e8, 1e8, 1e-4, true}}; }

TEST(Cost, RowsToColumnsByHand) {
  // float64[4,4] of 128 bytes; each of 4 ranks has a row of 32 bytes and wants a column: it has 1 element and gets 3.
  const auto m = mesh({4}, {"x"}, all(4));
  const auto report = plan_report(Shape{4, 4}, float64, NamedSharding(m, P("x")), NamedSharding(m, P(none, "x")),
                                  {.topology = {.ranks_per_node = 2}, .links = round_links()});
  EXPECT_TRUE(report.complete);
  ASSERT_EQ(report.ranks.size(), 4U);
  for (const auto& r : report.ranks) {
    EXPECT_EQ(r.bytes_before, 32);
    EXPECT_EQ(r.bytes_after, 32);
    EXPECT_EQ(r.bytes_kept, 0);
    EXPECT_EQ(r.memory, (LinkUse{8, 0, 1, 0}));
    EXPECT_EQ(r.node, (LinkUse{8, 8, 1, 1}));
    EXPECT_EQ(r.network, (LinkUse{16, 16, 2, 2}));
    EXPECT_EQ(r.bytes_lower_bound, 24);
    EXPECT_EQ(r.peak_bytes, 32 + 32 + 48);  // what travels by MPI is staged
    EXPECT_EQ(r.bytes_left, 64);
    // Network: the node's 32 bytes each way at 1e8 and two messages; it outlasts memory and node.
    EXPECT_DOUBLE_EQ(r.seconds, 32 / 1e8 + 2e-4);
  }
  EXPECT_DOUBLE_EQ(report.seconds, 32 / 1e8 + 2e-4);
}

TEST(Cost, ReplicateOnNodesThatShareMemory) {
  // 64 bytes in quarters to all: each node of 2 receives the other node's half once, and one rank copies for both.
  const auto m = mesh({4}, {"x"}, all(4));
  const auto report = plan_report(Shape{16}, float32, NamedSharding(m, P("x")), NamedSharding(m, P()),
                                  {.topology = {.ranks_per_node = 2, .node_shares_memory = true}, .links = round_links()});
  ASSERT_EQ(report.ranks.size(), 4U);
  std::int64_t in = 0, out = 0;
  for (const auto& r : report.ranks) {
    EXPECT_EQ(r.node, LinkUse{});
    in += r.network.bytes_in;
    out += r.network.bytes_out;
  }
  EXPECT_EQ(in, 2 * 32);
  EXPECT_EQ(out, 2 * 32);
  const auto &reads = report.ranks[0], &takes = report.ranks[1];
  EXPECT_EQ(reads.memory.bytes_in, 32);
  EXPECT_EQ(reads.network.bytes_in, 32);
  EXPECT_EQ(reads.bytes_lower_bound, 32);
  EXPECT_EQ(reads.peak_bytes, 16 + 64 + 32 + reads.network.bytes_out);
  EXPECT_EQ(takes.bytes_kept, 64);
  EXPECT_EQ(takes.memory.bytes_in, 0);
  EXPECT_EQ(takes.memory.bytes_out, 16);
  EXPECT_EQ(takes.peak_bytes, 16 + takes.network.bytes_out);  // it makes no block
}

TEST(Cost, ToAnotherMeshAndDonate) {
  // Ranks 0 and 1 give all they have to 2 and 3.
  const auto devices = all(4);
  const auto from = mesh({2}, {"x"}, devices.first(2)), to = mesh({2}, {"x"}, devices.last(2));
  const Shape shape{1024, 1024};
  for (const bool donate : {false, true}) {
    const auto report = plan_report(shape, float32, NamedSharding(from, P("x")), NamedSharding(to, P(none, "x")),
                                    {.topology = {.ranks_per_node = 2}, .links = round_links(), .donate = donate});
    ASSERT_EQ(report.ranks.size(), 4U);
    const std::int64_t half = 2 << 20;
    EXPECT_EQ(report.ranks[0].network, (LinkUse{0, half, 0, 2}));
    EXPECT_EQ(report.ranks[0].bytes_left, donate ? 0 : half);
    EXPECT_EQ(report.ranks[0].peak_bytes, half + half);
    EXPECT_EQ(report.ranks[3].network, (LinkUse{half, 0, 2, 0}));
    EXPECT_EQ(report.ranks[3].bytes_left, half);
    EXPECT_EQ(report.ranks[3].memory, LinkUse{});
    EXPECT_DOUBLE_EQ(report.seconds, static_cast<double>(2 * half) / 1e8 + 2e-4);  // a node's two ranks share its network
    EXPECT_EQ(to_string(report).find("left") != std::string::npos, donate);
  }
}

TEST(Cost, LargeDonatedBlocksMoveInParts) {
  const auto line = mesh({2}, {"x"}, all(2));
  const auto peak = [&](std::int64_t rows, bool donate) {
    return plan_report({rows, 1024}, float32, NamedSharding(line, P("x")), NamedSharding(line, P(none, "x")), {.topology = {.node_shares_memory = true}, .donate = donate})
        .ranks[1]
        .peak_bytes;
  };
  const std::int64_t block = std::int64_t{32} << 20, small = std::int64_t{8} << 20;
  EXPECT_EQ(peak(16384, false), 2 * block);
  EXPECT_EQ(peak(16384, true), block + block / 16);
  EXPECT_EQ(peak(4096, true), 2 * small);
}

TEST(Donation, PartsCoverAPieceOnce) {
  for (const auto& extents : {PerAxis<std::int64_t>{40}, PerAxis<std::int64_t>{3, 17, 100}, PerAxis<std::int64_t>{2, 5}, PerAxis<std::int64_t>{1}, PerAxis<std::int64_t>{0, 64}}) {
    std::int64_t reached = 0;
    const auto axis = donated_part(extents, 0).axis;
    for (std::int64_t k = 0; k < donated_parts; ++k) {
      const auto cut = donated_part(extents, k);
      EXPECT_EQ(cut.axis, axis);
      EXPECT_EQ(cut.range.start, reached);
      reached = cut.range.stop;
    }
    EXPECT_EQ(reached, extents[axis]);
  }
  EXPECT_EQ(donated_part({3, 17, 100}, 0).axis, 1U);  // the first that is long enough for all parts
  EXPECT_EQ(donated_part({2, 5}, 0).axis, 1U);        // else the longest
}

TEST(Cost, MemoryIsSharedByTheNode) {
  // One rank copies 8 MB at its own 1 GB/s, four that share 2 GB/s take twice as long each.
  const auto seconds = [](std::int64_t ranks) {
    const auto m = mesh({ranks}, {"x"}, all(ranks));
    return plan_report(Shape{4, ranks, 1000000}, int16, NamedSharding(m, P(none, "x")), NamedSharding(m, P("x")),
                       {.topology = {.node_shares_memory = true}, .links = round_links()})
        .seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(4), 4 * 8e6 / 2e9 + 4e-6);
  EXPECT_DOUBLE_EQ(seconds(2), 2 * 8e6 / 2e9 + 2e-6);
  EXPECT_EQ(seconds(1), 0);  // the same box: it stays
}

TEST(Cost, AliasesCostNothing) {
  const auto m = mesh({2, 2}, {"x", "y"}, all(4));
  const auto report = plan_report(Shape{8, 6}, float64, NamedSharding(m, P("x")), NamedSharding(m, P("x")));
  for (const auto& r : report.ranks) {
    EXPECT_EQ(r.bytes_kept, r.bytes_after);
    EXPECT_EQ(r.peak_bytes, r.bytes_before);
    EXPECT_EQ(r.seconds, 0);
  }
  EXPECT_EQ(to_string(report),
            "float64[8@x,6] on 4 devices -> float64[8@x,6] on 4 devices\n"
            "One node.\n"
            "  rank    before     after     stays      peak      time\n"
            "     0     192 B     192 B     192 B     192 B       0 s\n"
            "     1     192 B     192 B     192 B     192 B       0 s\n"
            "     2     192 B     192 B     192 B     192 B       0 s\n"
            "     3     192 B     192 B     192 B     192 B       0 s\n"
            "   all     768 B     768 B     768 B     768 B       0 s\n"
            "Nothing is sent. The slowest rank takes about 0 s.\n");
}

TEST(Cost, DevicesOfOneProcess) {
  // One process with four devices: everything is a copy in memory, and a replica one block for all of them.
  const auto devices = DeviceList::virtual_devices(4, 4);
  const auto m = mesh({4}, {"x"}, devices);
  const auto report = plan_report(Shape{16}, float32, NamedSharding(m, P("x")), NamedSharding(m, P()));
  ASSERT_EQ(report.ranks.size(), 1U);
  EXPECT_EQ(report.ranks[0].memory, (LinkUse{64, 0, 4, 0}));
  EXPECT_EQ(report.ranks[0].bytes_kept, 3 * 64);
  EXPECT_EQ(report.ranks[0].bytes_after, 4 * 64);
  EXPECT_EQ(report.ranks[0].peak_bytes, 64 + 64);
}

TEST(Cost, Text) {
  const auto m = mesh({2, 2}, {"x", "y"}, all(4));
  EXPECT_EQ(explain(Shape{4, 6}, float32, NamedSharding(m, P("x")), NamedSharding(m, P(none, "y"))),
            "float32[4@x,6] on 4 devices -> float32[4,6@y] on 4 devices\n"
            "One node; default link figures: run calibrate().\n"
            "  rank    before     after     stays    copied    copies   node in  node out  messages      peak      time\n"
            "     0      48 B      48 B       0 B      24 B         1      24 B      24 B         1     144 B   1.22 us\n"
            "     1      48 B      48 B       0 B      24 B         1      24 B      24 B         1     144 B   1.22 us\n"
            "     2      48 B      48 B       0 B      24 B         1      24 B      24 B         1     144 B   1.22 us\n"
            "     3      48 B      48 B       0 B      24 B         1      24 B      24 B         1     144 B   1.22 us\n"
            "   all     192 B     192 B       0 B      96 B         4      96 B      96 B         4     576 B   1.22 us\n"
            "No plan can send less than 96 B; this one sends 96 B in 4 messages. The slowest rank takes about 1.22 us.\n");
  EXPECT_EQ(
      explain(Shape{4096, 6}, float32, NamedSharding(m, P("x")), NamedSharding(m, P(none, "y")), {.ranks_per_node = 2}, round_links()),
      "float32[4096@x,6] on 4 devices -> float32[4096,6@y] on 4 devices\n"
      "Nodes of 2 ranks; link figures as calibrated.\n"
      "  rank    before     after     stays    copied    copies    net in   net out  messages      peak      time\n"
      "     0  48.0 KiB  48.0 KiB       0 B  24.0 KiB         1  24.0 KiB  24.0 KiB         1   144 KiB    592 us\n"
      "     1  48.0 KiB  48.0 KiB       0 B  24.0 KiB         1  24.0 KiB  24.0 KiB         1   144 KiB    592 us\n"
      "     2  48.0 KiB  48.0 KiB       0 B  24.0 KiB         1  24.0 KiB  24.0 KiB         1   144 KiB    592 us\n"
      "     3  48.0 KiB  48.0 KiB       0 B  24.0 KiB         1  24.0 KiB  24.0 KiB         1   144 KiB    592 us\n"
      "   all   192 KiB   192 KiB       0 B  96.0 KiB         4  96.0 KiB  96.0 KiB         4   576 KiB    592 us\n"
      "No plan can send less than 96.0 KiB; this one sends 96.0 KiB in 4 messages. The slowest rank takes about 592 us.\n");
  auto some = round_links();
  some.network.measured = false;
  EXPECT_EQ(explain(Shape{4, 6}, float32, NamedSharding(m, P({"x", "y"})), NamedSharding(m, P()),
                    {.ranks_per_node = 2, .node_shares_memory = true}, some),
            "float32[4@(x,y),6] on 4 devices -> float32[4,6] on 4 devices\n"
            "Nodes of 2 ranks that share memory; link figures as calibrated, but default ones for network.\n"
            "  rank    before     after     stays    copied    copies    net in   net out  messages      peak      time\n"
            "     0      24 B      96 B       0 B      48 B         2      48 B      24 B         1     192 B    200 us\n"
            "     1      24 B      96 B      96 B       0 B         0       0 B      24 B         1      48 B    100 us\n"
            "     2      24 B      96 B       0 B      48 B         2      48 B      24 B         1     192 B    200 us\n"
            "     3      24 B      96 B      96 B       0 B         0       0 B      24 B         1      48 B    100 us\n"
            "   all      96 B     384 B     192 B      96 B         4      96 B      96 B         4     480 B    200 us\n"
            "No plan can send less than 96 B; this one sends 96 B in 4 messages. The slowest rank takes about 200 us.\n");
}

TEST(Cost, ASpecThatIsTooLong) {
  const auto m = mesh({2}, {"x"}, all(2));
  EXPECT_THROW(plan_report(Shape{4}, float32, NamedSharding(m, P("x")), NamedSharding(m, P(none, "x"))), PlacementError);
}

}  // namespace
}  // namespace meshwise
