#pragma once
// For tests of several ranks on one folder.

#include <mpi.h>

#include <cstdlib>
#include <filesystem>
#include <meshwise/runtime/environment.hpp>
#include <string>

namespace faults {

/// Synchronising. What that rank has.
inline std::string from(int rank, std::string text) {
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, rank, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, rank, MPI_COMM_WORLD);
  return text;
}
inline long from(int rank, long number) {
  MPI_Bcast(&number, 1, MPI_LONG, rank, MPI_COMM_WORLD);
  return number;
}
/// Synchronising. Ranks that went on differently would only wait for one another.
inline bool from_any(bool mine) {
  int any = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}
/// Synchronising. Rank 0 does something to the file system, the others see it done.
template <class F>
void on_first(F&& f) {
  meshwise::barrier();
  if (meshwise::process_index() == 0) f();
  meshwise::barrier();
}

/// A folder where no bytes wait for a disk: the failures are ours.
class Folder {
 public:
  Folder() {
    namespace fs = std::filesystem;
    std::string path = (fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string()) + "/meshwise-faults.XXXXXX";
    if (meshwise::process_index() == 0 && ::mkdtemp(path.data()) == nullptr) path = "no folder";
    path_ = from(0, path);
  }
  ~Folder() {
    on_first([&] { std::filesystem::remove_all(path_); });
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace faults
