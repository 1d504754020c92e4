#pragma once
// Attribute values between memory, HDF5 and a text for all ranks. Local, no MPI.

#include <string>
#include <string_view>

#include "io/hdf5_file.hpp"
#include "meshwise/io/hdf5_attributes.hpp"

namespace meshwise::detail {

std::string pack(const io::Attributes& attributes);
io::Attributes unpack_attributes(std::string_view text);

/// Local. All attributes of an object. Throws: CheckpointError.
io::Attributes attributes_of(hid_t object);

/// Local. Makes an attribute that isn't there. Throws: CheckpointError.
void make_attribute(hid_t object, const std::string& name, const io::Attribute& value);

}  // namespace meshwise::detail
