#pragma once
// Who is here: the processes of the job, their devices, and the life of the library in this process.

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "meshwise/placement/device.hpp"
#include "meshwise/placement/mesh.hpp"
#include "meshwise/placement/partition_spec.hpp"
#include "meshwise/placement/sharding.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise {

namespace detail {
/// Local. An MPI communicator without mpi.h.
struct CommunicatorHandle {
  const void* communicator = nullptr;  // points to an MPI_Comm
};
/// Local. Which type MPI_Comm is: interop_mpi.hpp says it, since it is an int with one MPI and a pointer with another.
template <class T>
struct IsCommunicator : std::false_type {};

/// Local. What every Collective call and every read of an array's values asks first. Throws: Error unless the Environment lives.
void check_running(std::string_view operation);
}  // namespace detail

/// Collective. The library's life: starts MPI unless the program did (then never finalizes it), and makes the world's devices, one
/// per rank, or MESHWISE_DEVICES_PER_RANK. Without mpirun it is one process. Rank 0's MESHWISE_* settings govern.
///
/// The destructor is a polled goodbye; while an exception unwinds it tells the other ranks and ends the job. Arrays may outlive it: shape, dtype,
/// sharding and the like stay readable, operations and reads of values throw Error. A LocalArray is plain memory and stays what it is.
class Environment {
 public:
  Environment();
  Environment(int& argc, char**& argv);
  /// Collective over the communicator, an MPI_Comm (`#include <meshwise/runtime/interop_mpi.hpp>`): the world is its group. It is duplicated, never freed.
  template <class Communicator>
    requires(detail::IsCommunicator<Communicator>::value)
  explicit Environment(const Communicator& communicator) : Environment(detail::CommunicatorHandle{&communicator}) {}
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  explicit Environment(detail::CommunicatorHandle communicator);
  int exceptions_at_start_ = 0;
};

/// Local. This process's number in the library's world, and how many there are.
std::int64_t process_index();
std::int64_t process_count();
/// Local. This rank's first device; all of this rank's devices.
Device local_device();
DeviceList local_devices();
/// Local. The device operations on uncommitted operands alone belong to: device 0, or the innermost scope's.
Device current_default_device();

/// Local. While it lives, `device` is the default device (SEMANTICS 5.3). Give the same on every rank.
class default_device {
 public:
  explicit default_device(const Device& device);
  ~default_device();
  default_device(const default_device&) = delete;
  default_device& operator=(const default_device&) = delete;

 private:
  std::shared_ptr<const Device> outer_;
};

/// Synchronising. Runs f on every rank; if it throws on any, every rank throws: the same type where f threw on this rank, CollectiveError
/// (OutOfMemoryError when that is what it was) naming the rank and its words elsewhere. Recoverable: the next call works, and arrays that f donated are
/// what they were; so their memory is kept until the outermost agreement ends.
void agree(const std::function<void()>& f);

/// Synchronising. Returns when every rank has called it and all transfers are done; serves them meanwhile.
void barrier();
/// Synchronising. All transfers of this rank are done: call it before blocking in foreign MPI where MPI_THREAD_MULTIPLE is not available.
void quiesce();

/// Local. A runtime setting, as governed by rank 0's environment: `setting("MESHWISE_CHECK")`; empty if unset.
std::string setting(std::string_view name);

/// Local. What the library did on this rank since start.
struct RuntimeStats {
  std::int64_t messages_sent = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_copied = 0;
  std::int64_t communicators = 0;
  std::int64_t live_bytes = 0;  // blocks of arrays
  std::int64_t peak_bytes = 0;
};
RuntimeStats runtime_stats();

namespace detail {
void print_text(const std::string& text);
}

/// Local. Formats and writes to standard output on rank 0 only.
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  if (process_index() == 0) detail::print_text(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace meshwise
