// Where a run's folder may be: behind a link, given relative to a folder that is left, under any name, on another file system, under any umask; and where it
// may not: the error is the same on every rank and names the folder. Mounts of small and read-only file systems are made by places.py.
// ranks: 2
// devices_per_rank: 4
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "faults/on_all_ranks.hpp"
#include "faults/run_folder.hpp"

namespace {

namespace mw = meshwise;
namespace fs = std::filesystem;
using faults::from, faults::on_first;

class Places : public testing::Test {
 protected:
  faults::Folder folder;
  const fs::path before = fs::current_path();

  void TearDown() override { fs::current_path(before); }

  static mw::Tree tree(std::int64_t step) { return faults::grown(step, 7); }

  /// Saves and loads again; also as a later job would.
  static void expect_works(mw::io::Checkpointer& checkpoints, std::int64_t step = 1) {
    checkpoints.save(step, tree(step));
    EXPECT_EQ(faults::wrong(checkpoints.load(step, faults::like(9)), step), "");
    mw::io::Checkpointer later(checkpoints.folder());
    EXPECT_EQ(later.latest().step, step);
    mw::barrier();
  }

  static void expect_works(const std::string& path) {
    SCOPED_TRACE(path);
    mw::io::Checkpointer checkpoints(path);
    expect_works(checkpoints);
  }

  /// The same words on every rank, soon; they hold `part`.
  static void expect_error(const std::string& part, const std::function<void()>& f) {
    SCOPED_TRACE(part);
    std::string words;
    const auto start = std::chrono::steady_clock::now();
    try {
      f();
    } catch (const mw::CheckpointError& error) {
      words = error.what();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_NE(words.find(part), std::string::npos) << words;
    EXPECT_EQ(words, from(0, words));
  }

  static std::uint64_t free_bytes(const std::string& path) {
    struct statvfs status {};
    EXPECT_EQ(::statvfs(path.c_str(), &status), 0);
    return status.f_bfree * status.f_frsize;  // root's
  }
};

TEST_F(Places, Links) {
  on_first([&] {
    fs::create_directory(folder.path() + "/real");
    fs::create_directory_symlink("real", folder.path() + "/link");
    fs::create_directory_symlink("nowhere", folder.path() + "/dangling");
    fs::create_directory_symlink("loop", folder.path() + "/loop");
  });
  expect_works(folder.path() + "/link");
  EXPECT_TRUE(fs::exists(folder.path() + "/real/step_00000001/COMMIT"));
  expect_works(folder.path() + "/link/../link/run/");
  for (const auto* name : {"/dangling", "/loop"})
    expect_error(folder.path() + name, [&] { mw::io::Checkpointer(folder.path() + name).save(1, tree(1)); });
}

TEST_F(Places, RelativeToAFolderThatIsLeft) {
  on_first([&] { fs::create_directory(folder.path() + "/a"), fs::create_directory(folder.path() + "/b"); });
  // What rank 0 means counts.
  fs::current_path(folder.path() + (mw::process_index() == 0 ? "/a" : "/b"));
  mw::io::Checkpointer checkpoints("runs/one");
  EXPECT_EQ(checkpoints.folder(), folder.path() + "/a/runs/one");
  fs::current_path(folder.path() + "/b");
  expect_works(checkpoints);
  fs::current_path(folder.path());
  expect_works(checkpoints, 2);
  EXPECT_TRUE(fs::is_empty(folder.path() + "/b"));
}

TEST_F(Places, Names) {
  for (const auto* name : {"a b", "%s%n", "\xc3\xa9t\xc3\xa9", "line\nbreak", "'\"$HOME`", "step_00000007", "a.tmp-b", "\xff\xfe"})
    expect_works(folder.path() + "/" + name);
  expect_error("needs a folder", [] { mw::io::Checkpointer(""); });
  const auto longest = folder.path() + "/" + std::string(300, 'x');
  expect_error(longest, [&] { mw::io::Checkpointer(longest).save(1, tree(1)); });
}

TEST_F(Places, NoFolder) {
  const auto file = folder.path() + "/file";
  on_first([&] { std::ofstream(file) << "precious"; });
  for (const auto& path : {file, file + "/below"}) expect_error(path, [&] { mw::io::Checkpointer(path).save(1, tree(1)); });
  on_first([&] {
    std::string text;
    std::ifstream(file) >> text;
    EXPECT_EQ(text, "precious");
  });
  expect_error("/proc/", [&] { mw::io::Checkpointer("/proc/nothing/here").save(1, tree(1)); });
}

// Someone removed the folder of a running job: the next save makes it anew.
TEST_F(Places, RemovedMeanwhile) {
  mw::io::Checkpointer checkpoints(folder.path() + "/run");
  expect_works(checkpoints);
  on_first([&] { fs::remove_all(folder.path() + "/run"); });
  EXPECT_FALSE(checkpoints.latest());
  expect_works(checkpoints, 2);
}

TEST_F(Places, Umask) {
  for (const mode_t mask : {mode_t{022}, mode_t{077}, mode_t{002}}) {
    const auto old = ::umask(mask);
    const auto root = folder.path() + "/" + std::to_string(mask);
    expect_works(root);
    ::umask(old);
    on_first([&] {
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_symlink()) continue;
        const auto mode = static_cast<mode_t>(entry.status().permissions());
        EXPECT_EQ(mode, (entry.is_directory() ? 0777U : 0666U) & ~mask) << entry.path();
      }
    });
  }
}

TEST_F(Places, OtherFileSystem) {
  auto other = fs::temp_directory_path().string();
  struct stat here {
  }, there{};
  ASSERT_EQ(::stat(folder.path().c_str(), &here), 0);
  ASSERT_EQ(::stat(other.c_str(), &there), 0);
  if (here.st_dev == there.st_dev) GTEST_SKIP() << "there is one file system";
  other += "/meshwise-faults-other." + std::to_string(from(0, static_cast<long>(::getpid())));
  on_first([&] {
    fs::create_directory(other);
    fs::create_directory_symlink(other, folder.path() + "/other");
  });
  expect_works(folder.path() + "/other");
  expect_works(folder.path() + "/other/run");
  on_first([&] { fs::remove_all(other); });
}

// Who may not write there may load.
TEST_F(Places, ReadOnly) {
  const auto root = folder.path() + "/run";
  const bool mounts = std::getenv("MESHWISE_TEST_MOUNTS") != nullptr;
  if (!mounts && ::geteuid() == 0) GTEST_SKIP() << "root may write everywhere; places.py mounts a file system without";
  on_first([&] {
    fs::create_directory(root);
    if (mounts) {
      EXPECT_EQ(::mount("meshwise", root.c_str(), "tmpfs", 0, "size=16m"), 0);
    }
  });
  {
    mw::io::Checkpointer checkpoints(root);
    expect_works(checkpoints);
  }
  on_first([&] {
    fs::create_directory(root + "/step_00000002.tmp-left");  // nor does it matter what it cannot sweep
    if (mounts) {
      EXPECT_EQ(::mount("meshwise", root.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=16m"), 0);
    } else
      fs::permissions(root, fs::perms::owner_read | fs::perms::owner_exec);
  });
  mw::io::Checkpointer checkpoints(root);
  EXPECT_EQ(checkpoints.latest().step, 1);
  EXPECT_EQ(faults::wrong(checkpoints.load(1, faults::like(9)), 1), "");
  expect_error(root, [&] { checkpoints.save(2, tree(2)); });
  expect_error(root, [&] { checkpoints.remove(1); });
  EXPECT_EQ(faults::wrong(checkpoints.load(checkpoints.latest(), faults::like(9)), 1), "");
  on_first([&] {
    if (mounts) {
      EXPECT_EQ(::umount(root.c_str()), 0);
    } else
      fs::permissions(root, fs::perms::owner_all);
  });
}

// A real full disk: an error, everything freed, and when there is room the next save works.
TEST_F(Places, FullDisk) {
  const char* const small = std::getenv("MESHWISE_TEST_SMALL_DISK");
  if (small == nullptr) GTEST_SKIP() << "places.py mounts a small file system";
  const auto root = std::string(small) + "/run", ballast = std::string(small) + "/ballast";
  const std::uint64_t step = std::getenv("MESHWISE_TEST_ALL") == nullptr ? 25'000 : 4'000;
  mw::io::Checkpointer checkpoints(root);
  expect_works(checkpoints);
  for (const bool async : {false, true})
    for (std::uint64_t room = 0; room < 250'000; room += step) {
      SCOPED_TRACE("with " + std::to_string(room) + " bytes free");
      on_first([&] {
        std::ofstream out(ballast, std::ios::binary);
        std::string page(4096, 'x');
        const auto all = free_bytes(small);
        for (auto left = all - std::min(room, all); left >= page.size() && out.write(page.data(), 4096).flush();) left -= page.size();
      });
      const auto free_before = free_bytes(small);
      mw::barrier();
      std::string words;
      try {
        if (async)
          checkpoints.save_async(2, tree(2)).wait();
        else
          checkpoints.save(2, tree(2));
      } catch (const mw::CheckpointError& error) {
        words = error.what();
      }
      EXPECT_EQ(words, from(0, words));
      if (room < 100'000) {
        EXPECT_NE(words, "");
      }
      if (!words.empty()) {
        EXPECT_NE(words.find("No space left on device"), std::string::npos) << words;
        mw::barrier();
        EXPECT_GE(free_bytes(small) + 4096, free_before) << words;
        EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{1});
      }
      if (mw::process_index() == 0) {
        EXPECT_EQ(faults::leftovers(root), "");
      }
      EXPECT_EQ(faults::wrong(checkpoints.load(1, faults::like(9)), 1), "");
      on_first([&] { fs::remove(ballast); });
      if (words.empty())
        checkpoints.remove(2);
      else {
        checkpoints.save(2, tree(2));
        EXPECT_EQ(faults::wrong(checkpoints.load(2, faults::like(9)), 2), "");
        checkpoints.remove(2);
      }
    }
}

}  // namespace
