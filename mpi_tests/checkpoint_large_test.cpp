// Arrays beyond 4 GiB, and shards just below and above 2^31 bytes (user cases U-127 and U-142), where 32-bit counts end.
// ranks: 1 2
// timeout: 1800
// links: hdf5 mpi
// heavy
#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::NamedSharding;
using mw::Tree;

void fill(std::uint8_t* out, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>((first + i) % 251);
}

mw::Array made(std::int64_t length, const NamedSharding& sharding) {
  return mw::make_array_from_callback({length}, mw::uint8, sharding, [&](const Index& box, mw::LocalArray& out) {
    fill(out.mutable_view<std::uint8_t>().data(), box[0].start, box.num_elements());
  });
}

std::int64_t wrong_mebibytes(const mw::Array& x) {
  std::vector<std::uint8_t> expected(1 << 20);
  std::int64_t wrong = 0;
  for (const auto& shard : x.addressable_shards()) {
    const auto* data = shard.data().view<std::uint8_t>().data();
    const auto range = shard.index()[0];
    for (auto at = range.start; at < range.stop; at += std::ssize(expected)) {
      const auto count = std::min<std::int64_t>(std::ssize(expected), range.stop - at);
      fill(expected.data(), at, count);
      wrong += std::memcmp(data + (at - range.start), expected.data(), static_cast<std::size_t>(count)) != 0;
    }
  }
  return wrong;
}

TEST(CheckpointLarge, U127AndU142AroundTwoAndBeyondFourGibibytes) {
  const Folder folder;
  const auto n = mw::devices().size();
  const NamedSharding rows(mw::make_mesh({n}, {"x"}), P("x")),
      backwards(mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()}), P("x"));
  mw::io::Checkpointer checkpoints(folder / "run", {.keep = mw::io::keep_last(1)});
  std::int64_t step = 0;
  for (const std::int64_t length : {std::int64_t{2147483640} * n, std::int64_t{2147483649} * n, (std::int64_t{5} << 30) + 7}) {
    const auto report = checkpoints.save(++step, Tree{{"x", made(length, rows)}});
    EXPECT_EQ(report.bytes, length);
    EXPECT_EQ(wrong_mebibytes(checkpoints.load(step, rows)["x"]), 0) << length;
    EXPECT_EQ(wrong_mebibytes(checkpoints.load(step, backwards)["x"]), 0) << length;
  }
}

}  // namespace
