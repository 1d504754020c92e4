#pragma once
// File descriptors of shared memory, handed from process to process of a node over local sockets.

#include <mpi.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace meshwise::detail {

/// Local. Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(-1); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

/// Local. An anonymous memory file of `bytes` bytes whose size can't change any more; pages exist only where they are touched. Invalid where the
/// system has none.
Descriptor make_memory_file(std::size_t bytes);

/// Collective over the communicator: true where all say true.
bool all_true(MPI_Comm node, bool mine);

/// Collective over the ranks of a node: each brings some descriptors (the same number on each rank, -1 for none) and gets everybody's, by place.
/// Empty on all ranks where it failed for one of them. Works in containers where /proc/PID/fd and /dev/shm do not.
std::vector<std::vector<Descriptor>> share_descriptors(MPI_Comm node, const std::vector<int>& mine);

}  // namespace meshwise::detail
