#pragma once
// A folder on the disk that is measured, what plain system calls do there, and how much memory that took.

#include <meshwise/meshwise.hpp>

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace bench {

// Where the files go: MESHWISE_BENCH_FOLDER, else the system's folder for temporary files. What it measures is that disk.
class Folder {
 public:
  Folder() {
    const char* wanted = std::getenv("MESHWISE_BENCH_FOLDER");
    std::string path =
        ((wanted ? std::filesystem::path(wanted) : std::filesystem::temp_directory_path()) / "meshwise-bench.XXXXXX").string();
    if (meshwise::process_index() == 0 && ::mkdtemp(path.data()) == nullptr) path.clear();
    MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = path;
  }
  ~Folder() { clear(); }
  void clear() const {
    meshwise::barrier();
    if (meshwise::process_index() == 0) std::filesystem::remove_all(path_);
    meshwise::barrier();
  }
  void fresh() const {
    clear();
    if (meshwise::process_index() == 0) std::filesystem::create_directory(path_);
    meshwise::barrier();
    ::sync();
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void must(bool holds, const char* what) {
  if (!holds) throw meshwise::Error(what);
}

// The least that durable writing can be: each rank one file, its bytes in one piece.
inline void raw_write(const std::string& path, const meshwise::LocalArray& values) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  must(file >= 0, "cannot create a raw file");
  for (std::int64_t done = 0; done < values.nbytes();) {
    const auto written =
        ::write(file, values.data() + done, static_cast<std::size_t>(std::min<std::int64_t>(values.nbytes() - done, 4 << 20)));
    must(written > 0, "cannot write a raw file");
    done += written;
  }
  must(::fsync(file) == 0 && ::close(file) == 0, "cannot sync a raw file");
}

inline void raw_read(const std::string& path, std::byte* to, std::int64_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY);
  must(file >= 0, "cannot open a raw file");
  for (std::int64_t done = 0; done < bytes;) {
    const auto got = ::pread(file, to + done, static_cast<std::size_t>(std::min<std::int64_t>(bytes - done, 4 << 20)), done);
    must(got > 0, "cannot read a raw file");
    done += got;
  }
  ::close(file);
}

/// The most memory that f needs at once beyond what this process has when it begins, in bytes: the system counts it.
template <class F>
std::int64_t peak_beyond(F&& f) {
  const auto most = [] {
    long kilobytes = 0;
    char line[256];
    if (FILE* file = std::fopen("/proc/self/status", "r")) {
      while (std::fgets(line, sizeof line, file) != nullptr)
        if (std::sscanf(line, "VmHWM: %ld", &kilobytes) == 1) break;
      std::fclose(file);
    }
    return static_cast<std::int64_t>(kilobytes) * 1024;
  };
  if (FILE* file = std::fopen("/proc/self/clear_refs", "w")) {  // 5: the peak is what it is now
    std::fputs("5", file);
    std::fclose(file);
  }
  const auto before = most();
  f();
  return most() - before;
}

}  // namespace bench
