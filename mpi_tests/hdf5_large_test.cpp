// Datasets with more than 2^31 bytes on one rank (user cases U-127 and U-142), where 32-bit counts end.
// ranks: 1 2
// timeout: 900
// links: hdf5 mpi
// heavy
#include <meshwise/io/hdf5.hpp>

#include <filesystem>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;

void fill(std::uint8_t* out, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>((first + i) % 251);
}

TEST(Hdf5Large, U127AndU142JustBelowAndAboveTwoGibibytes) {
  const Folder folder;
  const auto file = folder / "large.h5";
  const auto n = mw::devices().size();
  const mw::NamedSharding rows(mw::make_mesh({n}, {"x"}), P("x"));
  const std::vector<std::int64_t> widths =
      n == 1 ? std::vector<std::int64_t>{2147483640, 2147483649} : std::vector<std::int64_t>{2147483649};
  for (const auto width : widths) {
    {
      const auto x = mw::make_array_from_callback({n, width}, mw::uint8, rows, [&](const Index& box, mw::LocalArray& out) {
        fill(out.mutable_view<std::uint8_t>().data(), box[0].start * width, box.num_elements());
      });
      mw::io::write(file, "/x", x);
    }
    EXPECT_GT(std::filesystem::file_size(file), static_cast<std::uintmax_t>(n * width));
    const auto y = mw::io::read(file, "/x", rows);
    std::vector<std::uint8_t> expected(1 << 20);
    for (const auto& shard : y.addressable_shards()) {
      ASSERT_TRUE(shard.data().is_contiguous());
      const auto* data = shard.data().view<std::uint8_t>().data();
      int wrong = 0;
      for (std::int64_t at = 0; at < width; at += std::ssize(expected)) {
        const auto count = std::min<std::int64_t>(std::ssize(expected), width - at);
        fill(expected.data(), shard.index()[0].start * width + at, count);
        wrong += std::memcmp(data + at, expected.data(), static_cast<std::size_t>(count)) != 0;
      }
      EXPECT_EQ(wrong, 0);
    }
    mw::barrier();
  }
}

}  // namespace
