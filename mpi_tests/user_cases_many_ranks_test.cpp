// ranks: 31
// timeout: 120
// links: hdf5 mpi
// What users of such systems ran into, restated: an odd number of ranks, far more than cores.
#include <gtest/gtest.h>

#include "support/hdf5_files.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P, mw::Shape;
using support::line, support::numbered, support::wrong_numbers;

namespace {

// A collective write of small odd pieces hung at 31 ranks.
TEST(UserCases, U125_SmallOddPiecesOfThirtyOneRanks) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x"));
  const hdf5_files::Folder folder;
  for (const auto& shape : {Shape{2 * n, 3}, Shape{127}}) {
    const auto x = hdf5_files::test_array(shape, mw::float64, rows);
    mw::io::write(folder / "x.h5", "/x", x);
    hdf5_files::on_first([&] { hdf5_files::expect_dataset(folder / "x.h5", "/x", shape, mw::float64); });
    hdf5_files::expect_test_values(mw::io::read(folder / "x.h5", "/x", rows), shape, mw::float64, rows);
    mw::io::write(folder / "numbers.h5", "/x", mw::device_put(numbered(shape, mw::float64), rows));
    EXPECT_EQ(wrong_numbers<double>(mw::io::read(folder / "numbers.h5", "/x", rows)), 0);
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"numbers.h5", "x.h5"}));
}

}  // namespace
