// What a program asks about the world it is in.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/interop_mpi.hpp"
#include "meshwise/runtime/memory.hpp"
#include "meshwise/runtime/node.hpp"
#include "runtime/runtime.hpp"

namespace meshwise {
namespace {

std::shared_ptr<const Device>& innermost_default() {
  static auto* const immortal = new std::shared_ptr<const Device>;
  return *immortal;
}

}  // namespace

std::int64_t process_index() { return detail::runtime().rank; }
std::int64_t process_count() { return detail::runtime().size; }

DeviceList local_devices() {
  const detail::Runtime& r = detail::runtime();
  const std::int64_t each = r.settings.devices_per_rank;
  return devices().slice(r.rank * each, (r.rank + 1) * each);
}
Device local_device() { return local_devices()[0]; }

Device current_default_device() {
  const auto& scoped = innermost_default();
  return scoped ? *scoped : devices()[0];
}

default_device::default_device(const Device& device) : outer_(innermost_default()) {
  innermost_default() = std::make_shared<const Device>(device);
}
default_device::~default_device() { innermost_default() = outer_; }

std::string setting(std::string_view name) {
  const detail::Runtime& r = detail::runtime();
  if (r.life.load() == detail::Life::before) {
    const char* own = std::getenv(std::string(name).c_str());
    return own ? own : "";
  }
  const auto at = r.settings.given.find(std::string(name));
  return at == r.settings.given.end() ? std::string() : at->second;
}

RuntimeStats runtime_stats() {
  const detail::Runtime& r = detail::runtime();
  const auto memory = memory_stats();
  RuntimeStats stats;
  stats.messages_sent = r.engine.messages_sent.load();
  stats.bytes_sent = r.engine.bytes_sent.load();
  stats.bytes_copied = r.bytes_copied.load();
  stats.communicators = r.groups.made;
  stats.live_bytes = memory.live;
  stats.peak_bytes = memory.peak;
  return stats;
}

MPI_Comm world_communicator() { return detail::runtime().base; }

namespace detail {

const Topology& topology() { return runtime().topology; }

std::int64_t node_memory() { return runtime().node_memory; }

void print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);  // mpirun hands on what it has been given, and a job may be ended at any time
}

}  // namespace detail
}  // namespace meshwise
