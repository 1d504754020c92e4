// ranks: 2 4
// devices_per_rank: 4@2
// counters
// links: hdf5 mpi
// variant: private ranks=2,4 MESHWISE_STORE=private
// What users of such systems ran into, restated: what concerns no other rank, or is refused, and must not say a word to any. Messages are counted as MPI
// sees them, and bytes as the library copies them, since ranks that share memory send none.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

#include "support/counters.hpp"
#include "support/hdf5_files.hpp"
#include "support/need_devices.hpp"
#include "support/resident_bytes.hpp"
#include "support/row_major_numbers.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape, mw::make_mesh;
using support::line, support::numbered, support::wrong_numbers;

namespace {

/// What goes on in this process while it lives. Made on all ranks at once.
class Quiet {
 public:
  Quiet() {
    mw::barrier();
    thread_ = support::snapshot();
    all_ = support::snapshot_all_threads();
    stats_ = mw::runtime_stats();
  }
  /// Local. What was sent, received or copied since; empty if nothing.
  std::string heard() const {
    const auto mine = support::snapshot() - thread_;
    auto all = support::snapshot_all_threads() - all_;
    all.calls = all.polls = all.waits = 0;  // a progress thread looks for what others may send
    const auto stats = mw::runtime_stats();
    std::string text;
    if (mine.calls > 0) text += "this thread: " + support::to_string(mine) + "; ";
    if (!(all == support::Counters{})) text += "all threads: " + support::to_string(all) + "; ";
    if (const auto bytes = stats.bytes_copied - stats_.bytes_copied; bytes > 0) text += fmt::format("{} bytes copied; ", bytes);
    if (const auto bytes = stats.bytes_sent - stats_.bytes_sent; bytes > 0) text += fmt::format("{} bytes sent; ", bytes);
    return text;
  }

 private:
  support::Counters thread_, all_;
  mw::RuntimeStats stats_;
};

/// Collective. The words of an E that f throws, alike on all ranks and before anything is sent.
template <class E, class F>
std::string refused_quietly(F&& f) {
  const Quiet quiet;
  const auto text = support::words<E>(f);
  EXPECT_EQ(quiet.heard(), "") << text;
  EXPECT_NE(text, "") << "nothing was thrown";
  EXPECT_EQ(text, hdf5_files::from_first(text)) << "ranks say different things";
  return text;
}

std::vector<float> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<float>().begin(), whole.view<float>().end()};
}

std::vector<float> local_values(const Array& x) {
  const auto v = x.view<float>();
  return {v.begin(), v.end()};
}

using Floats = std::vector<float>;

// A counter that never counts proves nothing.
TEST(UserCases, AMoveIsHeard) {
  const auto x = mw::device_put(numbered({64, 64}, mw::float32), NamedSharding(line(mw::devices().size()), P("x")));
  const Quiet quiet;
  mw::block_until_ready(mw::reshard(x, P(nullptr, "x")));
  EXPECT_NE(quiet.heard(), "");
  mw::barrier();
}

// A put to where an array already was did not commit it.
TEST(UserCases, U003_PuttingWhereItIsCommitsAndMovesNothing) {
  const auto n = mw::devices().size();
  const auto m0 = make_mesh({1}, {"x"}, {.devices = {0}}), m1 = make_mesh({1}, {"x"}, {.devices = {n - 1}});
  for (const auto& a : {numbered({3}, mw::float32), mw::asarray(Floats{0, 1, 2})}) {
    Array a2;
    {
      const Quiet quiet;
      a2 = mw::device_put(a, NamedSharding(m0, P()));
      EXPECT_EQ(quiet.heard(), "");
    }
    EXPECT_TRUE(a2.committed());
    EXPECT_FALSE(a.committed());
    {
      const Quiet quiet;
      const auto live = mw::memory_stats().live;
      const auto again = mw::device_put(a2, NamedSharding(make_mesh({1}, {"y"}, {.devices = {0}}), P()));
      EXPECT_EQ(quiet.heard(), "");
      EXPECT_EQ(mw::memory_stats().live, live);
      for (const auto& shard : again.addressable_shards()) EXPECT_EQ(shard.data().data(), a2.addressable_data(0).data());
    }
    const auto b = mw::device_put(numbered({3}, mw::float32), NamedSharding(m1, P()));
    const auto sum = a + b;
    EXPECT_EQ(sum.sharding().devices().ids(), (std::vector<std::int64_t>{n - 1}));
    EXPECT_EQ(values(sum), (Floats{0, 2, 4}));
    const auto text = refused_quietly<mw::CommitmentError>([&] { a2 + b; });
    EXPECT_HAS(text, "[0]");
    EXPECT_HAS(text, fmt::format("[{}]", n - 1));
    EXPECT_EQ(values(a2), (Floats{0, 1, 2}));
  }
}

// A value that lies here in full could not be read here.
TEST(UserCases, U067_AReplicatedValueIsReadWithoutAWord) {
  NEED_DEVICES(4);
  const auto step = mw::devices().size() / 4;  // some on every rank
  const auto m = make_mesh({1, 4}, {"a", "b"}, {.devices = {0, step, 2 * step, 3 * step}});
  const auto x = mw::device_put(numbered({8}, mw::float32), NamedSharding(m, P("a"))), y = mw::device_put(numbered({8}, mw::float32), NamedSharding(m, P("b")));
  EXPECT_TRUE(x.is_fully_replicated());
  EXPECT_FALSE(y.is_fully_replicated());
  EXPECT_EQ(wrong_numbers<float>(x), 0);
  EXPECT_EQ(wrong_numbers<float>(y), 0);
  const Quiet quiet;
  EXPECT_EQ(local_values(x), (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(x.local_value().shape(), (Shape{8}));
  const auto text = support::words<mw::NotAddressableError>([&] { y.view<float>(); });
  const auto first = 4 * mw::process_index() / mw::process_count();
  EXPECT_HAS(text, fmt::format("rank {} holds [{}:{}] of float32[8@b] under P('b',)", mw::process_index(), 2 * first, 2 * first + 2));
  EXPECT_HAS(text, "device_get");
  EXPECT_EQ(quiet.heard(), "");
}

// One shard was taken for the value. And a value that is here could only be read when all ranks read it.
TEST(UserCases, U069_OneRankAloneReadsWhatItHolds) {
  const auto m = line(mw::devices().size());
  const auto x = mw::device_put(numbered({4}, mw::float32), NamedSharding(m, P("x"))), y = mw::device_put(numbered({4}, mw::float32), NamedSharding(m, P()));
  const auto total = mw::sum(x);
  EXPECT_EQ(wrong_numbers<float>(y), 0);
  EXPECT_EQ(total.addressable_shards().size(), static_cast<std::size_t>(mw::local_devices().size()));
  const Quiet quiet;
  if (mw::process_index() == 1) {
    EXPECT_EQ(local_values(y), (Floats{0, 1, 2, 3}));
    EXPECT_EQ(local_values(total), (Floats{6}));
    const auto text = support::words<mw::NotAddressableError>([&] { x.view<float>(); });
    EXPECT_HAS(text, "rank 1 holds [");
    EXPECT_EQ(support::words<mw::NotAddressableError>([&] { x.local_value(); }), text);
    EXPECT_EQ(quiet.heard(), "");
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the others are not in the library meanwhile
  EXPECT_HAS(refused_quietly<mw::ShapeError>([&] { x.item<float>(); }), "has 4 elements, not one");
}

// A second donation crashed, and each use after the first had another error.
TEST(UserCases, U077_U079_DonatedIsGoneWithAWord) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(numbered({8, 16}, mw::float32), NamedSharding(line(n), P("x")));
  const auto y = mw::device_put(x, NamedSharding(line(n), P(nullptr, "x")), {.donate = true});
  const std::vector<std::pair<std::string, std::function<void()>>> uses{{"device_put", [&] { mw::device_put(x, y.sharding(), {.donate = true}); }},
                                                                       {"device_put", [&] { mw::device_put(x, NamedSharding(line(n), P())); }},
                                                                       {"reshard", [&] { mw::reshard(x, P()); }},
                                                                       {"add", [&] { x + 1; }},
                                                                       {"add", [&] { y + x; }},
                                                                       {"sum", [&] { mw::sum(x); }},
                                                                       {"device_get", [&] { mw::device_get(x); }},
                                                                       {"to_string", [&] { mw::to_string(x); }},
                                                                       {"view", [&] { x.view<float>(); }}};
  for (const auto& [operation, use] : uses) {
    const auto text = refused_quietly<mw::DonatedError>(use);
    EXPECT_TRUE(text.starts_with(operation + ": ")) << text;
    EXPECT_HAS(text, "float32[8@x,16], which was donated to device_put");
  }
  const hdf5_files::Folder folder;
  // The one call here that synchronises all ranks: they agree on the error by messages, but no file is begun.
  EXPECT_HAS(hdf5_files::error_everywhere<mw::DonatedError>([&] { mw::io::write(folder / "x.h5", "/x", x); }), "float32[8@x,16], which was donated to device_put");
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
  EXPECT_TRUE(x.is_deleted());
  EXPECT_EQ(x.shape(), (Shape{8, 16}));
  EXPECT_EQ(x.dtype(), mw::float32);
  EXPECT_EQ(x.sharding(), NamedSharding(line(n), P("x")));
  EXPECT_TRUE(x.committed());
  EXPECT_EQ(wrong_numbers<float>(y), 0);
}

// A deleted array failed somewhere inside, in words about something else.
TEST(UserCases, U083_FreedIsGoneWithAWord) {
  const NamedSharding rows(line(mw::devices().size()), P("x"));
  const auto a = mw::device_put(mw::ones({4}), rows), b = mw::device_put(numbered({4}, mw::float32), rows);
  auto c = a + b;
  const auto twin = c;
  c.free();
  const std::vector<std::pair<std::string, std::function<void()>>> uses{
      {"add", [&] { c + b; }}, {"add", [&] { b + twin; }}, {"sum", [&] { mw::sum(c); }}, {"device_get", [&] { mw::device_get(c); }}, {"reshard", [&] { mw::reshard(c, P()); }}};
  for (const auto& [operation, use] : uses) {
    const auto text = refused_quietly<mw::DonatedError>(use);
    EXPECT_TRUE(text.starts_with(operation + ": ")) << text;
    EXPECT_HAS(text, "float32[4@x], which was freed; its value is gone");
  }
  EXPECT_EQ(values(a + b), (Floats{1, 2, 3, 4}));
}

// Looking at a large array gathered it.
TEST(UserCases, U143_PrintingALargeArraySaysWhereItIs) {
  const auto n = mw::devices().size();
  const auto back = make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const auto x = mw::device_put(mw::zeros({100000, 1000}), NamedSharding(back, P("x")));
  mw::block_until_ready(x);
  static_cast<void>(mw::to_string(x));
  const Quiet quiet;
  [[maybe_unused]] const auto before = support::resident_bytes();
  const auto start = std::chrono::steady_clock::now();
  const auto text = mw::to_string(x);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
#ifndef MESHWISE_SANITIZED
  EXPECT_LT(support::resident_bytes() - before, 1 << 20);
#endif
  EXPECT_EQ(quiet.heard(), "");
  std::string ids;
  for (auto id = n; id-- > 0;) ids += std::to_string(id) + (id > 0 ? ", " : "");
  EXPECT_EQ(text, fmt::format("Array(shape=(100000, 1000), dtype=float32, sharding=NamedSharding(mesh=Mesh('x': {}, axis_types=(Auto,)), spec=P('x',)), devices=[{}])", n, ids));
}

}  // namespace
