#pragma once
// HDF5's C interface made safe: identifiers that close themselves, and errors with HDF5's own words.

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

namespace meshwise::detail {

/// Local. Owns an HDF5 identifier.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) closer_(id_);
  }
  operator hid_t() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  /// Local. Closes now, and tells whether that worked: what HDF5 could not write it says here.
  herr_t close() { return closer_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  Closer closer_;
};

/// Local. While it lives HDF5 prints no error stack; what the program had set comes back.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
  bool known_ = false;
};

/// Local. Why the last HDF5 call failed: the innermost message of its error stack.
std::string hdf5_reason();

/// Local. An HDF5 result, handed through. Throws: CheckpointError `cannot <action>: <HDF5's reason>` when it is negative.
hid_t checked(hid_t result, std::string_view action);

}  // namespace meshwise::detail
