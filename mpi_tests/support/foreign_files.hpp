// Files of other programs, by scripts/foreign_files.py where Python has what it takes.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "support/hdf5_files.hpp"

namespace support {

/// Synchronising. Rank 0 runs `foreign_files.py WORDS FOLDER` in an environment without this job's; its exit code on every rank.
inline int foreign_files(const std::string& words, const std::string& folder) {
  int code = 0;
  if (hdf5_files::first()) {
    const auto status = std::system(
        ("env -i PATH=\"$PATH\" PYTHONPATH=\"$PYTHONPATH\" HOME=\"$HOME\" PYTHONDONTWRITEBYTECODE=1 " MESHWISE_PYTHON " " MESHWISE_SOURCE_DIR
         "/scripts/foreign_files.py " +
         words + " " + folder)
            .c_str());
    code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 127) code = 77;  // no Python
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

/// The files of one kind, made once for all tests of a program.
template <const char* kind>
class ForeignFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<hdf5_files::Folder>();
    code_ = foreign_files("make " + std::string(kind), folder_->path());
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (code_ == 77) {
      std::printf("meshwise: skipped: Python has no h5py or NumPy\n");
      GTEST_SKIP();
    }
    ASSERT_EQ(code_, 0);
  }
  static std::string in_folder(const std::string& name) { return *folder_ / name; }
  static int check() {
    meshwise::barrier();
    return foreign_files("check " + std::string(kind), folder_->path());
  }

 private:
  static inline std::unique_ptr<hdf5_files::Folder> folder_;
  static inline int code_ = 0;
};

}  // namespace support
