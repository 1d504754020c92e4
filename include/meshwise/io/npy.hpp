#pragma once
// NumPy's .npy files: numpy.load reads what write_npy writes, read_npy what numpy.save wrote.

#include <string>

#include "meshwise/array/array.hpp"
#include "meshwise/io/read_options.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise::io {

/// Synchronising. The array, or a box of it, placed on `sharding`, committed; each rank reads only the boxes of its own devices, through a buffer
/// of a MiB. Formats 1.0 to 3.0, either byte order, C and Fortran order; bool, integers, floats to 64 bits, complex.
///
/// Throws, the same on every rank: CheckpointError when the file isn't there, is no .npy file, is cut short, holds Python objects, texts,
/// dates or records, or the spec has more entries than axes; IndexError for a box that is not within the array; OutOfMemoryError; MismatchError.
Array read_npy(const std::string& file, const Sharding& sharding, const ReadOptions& options = {});

/// Synchronising. The array as an uncommitted one: every rank reads the whole of it, or of the box. Throws as above.
Array read_npy(const std::string& file, const ReadOptions& options = {});

/// Synchronising. x as a .npy file, the bytes numpy.save writes; each rank writes its own boxes, each distinct box once. The file
/// appears complete and on disk or not at all, and then replaces an old one of its name.
///
/// Throws, the same on every rank: DtypeError for bfloat16, which NumPy lacks; CheckpointError with the path and the system's words, leaving
/// nothing behind; MismatchError when ranks pass different names, shapes or dtypes; DonatedError; OutOfMemoryError.
void write_npy(const std::string& file, const Array& x);

}  // namespace meshwise::io
