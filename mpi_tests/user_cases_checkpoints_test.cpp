// ranks: 2 3 4 8
// devices_per_rank: 8 4@2
// variant: many ranks=31
// variant: lockstep ranks=2 MESHWISE_CHECK=lockstep
// links: hdf5 mpi
// What users of such systems ran into, restated: checkpoints. Cases that need more devices than there are are skipped.
#include <gtest/gtest.h>

#include <sys/file.h>

#include "support/hdf5_files.hpp"
#include "support/need_devices.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P, mw::Shape, mw::Tree, mw::make_mesh, mw::io::Checkpointer;
using support::line, support::numbered, support::wrong_numbers;

namespace {

using hdf5_files::error_everywhere, hdf5_files::Folder;

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (part) << " in " << (text)

std::string index_of(const Checkpointer& checkpoints, std::int64_t step) {
  return fmt::format("{}/step_{:08d}/index.h5", checkpoints.folder(), step);
}

// (0,0) arrays divided by zero.
TEST(UserCases, U054_EmptyArraysKeepTheirShapes) {
  NEED_DEVICES(4);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const NamedSharding rows(line(4), P("x")), columns(line(4), P(nullptr, "x"));
  Tree tree{{"a", mw::device_put(mw::zeros({0, 0}), rows)},
            {"b", mw::device_put(mw::zeros({0, 5}), columns)},
            {"c", mw::device_put(mw::zeros({8, 0}), rows)}};
  checkpoints.save(1, tree);
  const auto loaded = checkpoints.load(1, tree);
  EXPECT_EQ(loaded["a"].shape(), (Shape{0, 0}));
  EXPECT_EQ(loaded["b"].shape(), (Shape{0, 5}));
  EXPECT_EQ(loaded["c"].shape(), (Shape{8, 0}));
  EXPECT_EQ(loaded["c"].addressable_shards().size(), tree["c"].addressable_shards().size());
}

// Ranks with nothing to write skipped a collective call: a hang.
TEST(UserCases, U122_RanksWithNothingToWrite) {
  NEED_DEVICES(4);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const NamedSharding all(line(4), P("x")), some(make_mesh({2}, {"x"}, {.devices = {1, 3}}), P("x"));
  const Tree tree{{"empty", mw::device_put(mw::zeros({0, 4}), all)},
                  {"scalar", mw::device_put(mw::asarray(7.5), NamedSharding(line(4), P()))},
                  {"some", mw::device_put(numbered({8}, mw::int32), some)},
                  {"short", mw::device_put(numbered({3}, mw::int32), all)}};
  EXPECT_EQ(checkpoints.save(1, tree).bytes, 4 + 8 * 4 + 3 * 4);
  const auto loaded = checkpoints.load(1, tree);
  EXPECT_EQ(loaded["scalar"].item<float>(), 7.5f);
  EXPECT_EQ(wrong_numbers<std::int32_t>(loaded["some"]) + wrong_numbers<std::int32_t>(loaded["short"]), 0);
  checkpoints.save(2, Tree{});  // nobody has anything
  EXPECT_EQ(checkpoints.load(2).size(), 0u);
}

// Each rank saved under a name of its own; the file held one of them.
TEST(UserCases, U123_NamesThatDependOnTheRank) {
  NEED_DEVICES(2);
  if (mw::process_count() == 1) return;
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const auto text = error_everywhere<mw::MismatchError>([&] {
    checkpoints.save(1, Tree{{fmt::format("w{}", mw::process_index()), mw::arange(3)}});
  });
  EXPECT_SAYS(text, "w0");
  EXPECT_SAYS(text, "w1");
  hdf5_files::on_first([&] { EXPECT_FALSE(std::filesystem::exists(checkpoints.folder())); });
}

// Small odd pieces on 31 ranks: a hang in the I/O layer.
TEST(UserCases, U125_SmallOddPiecesOnThirtyOneDevices) {
  NEED_DEVICES(31);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const NamedSharding rows(line(31), P("x"));
  const Tree tree{{"a", mw::device_put(numbered({62, 3}, mw::float64), rows)}, {"b", mw::device_put(numbered({127}, mw::float64), rows)}};
  checkpoints.save(1, tree);
  const auto loaded = checkpoints.load(1, tree);
  EXPECT_EQ(wrong_numbers<double>(loaded["a"]) + wrong_numbers<double>(loaded["b"]), 0);
}

// Sometimes corrupt with 3 processes: whole files, and checksums that are compared.
TEST(UserCases, U126_ManySavesReadBackWhole) {
  NEED_DEVICES(3);
  const Folder folder;
  Checkpointer checkpoints(folder / "run", {.keep = mw::io::keep_last(1)});
  std::int64_t wrong = 0;
  for (std::int64_t step = 0; step < 10; ++step) {
    for (const auto& spec : {P("x"), P(nullptr, "x")}) {
      checkpoints.save(step, Tree{{"w", mw::device_put(numbered({42, 39}, mw::float64), NamedSharding(line(3), spec))}},
                       {.overwrite = true});
      wrong += wrong_numbers<double>(checkpoints.load(step, NamedSharding(line(3), P()))["w"]);
    }
  }
  EXPECT_EQ(wrong, 0);
}

// Another process had the file open, or the file system knew no locks.
TEST(UserCases, U129_AnIndexThatSomebodyHolds) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"w", mw::arange(5)}});
  int held = -1;
  hdf5_files::on_first([&] {
    held = ::open(index_of(checkpoints, 1).c_str(), O_RDWR);
    EXPECT_EQ(::flock(held, LOCK_EX), 0);
  });
  EXPECT_EQ(checkpoints.load(1)["w"].shape(), (Shape{5}));
  checkpoints.save(2, Tree{{"w", mw::arange(5)}});
  hdf5_files::on_first([&] { ::close(held); });
}

// One rank opened for writing and the others for reading.
TEST(UserCases, U130_FilesAndFolderThatMayOnlyBeRead) {
  const Folder folder;
  { Checkpointer(folder / "run").save(1, Tree{{"w", mw::arange(5)}}); }
  namespace fs = std::filesystem;
  const auto set = [&](bool writable) {
    hdf5_files::on_first([&] {
      for (const auto& entry : fs::recursive_directory_iterator(folder / "run"))
        if (!entry.is_symlink()) fs::permissions(entry.path(), entry.is_directory() ? fs::perms(writable ? 0755 : 0555) : fs::perms(0444));
      fs::permissions(folder / "run", fs::perms(writable ? 0755 : 0555));
    });
  };
  set(false);
  Checkpointer checkpoints(folder / "run");
  EXPECT_EQ(checkpoints.load(checkpoints.latest(), Tree{{"w", mw::zeros({5}, mw::int32)}})["w"].sum().item<std::int32_t>(), 10);
  set(true);
}

// Reading failed on another number of devices.
TEST(UserCases, U133_OtherNumbersOfDevices) {
  NEED_DEVICES(8);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const NamedSharding saved(make_mesh({4, 2}, {"data", "model"}, {.devices = mw::devices().first(8)}), P("data", "model"));
  checkpoints.save(1, Tree{{"w", mw::device_put(numbered({24, 24}, mw::float32), saved)}});
  for (const std::int64_t n : {1, 2, 3, 4, 6})
    for (const auto& spec : {P("x"), P(nullptr, "x"), P()}) {
      const auto w = checkpoints.load(1, NamedSharding(line(n), spec))["w"];
      EXPECT_EQ(wrong_numbers<float>(w), 0) << n;
    }
  const auto w = checkpoints.load(1, NamedSharding(line(3), P("x")))["w"];
  for (const auto& shard : w.addressable_shards())
    EXPECT_EQ(shard.data().view<float>()(0, 0), 192.0f * static_cast<float>(shard.device().id));
}

// A larger model was filled in part, without a word.
TEST(UserCases, U134_LeavesThatAreMissingOrExtra) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"w", mw::arange(4)}, {"b", mw::arange(2)}});
  EXPECT_SAYS(error_everywhere<mw::CheckpointError>([&] {
                checkpoints.load(1, Tree{{"w", mw::arange(4)}, {"b", mw::arange(2)}, {"c", mw::arange(3)}});
              }),
              "c is missing");
  EXPECT_SAYS(error_everywhere<mw::CheckpointError>([&] {
                checkpoints.load(1, Tree{{"w", mw::arange(4)}});
              }),
              "b int32[2] is in the checkpoint");
  EXPECT_EQ(checkpoints.load(1, Tree{{"w", mw::zeros({4}, mw::int32)}}, {.extra = true})["w"].sum().item<std::int32_t>(), 6);
}

// Shapes were not compared.
TEST(UserCases, U135_OtherShapes) {
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"w", mw::arange(10)}});
  for (const auto& shape : {Shape{20}, Shape{2, 5}}) {
    const auto text = error_everywhere<mw::CheckpointError>([&] { checkpoints.load(1, Tree{{"w", mw::zeros(shape, mw::int32)}}); });
    EXPECT_SAYS(text, "w is stored as int32[10]");
    EXPECT_SAYS(text, mw::type_string(mw::zeros(shape, mw::int32)));
  }
}

// Sizes that leave a device without a part could be saved and not loaded.
TEST(UserCases, U137_DevicesWithoutAPart) {
  NEED_DEVICES(4);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"w", mw::device_put(numbered({6}, mw::int32), NamedSharding(line(2), P("x")))}});
  for (const auto& target : {NamedSharding(line(3), P("x")), NamedSharding(line(4), P("x")), NamedSharding(line(4), P()),
                             NamedSharding(line(mw::devices().size()), P("x"))})
    EXPECT_EQ(wrong_numbers<std::int32_t>(checkpoints.load(1, target)["w"]), 0);
}

// Values that differed between ranks were taken for replicas, and lost.
TEST(UserCases, U138_CopiesThatDiffer) {
  if (mw::setting("MESHWISE_CHECK") != "lockstep") GTEST_SKIP() << "only lockstep looks at values";
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const NamedSharding everywhere(line(2), P());
  auto x = mw::device_put(mw::zeros({5000}, mw::int32), everywhere);
  // Behind the library's back: what a stray write would do.
  auto own = mw::LocalArray(Shape{5000}, mw::int32);
  for (auto& v : own.mutable_view<std::int32_t>()) v = 0;
  own.mutable_view<std::int32_t>()(4500) = static_cast<std::int32_t>(mw::process_index());
  try {
    x = mw::make_array_from_single_device_arrays({5000}, everywhere, {own});
  } catch (const mw::MismatchError&) {
    return;  // found when it was made
  }
  const auto text = error_everywhere<mw::MismatchError>([&] { checkpoints.save(1, Tree{{"w", x}}); });
  EXPECT_SAYS(text, "device 0");
  EXPECT_SAYS(text, "device 1");
  EXPECT_SAYS(text, "flat index 4500");
}

// Entries of each rank could not be loaded by more of them.
TEST(UserCases, U139_NoKeyDependsOnTheNumberOfRanks) {
  NEED_DEVICES(4);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  checkpoints.save(1, Tree{{"layers", Tree::list({Tree{{"w", mw::device_put(numbered({10}, mw::int32), NamedSharding(line(2), P("x")))}}})},
                           {"step", 7}});
  for (const std::int64_t n : {4, 1}) {
    const auto loaded = checkpoints.load(1, NamedSharding(line(n), P()));
    EXPECT_EQ(wrong_numbers<std::int32_t>(loaded["layers"][0]["w"]), 0);
    EXPECT_EQ(loaded["step"].item<std::int32_t>(), 7);
  }
}

// With three mesh axes the checkpoint described half of each tensor.
TEST(UserCases, U141_ThreeMeshAxes) {
  NEED_DEVICES(8);
  const Folder folder;
  Checkpointer checkpoints(folder / "run");
  const NamedSharding sharding(make_mesh({2, 2, 2}, {"a", "b", "c"}, {.devices = mw::devices().first(8)}), P({"a", "b"}, "c"));
  EXPECT_EQ(checkpoints.save(1, Tree{{"w", mw::device_put(numbered({8, 8}, mw::int32), sharding)}}).bytes, 64 * 4);
  const auto global = mw::io::read(index_of(checkpoints, 1), "/arrays/w");  // as h5py sees it
  EXPECT_EQ(global.shape(), (Shape{8, 8}));
  EXPECT_EQ(global.sum().item<std::int32_t>(), 2016);
  EXPECT_EQ(wrong_numbers<std::int32_t>(checkpoints.load(1, sharding)["w"]), 0);
}

}  // namespace
