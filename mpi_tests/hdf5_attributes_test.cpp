// Attributes of files, groups and datasets, as any program stores them and reads them.
// ranks: 1 2 4
// devices_per_rank: 8
// links: hdf5 mpi
#include <sys/resource.h>

#include <csignal>
#include <limits>
#include <meshwise/base/error.hpp>
#include <meshwise/io/hdf5.hpp>
#include <meshwise/io/hdf5_attributes.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::io::Attribute;
using mw::io::Attributes;
using mw::io::read_attributes;
using mw::io::write_attributes;
using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

// An attribute by plain calls; no count: a scalar.
template <class T>
void put(hid_t object, const char* name, hid_t type, const std::vector<T>& values, bool is_scalar = false) {
  const hsize_t count = values.size() * sizeof(T) / H5Tget_size(type);
  const auto space = is_scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr);
  const auto attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (count > 0) {
    EXPECT_GE(H5Awrite(attribute, type, values.data()), 0) << name;
  }
  H5Aclose(attribute);
  H5Sclose(space);
}

hid_t text_type(std::size_t size, H5T_str_t pad, H5T_cset_t set = H5T_CSET_ASCII) {
  const auto type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, size);
  H5Tset_strpad(type, pad);
  H5Tset_cset(type, set);
  return type;
}

TEST(Hdf5Attributes, OfEveryKindThatOthersWrite) {
  const Folder folder;
  const auto file = folder / "theirs.h5";
  on_first([&] {
    Maker make(file);
    make.add("/g/x", {3}, Dtype::int32, H5T_STD_I32LE);
    const auto x = H5Oopen(make.id(), "/g/x", H5P_DEFAULT);
    const auto big16 = [](int v) { return static_cast<std::int16_t>(__builtin_bswap16(static_cast<std::uint16_t>(v))); };
    put<std::int16_t>(x, "big", H5T_STD_I16BE, {big16(-5), big16(300)});
    put<float>(x, "half", H5T_NATIVE_FLOAT, {0.5f}, true);
    put<float>(x, "one", H5T_NATIVE_FLOAT, {0.25f});
    put<std::uint64_t>(x, "huge", H5T_NATIVE_UINT64, {~std::uint64_t{0}}, true);
    put<std::uint64_t>(x, "large", H5T_NATIVE_UINT64, {std::uint64_t{1} << 62}, true);
    put<std::int32_t>(x, "empty", H5T_NATIVE_INT32, {});
    const auto truth = bool_type();
    put<signed char>(x, "true", truth, {1}, true);
    put<signed char>(x, "truths", truth, {1, 0, 1});
    const auto padded = text_type(6, H5T_STR_SPACEPAD), full = text_type(3, H5T_STR_NULLPAD),
               ended = text_type(8, H5T_STR_NULLTERM, H5T_CSET_UTF8), variable = text_type(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8),
               complex = complex_type(H5T_NATIVE_FLOAT);
    put<char>(x, "padded", padded, {'k', ' ', 'm', ' ', ' ', ' '}, true);
    put<char>(x, "full", full, {'a', 'b', 'c', 'd', 0, 0});
    put<char>(x, "ended", ended, {'\xc2', '\xb0', 'C', 0, 'x', 'y', 'z', 'w'}, true);
    put<const char*>(x, "variable", variable, {"a text of any length"}, true);
    put<const char*>(x, "variables", variable, {"", "\xc2\xb5s"});
    put<float>(x, "complex", complex, {1, 2}, true);
    const hsize_t square[] = {2, 2};
    const auto space = H5Screate_simple(2, square, nullptr), nothing = H5Screate(H5S_NULL);
    H5Aclose(H5Acreate2(x, "matrix", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
    H5Aclose(H5Acreate2(x, "without a shape", H5T_NATIVE_INT, nothing, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Sclose(nothing);
    H5Oclose(x);
    const auto root = H5Oopen(make.id(), "/", H5P_DEFAULT);
    put<double>(root, "version", H5T_NATIVE_DOUBLE, {1.5}, true);
    H5Oclose(root);
    for (const auto type : {truth, padded, full, ended, variable, complex}) H5Tclose(type);
  });
  const Attributes expected{{"big", Integers{-5, 300}},
                            {"half", 0.5},
                            {"one", Reals{0.25}},
                            {"huge", {}},
                            {"large", std::int64_t{1} << 62},
                            {"empty", Integers{}},
                            {"true", true},
                            {"truths", Integers{1, 0, 1}},
                            {"padded", std::string("k m")},
                            {"full", Texts{"abc", "d"}},
                            {"ended", std::string("\xc2\xb0"
                                                  "C")},
                            {"variable", std::string("a text of any length")},
                            {"variables", Texts{"", "\xc2\xb5s"}},
                            {"complex", {}},
                            {"matrix", {}},
                            {"without a shape", {}}};
  const auto found = read_attributes(file, "g/x");
  for (const auto& [name, value] : expected) EXPECT_TRUE(found.contains(name) && found.at(name) == value) << name;
  EXPECT_EQ(found.size(), expected.size());
  EXPECT_TRUE(read_attributes(file) == (Attributes{{"version", 1.5}}));
  EXPECT_TRUE(read_attributes(file, "/g").empty());
  // Read, changed, written: what could not be held stays.
  auto changed = found;
  changed["half"] = 0.75;
  write_attributes(file, "/g/x", changed);
  const auto again = read_attributes(file, "/g/x");
  EXPECT_EQ(std::get<double>(again.at("half")), 0.75);
  EXPECT_EQ(again.size(), expected.size());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(again.at("matrix")));
}

const Attributes ours{{"steps", std::int64_t{-7}},
                      {"rate", 1e-3},
                      {"nan", std::numeric_limits<double>::infinity()},
                      {"trained", true},
                      {"units", std::string("\xc2\xb5m, and \"words\"")},
                      {"", std::monostate()},
                      {"shape", Integers{std::numeric_limits<std::int64_t>::min(), 0, 5}},
                      {"weights", Reals{0.5, -0.0}},
                      {"names", Texts{"a", "", "a longer one"}},
                      {"none", Texts{}},
                      {"void", Reals{}}};

TEST(Hdf5Attributes, WhatIsWrittenComesBackAndReplaces) {
  const Folder folder;
  const auto file = folder / "ours.h5";
  const mw::NamedSharding all(mw::make_mesh({mw::devices().size()}, {"x"}), P());
  mw::io::write(file, "/g/x", test_array({3}, Dtype::int32, all));
  auto expected = ours;
  expected.erase("");
  for (const auto* object : {"/", "/g", "/g/x"}) {
    write_attributes(file, object, ours);
    EXPECT_TRUE(read_attributes(file, object) == expected) << object;
  }
  write_attributes(file, "/g", {{"steps", std::string("now a text")}, {"new", std::int64_t{1}}});
  expected["steps"] = std::string("now a text");
  expected["new"] = std::int64_t{1};
  EXPECT_TRUE(read_attributes(file, "/g") == expected);
  expect_test_values(mw::io::read(file, "/g/x", all), {3}, Dtype::int32, all);
  on_first([&] {  // as a plain program reads them
    const auto open = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const auto attribute = H5Aopen_by_name(open, "/g", "units", H5P_DEFAULT, H5P_DEFAULT), type = H5Aget_type(attribute);
    EXPECT_GT(H5Tis_variable_str(type), 0);
    EXPECT_EQ(H5Tget_cset(type), H5T_CSET_UTF8);
    char* text = nullptr;
    EXPECT_GE(H5Aread(attribute, type, &text), 0);
    EXPECT_STREQ(text, "\xc2\xb5m, and \"words\"");
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(attribute);
    std::int64_t shape[3] = {};
    const auto numbers = H5Aopen_by_name(open, "/g/x", "shape", H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Aread(numbers, H5T_NATIVE_INT64, shape), 0);
    EXPECT_EQ(shape[2], 5);
    H5Aclose(numbers);
    H5Fclose(open);
  });
}

TEST(Hdf5Attributes, WhatCannotBe) {
  const Folder folder;
  const auto file = folder / "f.h5";
  on_first([&] { Maker(file).add("/x", {3}, Dtype::int32, H5T_STD_I32LE); });
  const Attributes before{{"units", std::string("m")}, {"steps", std::int64_t{1}}};
  write_attributes(file, "/x", before);
  const auto refuse = [&](const std::string& path, const std::string& object, const Attributes& attributes, const std::string& words) {
    EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { write_attributes(path, object, attributes); }), words);
    EXPECT_TRUE(read_attributes(file, "/x") == before);
  };
  refuse(folder / "none.h5", "/", {{"a", true}}, "No such file or directory");
  refuse(file, "/y", {{"a", true}}, "there is no /y; the file holds /x int32[3]");
  refuse(file, "/x", {{"steps", true}, {"", true}}, "an attribute needs a name");
  refuse(file, "/x", {{"steps", true}, {"z", std::string("a\0b", 3)}}, "cannot hold a zero byte");
  refuse(file, "/x", {{"steps", true}, {"z", Reals(10000)}}, "cannot write the attribute '.meshwise-unfinished-z'");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_attributes(file, "/y"); }),
             fmt::format("io::read_attributes('{}', '/y'): rank 0: there is no /y", file));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const auto usual = limit.rlim_cur;
  limit.rlim_cur = 10000;
  setrlimit(RLIMIT_FSIZE, &limit);
  refuse(file, "/x", {{"steps", true}}, "File too large");
  limit.rlim_cur = usual;
  setrlimit(RLIMIT_FSIZE, &limit);
  mw::barrier();
  if (mw::process_count() > 1) {
    const auto words = error_everywhere<mw::MismatchError>([&] { write_attributes(file, "/x", {{"steps", mw::process_index()}}); });
    EXPECT_HAS(words, "rank 1: io::write_attributes(");
    EXPECT_TRUE(read_attributes(file, "/x") == before);
  }
  write_attributes(file, "/x", {{"steps", std::int64_t{2}}});
  EXPECT_EQ(std::get<std::int64_t>(read_attributes(file, "/x").at("steps")), 2);
}

}  // namespace
