#pragma once
// What HDF5 files in memory are made of. Local; main thread only. Each throws CheckpointError.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/images.hpp"
#include "io/checkpoint/memory_file.hpp"
#include "io/hdf5_handle.hpp"

namespace meshwise::detail {

/// Local. A link list that makes groups and names in UTF-8.
Handle links();
/// Local. A scalar's space for no lengths.
Handle space_of(const std::vector<hsize_t>& lengths);
/// Local. Room in the file and no values: place_of tells where they go.
Handle contiguous();
std::int64_t place_of(hid_t dataset);
Handle text_type(std::size_t length);
void put_attribute(hid_t object, const char* name, hid_t type, const void* value);
void put_attribute(hid_t object, const char* name, const std::string& value);
void put_attribute(hid_t object, const char* name, std::int64_t value);

/// Local. Offset and bytes of everything in a finished file but the runs.
std::vector<std::pair<std::int64_t, std::vector<std::byte>>> bytes_outside(const MemoryFile& file, std::vector<Extent> runs);

}  // namespace meshwise::detail
