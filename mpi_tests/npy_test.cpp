// NumPy's .npy files, by byte images made here; npy_numpy_test has NumPy's own.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <meshwise/array/device_put.hpp>
#include <meshwise/base/error.hpp>
#include <meshwise/io/npy.hpp>

#include "support/hdf5_files.hpp"

namespace {
int reads = 0;
}

// The executable's definition comes before libc's.
extern "C" ssize_t pread(int descriptor, void* bytes, size_t count, off_t at) {
  ++reads;
  return syscall(SYS_pread64, descriptor, bytes, count, at);
}

namespace {

using namespace hdf5_files;
using mw::io::read_npy;
using mw::io::write_npy;

struct Code {
  Dtype dtype;
  const char* code;
};
const std::vector<Code> codes{{Dtype::bool_, "b1"},     {Dtype::int8, "i1"},       {Dtype::int16, "i2"},   {Dtype::int32, "i4"},
                              {Dtype::int64, "i8"},     {Dtype::uint8, "u1"},      {Dtype::uint16, "u2"},  {Dtype::uint32, "u4"},
                              {Dtype::uint64, "u8"},    {Dtype::float16, "f2"},    {Dtype::float32, "f4"}, {Dtype::float64, "f8"},
                              {Dtype::complex64, "c8"}, {Dtype::complex128, "c16"}};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}
void put_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A head by hand: magic, version, length, dict.
std::string head(int version, const std::string& dict) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return text + dict;
}

// The test array's bytes in the file's order.
std::string body(const Shape& shape, Dtype dtype, bool fortran, bool swapped) {
  const auto row_major = test_bytes(shape, dtype);
  const auto item = mw::itemsize(dtype), part = item / (mw::is_complex(dtype) ? 2 : 1);
  std::string out(row_major.size(), '\0');
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    std::int64_t at = i;
    if (fortran) {  // i's coordinates, the first one fastest
      std::int64_t rest = i;
      std::vector<std::int64_t> index(static_cast<std::size_t>(shape.ndim()));
      for (auto d = shape.ndim(); d-- > 0;) {
        index[static_cast<std::size_t>(d)] = rest % shape[d];
        rest /= shape[d];
      }
      at = 0;
      for (auto d = shape.ndim(); d-- > 0;) at = at * shape[d] + index[static_cast<std::size_t>(d)];
    }
    auto* p = out.data() + static_cast<std::size_t>(at) * item;
    std::memcpy(p, row_major.data() + static_cast<std::size_t>(i) * item, item);
    for (std::size_t k = 0; swapped && k < item; k += part) std::reverse(p + k, p + k + part);
  }
  return out;
}

std::string image(int version, const Shape& shape, const Code& code, bool fortran, bool swapped) {
  const auto dict = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': {}, }}\n",
                                swapped               ? ">"
                                : code.code[1] == '1' ? "|"
                                                      : "<",
                                code.code, fortran ? "True" : "False", mw::to_string(shape));
  return head(version, dict) + body(shape, code.dtype, fortran, swapped);
}

TEST(Npy, EveryDtypeOrderAndVersion) {
  const Folder folder;
  const Shape shape{13, 5, 3};
  int k = 0;
  for (const auto& code : codes)
    for (const bool fortran : {false, true})
      for (const bool swapped : {false, true}) {
        const auto file = folder / fmt::format("{}.npy", k);
        on_first([&] { put_bytes(file, image(1 + k % 3, shape, code, fortran, swapped)); });
        const auto all = layouts(3);
        for (std::size_t i = 0; i < 3; ++i) {
          const auto& sharding = all[(static_cast<std::size_t>(k) * 3 + i) % all.size()];
          expect_test_values(read_npy(file, sharding), shape, code.dtype, sharding);
        }
        ++k;
      }
}

TEST(Npy, EveryLayoutOfEveryShapeThereAndBack) {
  const Folder folder;
  const auto theirs = folder / "theirs.npy", ours = folder / "ours.npy";
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{3}, Shape{17}, Shape{0, 4}, Shape{5, 0}, Shape{12, 8}, Shape{13, 11},
                             Shape{2, 3, 5}, Shape{4, 1, 2, 3}}) {
    on_first([&] { put_bytes(theirs, image(1, shape, {Dtype::int16, "i2"}, true, true)); });
    for (const auto& sharding : layouts(shape.ndim())) {
      expect_test_values(read_npy(theirs, sharding), shape, Dtype::int16, sharding);
      write_npy(ours, test_array(shape, Dtype::int16, sharding));
      on_first([&] { EXPECT_EQ(bytes_of(ours).substr(128), body(shape, Dtype::int16, false, false)); });
      expect_test_values(read_npy(ours, sharding), shape, Dtype::int16, sharding);
    }
    mw::barrier();
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"ours.npy", "theirs.npy"}));
}

TEST(Npy, TheBytesThatNumpySaves) {
  const Folder folder;
  const auto file = folder / "x.npy";
  write_npy(file, test_array({3, 4}, Dtype::float32, line(P("x"))));
  // numpy.save of a float32 array of shape (3, 4), byte for byte.
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  on_first([&] {
    EXPECT_EQ(bytes_of(file), "\x93NUMPY\x01" + std::string("\0v\0", 3) + dict + std::string(117 - dict.size(), ' ') + "\n" +
                                  body({3, 4}, Dtype::float32, false, false));
  });
}

TEST(Npy, BoxesAndSteps) {
  const Folder folder;
  const auto file = folder / "x.npy";
  const Shape shape{300, 40};
  for (const bool fortran : {false, true}) {
    on_first([&] { put_bytes(file, image(2, shape, {Dtype::int32, "i4"}, fortran, false)); });
    for (const auto& sharding : layouts(2)) {
      const auto x = read_npy(file, sharding, {.box = {{10, 290}, {3, 40}}, .steps = {7, 5}});
      ASSERT_EQ(x.shape(), (Shape{40, 8}));
      for (const auto& shard : x.addressable_shards()) {
        const auto view = shard.data().view<std::int32_t>();
        int wrong = 0;
        for (std::int64_t k = 0; k < view.size(); ++k) {
          const auto i = linear_index({40, 8}, shard.index(), k);
          wrong += view[k] != make_value<std::int32_t>((10 + i / 8 * 7) * 40 + 3 + i % 8 * 5);
        }
        EXPECT_EQ(wrong, 0);
      }
    }
    EXPECT_HAS(error_everywhere<mw::IndexError>([&] {
                 read_npy(file, {.box = {{0, 301}, {0, 40}}});
               }),
               "axis 0 has [0:301] of 300; stored is int32[300,40]");
    mw::barrier();
  }
}

// More than the buffer, a column of it, and rows too far apart to be read with what lies between.
TEST(Npy, LargerThanTheBuffer) {
  const Folder folder;
  const auto wide = folder / "wide.npy", tall = folder / "tall.npy";
  on_first([&] {
    put_bytes(wide, image(1, {5, 300001}, {Dtype::float32, "f4"}, false, true));
    put_bytes(tall, image(1, {300001, 5}, {Dtype::float32, "f4"}, true, false));
  });
  const auto expect_read = [&](const std::string& file, const Shape& shape, const PartitionSpec& spec) {
    reads = 0;
    const auto x = read_npy(file, line(spec));
    EXPECT_LT(reads, 60) << file;  // large stretches, in either order of axes
    expect_test_values(x, shape, Dtype::float32, line(spec));
  };
  for (const auto& spec : {P("x"), P(nullptr, "x")}) {
    expect_read(wide, {5, 300001}, spec);
    expect_read(tall, {300001, 5}, spec);
  }
  const auto column = read_npy(wide, {.box = {{0, 5}, {150000, 150001}}});
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(column.view<float>()[i], make_value<float>(i * 300001 + 150000));
  write_npy(tall, test_array({2000, 8}, Dtype::float64, line(P(nullptr, "x"))));
  on_first([&] { EXPECT_EQ(bytes_of(tall).substr(128), body({2000, 8}, Dtype::float64, false, false)); });
}

TEST(Npy, HeadsAsOldAndOtherProgramsWriteThem) {
  const Folder folder;
  const auto file = folder / "x.npy";
  const auto values = body({3, 2}, Dtype::int32, false, false);
  for (const std::string dict :
       {"{'shape': (3L, 2L), 'fortran_order': False, 'descr': '<i4'}", "{\"descr\":\"=i4\",\"fortran_order\":False,\"shape\":(3,2)}",
        "  { 'descr' : '<i4' ,\n'fortran_order' : False, 'shape' : ( 3 , 2 , ) , }  "}) {
    on_first([&] { put_bytes(file, head(1, dict) + values + "and more"); });
    expect_test_values(read_npy(file, line(P("x"))), {3, 2}, Dtype::int32, line(P("x")));
    EXPECT_EQ(wrong_values<std::int32_t>(read_npy(file).local_value(), {3, 2}, Index::whole({3, 2})), 0);
    mw::barrier();
  }
  on_first([&] { put_bytes(file, head(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}") + std::string("\0\2\1", 3)); });
  const auto truths = read_npy(file);  // a byte that is neither 0 nor 1 is true
  for (const int i : {0, 1, 2}) EXPECT_EQ(reinterpret_cast<const char*>(truths.view<bool>().data())[i], i > 0);
}

TEST(Npy, WhatCannotBeRead) {
  const Folder folder;
  const auto file = folder / "bad.npy", good = folder / "good.npy";
  write_npy(good, test_array({9}, Dtype::int32, line(P("x"))));
  const auto refuse = [&](const std::string& path, const std::string& words) {
    const auto text = error_everywhere<mw::CheckpointError>([&] { read_npy(path, line(P("x"))); });
    EXPECT_EQ(error_everywhere<mw::CheckpointError>([&] { read_npy(path); }), text);
    EXPECT_HAS(text, fmt::format("io::read_npy('{}'): rank 0: ", path));
    EXPECT_HAS(text, words);
    expect_test_values(read_npy(good, line(P("x"))), {9}, Dtype::int32, line(P("x")));
  };
  const auto bad = [&](const std::string& bytes, const std::string& words) {
    on_first([&] { put_bytes(file, bytes); });
    refuse(file, words);
    mw::barrier();
  };
  const auto dict = [](const std::string& descr, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}";
  };
  refuse(folder / "none.npy", "No such file or directory");
  refuse(folder.path(), "is a directory");
  refuse("/dev/null", "is not a regular file");
  bad("", "it is not a .npy file");
  bad("words, not numbers", "it is not a .npy file");
  bad("PK\x03\x04 and so on", "it is a .npz archive");
  bad("\x93NUMPY\x01", "it ends in its head");
  bad(head(1, dict("'<i4'", "(3,)")).substr(0, 40), "it ends in its head");
  bad(head(4, dict("'<i4'", "(3,)")), "its format is 4.0");
  bad(head(2, "").substr(0, 8) + "\xff\xff\xff\xff", "its head claims 4294967295 bytes");
  bad(head(1, dict("'<i4'", "(3,)")) + "12345678901", "it is cut short: int32[3] is more than the 11 bytes after its head");
  bad(head(1, dict("'<i4'", "(4611686018427387904, 4)")) + "1234", "more than 2^63");
  bad(head(1, dict("'<i8'", "(2305843009213693951,)")) + "1234", "it is cut short");
  bad(head(1, dict("'|O'", "(3,)")) + "pickled", "it holds Python objects (allow_pickle)");
  bad(head(1, dict("[('a', '<f4'), ('b', '<i2')]", "(3,)")), "it holds records");
  for (const auto* descr : {"<U5", "|S3", "<M8[ns]", "<f16", "<c32", "<i3", "f4", "", "<"})
    bad(head(1, dict(fmt::format("'{}'", descr), "(3,)")), fmt::format("its dtype is '{}'", descr));
  bad(head(1, dict("'<i4'", "(3, -1)")), "where a length belongs");
  bad(head(1, dict("'<i4'", "(99999999999999999999,)")), "where a length belongs");
  bad(head(1, dict("'<i4'", "3")), "where a '(' belongs");
  bad(head(1, dict("'<i4", "(3,)")), "where a '");
  bad(head(1, "{'descr': '<i4', 'fortran_order': 0, 'shape': (3,)}"), "neither True nor False");
  bad(head(1, "{'descr': '<i4', 'shape': (3,)}"), "lacks descr, fortran_order or shape");
  bad(head(1, "{'descr': '<i4', 'colour': (3,)}"), "has a key 'colour'");
  bad(head(1, "{'descr'"), "where a ':' belongs");
  bad(head(1, ""), "where a '{' belongs");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_npy(good, line(P(nullptr, "x"))); }), "so a spec has at most 1 entries");
}

TEST(Npy, OneRankCannotReadTheFile) {
  if (mw::process_count() == 1) GTEST_SKIP() << "needs two ranks";
  const Folder folder;
  const auto last = mw::process_count() - 1;
  const auto before = std::filesystem::current_path();
  on_first([&] { std::filesystem::create_directory(folder / "elsewhere"); });
  write_npy(folder / "x.npy", test_array({9}, Dtype::int32, line(P("x"))));
  std::filesystem::current_path(mw::process_index() == last ? folder / "elsewhere" : folder.path());
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([] { read_npy("x.npy"); }),
             fmt::format("rank {}: cannot open 'x.npy': No such file or directory (the current folder is {})", last, folder / "elsewhere"));
  if (mw::process_index() == last) put_bytes("x.npy", image(1, {8}, {Dtype::int32, "i4"}, false, false));
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([] { read_npy("x.npy"); }), "here it is int32[8], for rank 0 it is int32[9]");
  std::filesystem::current_path(before);
  EXPECT_HAS(error_everywhere<mw::MismatchError>([&] { read_npy(folder / fmt::format("{}.npy", mw::process_index() == 1 ? "y" : "x")); }),
             "rank 1: io::read_npy(");
}

TEST(Npy, WhatCannotBeWritten) {
  const Folder folder;
  const auto file = folder / "x.npy";
  const auto x = test_array({9}, Dtype::int32, line(P("x")));
  write_npy(file, x);
  on_first([&] { ::chmod(file.c_str(), 0640); });
  const auto unchanged = [&] {
    EXPECT_EQ(folder.names(), std::vector<std::string>{"x.npy"});
    expect_test_values(read_npy(file, line(P())), {9}, Dtype::int32, line(P()));
    mw::barrier();
  };
  EXPECT_HAS(error_everywhere<mw::DtypeError>([&] { write_npy(file, test_array({9}, Dtype::bfloat16, line(P("x")))); }),
             "NumPy has no bfloat16; x.astype(float32)");
  unchanged();
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { write_npy(folder / "no/x.npy", x); }), "No such file or directory");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { write_npy(folder.path(), x); }), "it is a directory");
  unchanged();
  std::signal(SIGXFSZ, SIG_IGN);
  const auto n = mw::devices().size();
  const auto big = test_array({64 * n, 1024}, Dtype::float32, line(P("x")));
  for (const auto on : {std::int64_t{0}, mw::process_count() - 1}) {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const auto usual = limit.rlim_cur;
    limit.rlim_cur = 100000;
    if (on == mw::process_index()) setrlimit(RLIMIT_FSIZE, &limit);
    const auto words = error_everywhere<mw::CheckpointError>([&] { write_npy(file, big); });
    limit.rlim_cur = usual;
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_HAS(words, fmt::format("rank {}: ", on));
    EXPECT_HAS(words, "File too large");
    unchanged();
  }
  auto gone = test_array({9}, Dtype::int32, line(P("x")));
  gone.free();
  error_everywhere<mw::DonatedError>([&] { write_npy(file, gone); });
  unchanged();
  write_npy(file, big);
  expect_test_values(read_npy(file, line(P("x"))), {64 * n, 1024}, Dtype::float32, line(P("x")));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  write_npy(file, mw::arange(100000));
  EXPECT_EQ(read_npy(file).view<std::int32_t>()[99999], 99999);
}

}  // namespace
