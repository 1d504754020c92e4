#include "io/hdf5_handle.hpp"

#include <fmt/format.h>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {

QuietErrors::QuietErrors() {
  // Fails where the program has set a handler of HDF5's first interface: it could not be put back, so it stays.
  known_ = H5Eget_auto2(H5E_DEFAULT, &function_, &data_) >= 0;
  if (known_) H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() {
  if (known_) H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

std::string hdf5_reason() {
  std::string reason;
  // Upward starts at the innermost message, the one that names the cause; a non-zero result ends the walk.
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
        if (error->desc) *static_cast<std::string*>(text) = error->desc;
        return 1;
      },
      &reason);
  return reason.empty() ? "no reason given" : reason;
}

hid_t checked(hid_t result, std::string_view action) {
  if (result < 0) throw CheckpointError(fmt::format("cannot {}: {}", action, hdf5_reason()));
  return result;
}

}  // namespace meshwise::detail
