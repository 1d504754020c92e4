#pragma once
// Which dtype an HDF5 element type is, and the HDF5 types that dtypes are stored as.

#include <optional>
#include <string>

#include "io/hdf5_handle.hpp"
#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

/// Local. The dtype that holds every value of the type, if one does: `uint8` for an 8-bit unsigned integer of either byte order.
std::optional<Dtype> dtype_of_type(hid_t type);

/// Local. `uint8`, `string[12]`, `compound{x,y}`: a type in words.
std::string type_text(hid_t type);

/// Local. The type a dtype is stored as: h5py's, in this machine's byte order, so that memory and file hold the same bytes.
Handle stored_type(Dtype dtype);

/// Local. The type of a dtype in memory for reading elements of `file_type`, which dtype_of_type said is that dtype.
Handle memory_type(Dtype dtype, hid_t file_type);

}  // namespace meshwise::detail
