#pragma once
// The head of a .npy file: magic, version, length, and a Python dict in text. Local, no MPI.

#include <cstdint>
#include <string>
#include <string_view>

#include "io/placed.hpp"

namespace meshwise::detail {

struct NpyHeader {
  Found found{};
  bool is_fortran = false;  // the first axis's neighbours lie side by side
  bool is_swapped = false;  // in the other byte order
  std::int64_t begin = 0;   // of the values in the file
};

/// Local. Reads the head of a file and checks that its values are all there. Throws: CheckpointError.
NpyHeader read_npy_header(const std::string& path);

/// Local. The head of a version and dict that some bytes begin with; `size` is the file's. Throws: CheckpointError.
NpyHeader parse_npy_header(std::string_view bytes, std::int64_t size);

/// Local. The bytes numpy.save writes before the values.
std::string npy_header(const Found& found);

}  // namespace meshwise::detail
