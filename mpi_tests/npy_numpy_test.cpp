// NumPy's own .npy files read, and ours, byte for byte what numpy.save writes.
// ranks: 1 3 4
// devices_per_rank: 8
// links: hdf5 mpi
#include <meshwise/base/error.hpp>
#include <meshwise/io/npy.hpp>

#include "support/foreign_files.hpp"

namespace {

using namespace hdf5_files;
using mw::io::read_npy;

constexpr char kind[] = "npy";
using NpyNumpy = support::ForeignFiles<kind>;

const Shape shape{13, 6};

TEST_F(NpyNumpy, WhatNumpySavesWeRead) {
  for (const auto dtype : numpy_dtypes)
    for (const auto* order : {"c", "f", "big"})
      for (const auto& spec : {P("x"), P(nullptr, "x")})
        expect_test_values(read_npy(in_folder(fmt::format("{}-{}.npy", order, mw::name(dtype))), line(spec)), shape, dtype, line(spec));
  expect_test_values(read_npy(in_folder("scalar.npy"), line(P())), {}, Dtype::float64, line(P()));
  expect_test_values(read_npy(in_folder("empty.npy"), line(P("x"))), {0, 4}, Dtype::int32, line(P("x")));
  for (const int version : {2, 3})
    expect_test_values(read_npy(in_folder(fmt::format("version{}.npy", version)), line(P("x"))), shape, Dtype::float32, line(P("x")));
}

TEST_F(NpyNumpy, WhatCannotBeRead) {
  const auto refuse = [&](const std::string& name, const std::string& words) {
    EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_npy(in_folder(name), line(P())); }), words);
  };
  refuse("objects.npy", "it holds Python objects (allow_pickle)");
  refuse("records.npy", "it holds records");
  refuse("texts.npy", "its dtype is '<U2'");
  refuse("two.npz", "it is a .npz archive");
}

TEST_F(NpyNumpy, WhatWeWriteIsWhatNumpySaves) {
  const auto write = [](Dtype dtype, const Shape& s) {
    const auto name = fmt::format("ours-{}-{}.npy", mw::name(dtype), fmt::join(s.lengths(), "x"));
    mw::io::write_npy(in_folder(name), test_array(s, dtype, line(s.ndim() > 0 ? P("x") : P())));
  };
  for (const auto dtype : numpy_dtypes) write(dtype, shape);
  for (const auto& s : {Shape{}, Shape{0, 4}, Shape{7}, Shape{50000, 2}, Shape(std::vector<std::int64_t>(20, 1))}) write(Dtype::float32, s);
  EXPECT_EQ(check(), 0);
}

}  // namespace
