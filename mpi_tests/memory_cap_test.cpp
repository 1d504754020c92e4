// ranks: 1 2 4
// variant: private ranks=4 MESHWISE_STORE=private
// devices_per_rank: 4@2
// env: MESHWISE_MEMORY_LIMIT=40000000
// timeout: 120
// The cap is reached in the middle of a chain: the error is agreed, nothing is lost, and the next call works.
// links: hdf5 mpi
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include <meshwise/io/hdf5.hpp>
#include <meshwise/meshwise.hpp>

#include "support/hdf5_files.hpp"
#include "support/row_major_numbers.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

mw::Array eight_megabytes_a_rank(const mw::Sharding& where) {
  return mw::device_put(mw::full({mw::process_count() * 1000, 1000}, 1, mw::float64), where);
}

TEST(MemoryCap, ReachedInAChainItIsAgreedAndTheNextCallWorks) {
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(nullptr, "x"));
  const auto x = eight_megabytes_a_rank(rows);
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::vector<mw::Array> chain{x};
    const auto words = support::words<mw::OutOfMemoryError>([&] {
      mw::agree([&] {
        for (int k = 0; k < 20; ++k) chain.push_back(mw::device_put(chain.back(), k % 2 == 0 ? columns : rows) + 1.0f);
      });
    });
    for (const auto* part : {"MESHWISE_MEMORY_LIMIT is 40000000", "bytes of blocks are live", "the largest"}) EXPECT_NE(words.find(part), std::string::npos) << words;
    chain.clear();
    const auto total = mw::sum(mw::device_put(x, columns));
    EXPECT_EQ(total.item<double>(), static_cast<double>(x.size()));
    for (const auto& shard : x.addressable_shards()) EXPECT_EQ(shard.data().view<double>()[0], 1.0);
  }
}

TEST(MemoryCap, WhatIsDonatedFitsWhereBothDoNot) {
  if (mw::devices().devices_per_rank() != 1) GTEST_SKIP() << "blocks are too small to move in parts";
#ifdef MESHWISE_SANITIZED
  if (mw::memory_stats().store == "private") GTEST_SKIP() << "under a sanitizer each private block is an allocation of its own";
#endif
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(nullptr, "x"));
  const auto n = mw::process_count();
  auto x = mw::device_put(mw::full({n * 3000, 1000}, 1, mw::float64), rows);  // 24 MB of the 40
  for (int k = 0; k < 4; ++k) x = mw::device_put(x, k % 2 == 0 ? columns : rows, {.donate = true});
  EXPECT_EQ(mw::sum(x).item<double>(), static_cast<double>(n) * 3e6);
  const auto live = mw::memory_stats().live;
  EXPECT_NEAR(static_cast<double>(live), 24e6, 1e6);
  if (n == 1) return;
  EXPECT_THROW(mw::agree([&] { mw::device_put(x, columns); }), mw::OutOfMemoryError);
  EXPECT_EQ(mw::sum(x).item<double>(), static_cast<double>(n) * 3e6);
}

TEST(MemoryCap, WhatFitsNowhereIsRefusedByAllAtTheCall) {
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const auto x = eight_megabytes_a_rank(NamedSharding(mesh, P("x")));
  const auto live = mw::memory_stats().live;
  const auto words = support::words<mw::OutOfMemoryError>([&] { mw::device_put(mw::zeros({6'000'000}, mw::float64), NamedSharding(mesh, P())); });
  EXPECT_NE(words.find("48000000 bytes each"), std::string::npos) << words;
  EXPECT_EQ(mw::memory_stats().live, live);
  EXPECT_EQ(mw::sum(x).item<double>(), static_cast<double>(x.size()));
}

/// The one rank that has no room but `left` bytes and some pages, by a block that no array is made of.
class Ballast {
 public:
  explicit Ballast(std::int64_t left) {
    if (!here()) return;
    mw::trim();
    const auto taken = mw::memory_stats();
    block_ = mw::LocalArray({40'000'000 - std::max(taken.live, taken.physical) - left - 4096}, mw::uint8);
  }
  static std::int64_t rank() { return std::min<std::int64_t>(1, mw::process_count() - 1); }
  static bool here() { return mw::process_index() == rank(); }
  std::int64_t bytes() const { return block_.size(); }

 private:
  mw::LocalArray block_{};
};

/// What OutOfMemoryError says of the ballast's rank, whichever rank throws it.
void expect_refusal(const std::string& words, const std::string& what) {
  const auto who = fmt::format("rank {}: no memory for a block of ", Ballast::rank());
  for (const auto& part : {who.c_str(), "MESHWISE_MEMORY_LIMIT is 40000000 bytes a rank; ", " bytes of blocks are live on this rank; the largest: "})
    EXPECT_NE(words.find(part), std::string::npos) << what << ": " << words;
}

TEST(MemoryCap, ReachedByOneRankAloneAllThrowWhatItHolds) {
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(nullptr, "x"));
  auto x = mw::device_put(support::numbered({mw::process_count() * 1000, 1000}, mw::float64), rows);
  mw::block_until_ready(x);
  mw::barrier();
  const auto live = mw::memory_stats().live;
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      const Ballast ballast(12'000'000);  // the first results have room
      std::vector<mw::Array> chain{x};
      const auto words = support::words<mw::OutOfMemoryError>([&] {
        mw::agree([&] {
          chain.push_back(mw::device_put(std::move(x), columns, {.donate = true}));
          for (int k = 0; k < 5; ++k) chain.push_back(mw::device_put(chain.back(), k % 2 == 0 ? rows : columns) + 1.0);
        });
      });
      expect_refusal(words, "agree");
      EXPECT_NE(words.find(fmt::format("for a block of {} bytes", 8'000'000 / mw::local_devices().size())), std::string::npos) << words;
      if (Ballast::here()) { EXPECT_NE(words.find(fmt::format("the largest: {} bytes", ballast.bytes())), std::string::npos) << words; }
    }
    mw::barrier();
    EXPECT_EQ(mw::memory_stats().live, live);
    EXPECT_EQ(x.sharding(), rows);
    EXPECT_EQ(support::wrong_numbers<double>(x), 0);
    EXPECT_EQ(support::wrong_numbers<double>(mw::device_put(x, columns)), 0);
    mw::barrier();
  }
}

TEST(MemoryCap, ASynchronisingCallShortOfMemoryOnOneRankThrowsOnAll) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(nullptr, "x"));
  const mw::Shape shape{64 * n, 2048};  // 1 MiB a device, more than what may be left of a slab
  const auto fill = [&](const mw::Index& box, mw::LocalArray& out) {
    const auto values = out.mutable_view<double>();
    for (std::int64_t k = 0; k < out.size(); ++k) values[k] = static_cast<double>(box[0].start * shape[1] + k);
  };
  mw::LocalArray part({64 * mw::local_devices().size(), shape[1]}, mw::float64), whole(shape, mw::float64);
  fill({{mw::process_index() * part.shape()[0], (mw::process_index() + 1) * part.shape()[0]}, {0, shape[1]}}, part);
  fill(mw::Index::whole(shape), whole);
  const auto x = mw::device_put(support::numbered(shape, mw::float64), rows);
  const auto narrow = mw::device_put(support::numbered({std::int64_t{1} << 17, n}, mw::float64), columns);
  const hdf5_files::Folder folder;
  const auto file = folder / "x.h5";
  mw::io::write(file, "/x", x);
  std::map<std::string, std::function<mw::Array()>> calls = {
      {"make_array_from_callback", [&] { return mw::make_array_from_callback(shape, mw::float64, rows, fill); }},
      {"make_array_from_process_local_data", [&] { return mw::make_array_from_process_local_data(rows, part); }},
      {"device_put(root_only)", [&] { return mw::device_put(mw::root_only(whole, shape, mw::float64, Ballast::rank()), rows); }},
      {"io::read", [&] { return mw::io::read(file, "/x"); }},
      {"io::read on a sharding", [&] { return mw::io::read(file, "/x", rows); }}};
  if (n > 1)  // narrow columns are written as rows
    calls["io::write"] = [&] {
      mw::io::write(file, "/narrow", narrow, {.append = true});
      return mw::io::read(file, "/narrow", columns);
    };
  for (const auto& [name, call] : calls) {
    mw::quiesce();
    mw::barrier();  // no rank holds what this one has lent for the call before
    {
      const Ballast ballast(1000);
      expect_refusal(support::words<mw::OutOfMemoryError>(call), name);
    }
    EXPECT_EQ(support::wrong_numbers<double>(mw::device_put(call(), columns)), 0) << name;
  }
  for (const auto* untouched : {&x, &narrow}) EXPECT_EQ(support::wrong_numbers<double>(*untouched), 0);
}

}  // namespace
