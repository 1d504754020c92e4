#pragma once
// Devices and ordered lists of them. A rank owns `devices_per_rank` devices; device id = rank * that + local index.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace meshwise {

/// Local. One place for data: `rank` is the process that owns it, `local_index` which of that rank's devices it is.
struct Device {
  std::int64_t id = 0;
  std::int64_t rank = 0;
  std::int64_t local_index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Local. `CpuDevice(id=3)`.
std::string to_string(const Device& device);

/// Local. An ordered list of devices, cheap to copy; a run of consecutive ids takes O(1) memory, so a million
/// virtual devices cost nothing.
///
/// devices() = [0, 1, 2, 3]; .reversed() = [3, 2, 1, 0]; .first(2) = [0, 1]; .slice(1, 3) = [1, 2]; .pick({3, 0}) = [3, 0].
class DeviceList {
 public:
  /// Local. No list: where an option is this, the world's list is meant.
  DeviceList() = default;
  /// Local. The world's devices with these ids, in this order. Throws: PlacementError for an id out of range.
  DeviceList(std::initializer_list<std::int64_t> ids);
  explicit DeviceList(const std::vector<std::int64_t>& ids);
  explicit DeviceList(const Device& device);
  /// Local. Ids 0..count-1, `devices_per_rank` to a rank, whether or not they exist: for planning.
  static DeviceList virtual_devices(std::int64_t count, std::int64_t devices_per_rank = 1);

  bool is_set() const { return data_ != nullptr; }
  std::int64_t size() const;
  Device operator[](std::int64_t position) const;
  std::int64_t id(std::int64_t position) const;
  std::vector<std::int64_t> ids() const;
  std::int64_t devices_per_rank() const;
  /// Local. Where in the list that device stands; O(1).
  std::optional<std::int64_t> position_of(std::int64_t device_id) const;
  /// Local. The first id that occurs twice; O(1) for a run, else O(size).
  std::optional<std::int64_t> repeated_id() const;
  /// Local. Every device is that rank's; O(1).
  bool all_on_rank(std::int64_t rank) const;
  /// Local. Throws (as last, slice and pick do): IndexError beyond the list, PlacementError for a device that is not in it.
  DeviceList first(std::int64_t count) const;
  DeviceList last(std::int64_t count) const;
  DeviceList slice(std::int64_t start, std::int64_t stop) const;
  DeviceList reversed() const;
  DeviceList pick(const std::vector<std::int64_t>& ids) const;
  /// Local. The same on every rank for equal lists; O(1).
  std::uint64_t hash() const;
  /// Local. The same devices in the same order.
  friend bool operator==(const DeviceList& a, const DeviceList& b);

  class Iterator {
   public:
    Iterator(const DeviceList* list, std::int64_t at) : list_(list), at_(at) {}
    Device operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const DeviceList* list_;
    std::int64_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  struct Data;
  /// Local. A slot for room 3: what the runtime knows of this ordered list (its sequence), found once.
  void*& runtime_slot() const;

 private:
  explicit DeviceList(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

/// Local. `[0, 1, 2, 3]`; lists of more than 64 are shortened in the middle.
std::string to_string(const DeviceList& devices);

/// Local. Every device of the world, the same order on every rank. Throws: PlacementError before an Environment exists.
DeviceList devices();

namespace detail {
/// Local. Room 3 says here who is in the world; pure programs (tests, planning) may too.
void set_world(std::int64_t device_count, std::int64_t devices_per_rank, std::int64_t this_rank);
/// Local. -1 before there is a world: a planning program owns no device.
std::int64_t this_rank();
}  // namespace detail

}  // namespace meshwise
