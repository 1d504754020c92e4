#pragma once
// What operations exchange that decide by values: boxes that go between the devices of an array, listed by device, posted by process; and counts.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "meshwise/array/local_array.hpp"
#include "meshwise/placement/device.hpp"
#include "meshwise/runtime/transport.hpp"

namespace meshwise::detail {

/// Local. Every process lists the same boxes in the same order, those at its own devices with memory.
class PartExchange {
 public:
  /// Local. From a device of process `sender` to one of `owner`; only the ends that are this process's are read.
  void add(std::int64_t sender, const LocalArray& from, std::int64_t owner, const LocalArray& to);
  /// Collective. Sends all, and waits.
  void run(const Ticket& ticket);

 private:
  StridedBox box(const LocalArray& x);

  std::vector<Exchange> sends_{}, receives_{};
  std::vector<LocalCopy> copies_{};
  std::vector<std::shared_ptr<Block>> keep_{};
};

/// Collective over the processes of the devices. Sums over all devices of what each of this process's has in `own`, in the devices' order; as many numbers each.
std::vector<std::int64_t> summed(const DeviceList& devices, std::vector<std::vector<std::int64_t>>& own, const Ticket& ticket);

}  // namespace meshwise::detail
