// Groups read as trees, and trees written as groups.
// ranks: 1 2 3 4 8
// devices_per_rank: 8 4@2
// variant: private ranks=4 MESHWISE_STORE=private
// links: hdf5 mpi
#include <sys/resource.h>

#include <csignal>
#include <meshwise/base/error.hpp>
#include <meshwise/io/hdf5_tree.hpp>

#include "support/hdf5_files.hpp"

namespace {

using namespace hdf5_files;
using mw::Tree;
using mw::io::read;
using mw::io::read_tree;
using mw::io::write_tree;

void make_model(const std::string& file) {
  Maker make(file);
  make.add("/model/layers/first/w", {8, 6}, Dtype::float32, H5T_IEEE_F32LE);
  make.add("/model/layers/first/b", {6}, Dtype::float32, H5T_IEEE_F32BE, Shape{4});
  make.add("/model/layers/second/w", {6, 3}, Dtype::float64, H5T_IEEE_F64LE);
  make.add("/model/step", {}, Dtype::int64, H5T_STD_I64LE);
  make.add("/model/none", {0, 3}, Dtype::int8, H5T_STD_I8LE);
  make.add("/other", {3}, Dtype::int32, H5T_STD_I32LE);
}

void add_unreadable(const std::string& file) {
  const auto open = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const auto text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 5);
  const auto space = H5Screate(H5S_SCALAR);
  H5Dclose(H5Dcreate2(open, "/model/name", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_soft("/nowhere", open, "/model/layers/lost", H5P_DEFAULT, H5P_DEFAULT);
  H5Tcommit2(open, "/model/type", text, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Tclose(text);
  H5Sclose(space);
  H5Fclose(open);
}

TEST(Hdf5Tree, AGroupOfAPlainFile) {
  const Folder folder;
  const auto file = folder / "model.h5";
  on_first([&] { make_model(file); });
  const auto rows = line(P("x")), copies = line(P());
  const mw::ShardingTree targets{{"layers", rows}, {"step", copies}, {"none", {}}};
  for (const auto* group : {"/model", "model/"}) {
    const auto tree = read_tree(file, group, targets);
    EXPECT_EQ(tree.size(), 3u);
    expect_test_values(tree["layers"]["first"]["w"], {8, 6}, Dtype::float32, rows);
    expect_test_values(tree["layers"]["first"]["b"], {6}, Dtype::float32, rows);
    expect_test_values(tree["layers"]["second"]["w"], {6, 3}, Dtype::float64, rows);
    expect_test_values(tree["step"], {}, Dtype::int64, copies);
    EXPECT_FALSE(tree["none"].committed());
    EXPECT_EQ(tree["none"].shape(), (Shape{0, 3}));
  }
  const auto whole = read_tree(file);
  EXPECT_EQ(whole.size(), 2u);
  EXPECT_EQ(wrong_values<double>(whole["model"]["layers"]["second"]["w"].local_value(), {6, 3}, Index::whole({6, 3})), 0);
  const auto last = mw::devices()[mw::devices().size() - 1];
  expect_test_values(read_tree(file, "/other", last).leaf(), {3}, Dtype::int32, mw::SingleDeviceSharding(last));
}

TEST(Hdf5Tree, SomeOfAGroup) {
  const Folder folder;
  const auto file = folder / "model.h5";
  on_first([&] {
    make_model(file);
    add_unreadable(file);
  });
  const auto rows = line(P("x"));
  const auto tree = read_tree(file, "/", rows, {.only = {"other", "model/layers/first", "/model/layers/second/w"}});
  ASSERT_EQ(mw::tree_leaves(tree).size(), 4u);
  expect_test_values(tree["other"], {3}, Dtype::int32, rows);
  expect_test_values(tree["model"]["layers"]["first"]["b"], {6}, Dtype::float32, rows);
  expect_test_values(tree["model"]["layers"]["second"]["w"], {6, 3}, Dtype::float64, rows);
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_tree(file, "/model", rows, {.only = {"layers/third"}}); }),
             fmt::format("io::read_tree('{}', '/model'): rank 0: there is no /model/layers/third; the file holds ", file));
}

TEST(Hdf5Tree, WhatCannotBeArrays) {
  const Folder folder;
  const auto file = folder / "model.h5";
  on_first([&] {
    make_model(file);
    add_unreadable(file);
  });
  const auto words = error_everywhere<mw::CheckpointError>([&] { read_tree(file, "/model", line(P())); });
  EXPECT_HAS(words, "rank 0: /model/layers/lost (a link to nothing), /model/name string[5][] cannot be arrays");
  EXPECT_HAS(words, "skip_unreadable");
  const auto tree = read_tree(file, "/model", line(P()), {.skip_unreadable = true});
  EXPECT_EQ(mw::tree_leaves(tree).size(), 5u);
  EXPECT_EQ(tree.entries().count("name") + tree.entries().count("type"), 0u);
  on_first([&] {
    const auto open = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Lcreate_hard(open, "/model", open, "/model/layers/again", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(open);
  });
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_tree(file, "/", {}, {.skip_unreadable = true}); }),
             "/model/layers/again is a group that is inside itself");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_tree(file, "/mode", {}); }), "there is no /mode; the file holds");
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_tree(folder / "none.h5"); }), "No such file");
}

// A template that was larger, or smaller, than what was stored filled a part and said nothing.
TEST(Hdf5Tree, U134TargetsForOtherKeys) {
  const Folder folder;
  const auto file = folder / "model.h5";
  write_tree(file, "/", Tree{{"w", test_array({10}, Dtype::float32, line(P("x")))}, {"b", test_array({2}, Dtype::float32, line(P()))}});
  const mw::ShardingTree more{{"w", line(P())}, {"b", line(P())}, {"c", line(P())}}, fewer{{"w", line(P())}};
  EXPECT_HAS(error_everywhere<mw::PlacementError>([&] { read_tree(file, "/", more); }),
             "at ['c'] the targets have one target, the data has no such key");
  EXPECT_HAS(error_everywhere<mw::PlacementError>([&] { read_tree(file, "/", fewer); }), "at ['b'] the data has the leaf float32[2]");
  expect_test_values(read_tree(file, "/", fewer, {.only = {"w"}})["w"], {10}, Dtype::float32, line(P()));
  EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { read_tree(file, "/", line(P(nullptr, "x"))); }),
             "'/b': the dataset is float32[2], so a spec has at most 1 entries");
  if (mw::process_count() == 1) return;
  const auto words = error_everywhere<mw::MismatchError>([&] { read_tree(file, "/", line(mw::process_index() == 1 ? P("x") : P())); });
  EXPECT_HAS(words, "rank 1: io::read_tree(");
}

Tree model() {
  const auto x = [](const Shape& shape, Dtype dtype, const PartitionSpec& spec) { return test_array(shape, dtype, line(spec)); };
  return Tree{{"layers", Tree::list({Tree{{"w", x({13, 6}, Dtype::float32, P("x"))}, {"b", x({6}, Dtype::bfloat16, P())}},
                                     Tree{{"w", x({2000, 8}, Dtype::float64, P(nullptr, "x"))}}})},
              {"pair", Tree::tuple({x({3}, Dtype::int64, P("x")), x({}, Dtype::bool_, P())})},
              {"eleven", Tree::list(std::vector<Tree>(11, x({2, 2}, Dtype::complex64, P("x"))))},
              {"nothing", Tree()},
              {"no entries", Tree(Tree::Entries{})},
              {"no elements", x({0, 4}, Dtype::int16, P("x"))},
              {"uncommitted", mw::arange(7)}};
}

TEST(Hdf5Tree, WhatIsWrittenComesBackAsItWas) {
  const Folder folder;
  const auto file = folder / "model.h5";
  const auto tree = model();
  write_tree(file, "/", tree);
  on_first([&] {
    expect_dataset(file, "/layers/0/w", {13, 6}, Dtype::float32);
    expect_dataset(file, "/layers/0/b", {6}, Dtype::bfloat16);
    expect_dataset(file, "/layers/1/w", {2000, 8}, Dtype::float64);
    expect_dataset(file, "/eleven/10", {2, 2}, Dtype::complex64);
  });
  write_tree(file, "/runs/second", tree, {.append = true});
  write_tree(file, "/runs/leaf", test_array({5}, Dtype::int8, line(P("x"))), {.append = true});
  for (const auto* group : {"/runs/second", "/"}) {
    const auto only = std::string(group) == "/"
                          ? std::vector<std::string>{"layers", "pair", "eleven", "nothing", "no entries", "no elements", "uncommitted"}
                          : std::vector<std::string>{};
    const auto back = read_tree(file, group, {}, {.only = only});
    EXPECT_EQ(mw::to_string(back),
              mw::to_string(mw::tree_map([](const mw::Array& x) { return mw::asarray(mw::LocalArray(x.shape(), x.dtype())); }, tree)));
    EXPECT_EQ(wrong_values<double>(back["layers"][1]["w"].local_value(), {2000, 8}, Index::whole({2000, 8})), 0);
    EXPECT_EQ(wrong_values<std::complex<float>>(back["eleven"][10].local_value(), {2, 2}, Index::whole({2, 2})), 0);
    EXPECT_EQ(back["uncommitted"].view<std::int32_t>()[6], 6);
  }
  expect_test_values(read_tree(file, "runs/leaf", line(P())).leaf(), {5}, Dtype::int8, line(P()));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.h5"});
}

TEST(Hdf5Tree, ListsThatOthersChangedAreDicts) {
  const Folder folder;
  const auto file = folder / "list.h5";
  const auto x = test_array({2}, Dtype::int32, line(P()));
  write_tree(file, "/list", Tree::list({x, x, x}));
  on_first([&] {
    const auto open = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(open, "/list/1", H5P_DEFAULT);
    H5Fclose(open);
  });
  EXPECT_EQ(mw::to_string(read_tree(file, "/list")), "{'0': int32[2], '2': int32[2]}");
}

// A state saved by some devices is any others' to load, with no key that knows how many they were.
TEST(Hdf5Tree, U139SavedOnTwoLoadedOnFourAndOne) {
  const auto n = mw::devices().size();
  if (n < 4) GTEST_SKIP() << "needs four devices";
  const Folder folder;
  const auto file = folder / "state.h5";
  const auto on = [](std::int64_t count) {
    return mw::NamedSharding(mw::make_mesh({count}, {"x"}, {.devices = mw::devices().first(count)}), P("x"));
  };
  write_tree(file, "/state",
             Tree{{"w", test_array({6, 4}, Dtype::float32, on(2))}, {"moments", Tree::list({test_array({7}, Dtype::float64, on(2))})}});
  for (const std::int64_t count : {4, 1, 3}) {
    const auto tree = read_tree(file, "/state", on(count));
    expect_test_values(tree["w"], {6, 4}, Dtype::float32, on(count));
    expect_test_values(tree["moments"][0], {7}, Dtype::float64, on(count));
  }
}

TEST(Hdf5Tree, TreesThatCannotBeWritten) {
  const Folder folder;
  const auto file = folder / "f.h5";
  const auto x = test_array({9}, Dtype::int32, line(P("x")));
  write_tree(file, "/g", Tree{{"x", x}});
  const auto refuse = [&](const std::string& group, const Tree& tree, const std::string& words) {
    EXPECT_HAS(error_everywhere<mw::CheckpointError>([&] { write_tree(file, group, tree, {.append = true}); }), words);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"f.h5"});
    EXPECT_EQ(mw::to_string(read_tree(file)), "{'g': {'x': int32[9]}}");
  };
  for (const auto* key : {"a/b", "", "."})
    refuse("/h", Tree{{"t", Tree{{key, x}}}}, fmt::format("the key '{}' can name nothing in a group", key));
  refuse("/g", Tree{{"y", x}}, "there is something of that name already");
  refuse("/", Tree{{"y", x}}, "there is something of that name already");
  refuse("/", x, "a dataset needs a name");
  refuse("/g/x/y", Tree{{"y", x}}, "/g/x is no group");
  auto gone = test_array({9}, Dtype::int32, line(P("x")));
  gone.free();
  EXPECT_HAS(error_everywhere<mw::DonatedError>([&] { write_tree(file, "/h", Tree{{"t", gone}}, {.append = true}); }), "/t");
  if (mw::process_count() == 1) return;
  const Tree other{{mw::process_index() == 1 ? "b" : "a", x}};
  EXPECT_HAS(error_everywhere<mw::MismatchError>([&] { write_tree(file, "/h", other, {.append = true}); }), "rank 1: io::write_tree(");
}

// A full disk, by a limit on the size of files: nothing is left, and the next write works.
TEST(Hdf5Tree, NoRoomOnOneRank) {
  const Folder folder;
  const auto file = folder / "f.h5";
  const auto n = mw::devices().size();
  write_tree(file, "/g", Tree{{"x", test_array({9}, Dtype::int32, line(P("x")))}});
  const Tree big{{"a", test_array({2}, Dtype::int8, line(P()))},
                 {"b", test_array({64 * n, 1024}, Dtype::float32, line(P("x")))},
                 {"c", test_array({2000, 8}, Dtype::float64, line(P(nullptr, "x")))}};
  std::signal(SIGXFSZ, SIG_IGN);
  for (const bool append : {false, true})
    for (const auto on : {std::int64_t{0}, mw::process_count() - 1}) {
      rlimit before{};
      getrlimit(RLIMIT_FSIZE, &before);
      rlimit limit = before;
      limit.rlim_cur = 100000;
      if (on == mw::process_index()) setrlimit(RLIMIT_FSIZE, &limit);
      EXPECT_HAS(
          error_everywhere<mw::CheckpointError>([&] { write_tree(append ? file : folder / "new.h5", "/big", big, {.append = append}); }),
          "File too large");
      setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_EQ(folder.names(), std::vector<std::string>{"f.h5"});
      EXPECT_EQ(mw::to_string(read_tree(file)), "{'g': {'x': int32[9]}}");
    }
  write_tree(file, "/big", big, {.append = true});
  expect_test_values(read(file, "/big/b", line(P("x"))), {64 * n, 1024}, Dtype::float32, line(P("x")));
}

}  // namespace
