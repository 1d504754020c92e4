#pragma once
// One dataset of an HDF5 file as an array, and an array as one dataset that h5py, h5dump and h5ls read.

#include <cstdint>
#include <string>

#include "meshwise/array/array.hpp"
#include "meshwise/io/read_options.hpp"
#include "meshwise/placement/sharding.hpp"

/// bool is h5py's enum {FALSE, TRUE}, complex its compound {r, i}, float16 the IEEE half. bfloat16, which NumPy lacks, is a 16-bit
/// floating-point type with its 8-bit exponent: h5dump prints its values, h5py reads them as float32.
namespace meshwise::io {

/// Synchronising. The dataset, or a box of it, placed on `sharding`, committed; each rank reads only the boxes of its own devices, from a file it
/// opens read-only. Contiguous, chunked, compressed or virtual; either byte order; bool, integers, floats to 64 bits, complex.
///
///     auto images = io::read("digits.h5", "/images", NamedSharding(mesh, P("data")));   // uint8[1797@data,8,8]
///     auto corner = io::read("digits.h5", "/images", NamedSharding(mesh, P("data")), {.box = {{0, 100}, {0, 4}, {0, 4}}});
///
/// Throws, the same on every rank: CheckpointError when the file or the dataset isn't there or can't be read (it says what the file
/// holds), the type has no dtype, or the spec has more entries than axes; IndexError for a box that is not within the dataset, with its
/// shape; OutOfMemoryError; MismatchError when ranks ask for different things. The next call works.
Array read(const std::string& file, const std::string& dataset, const Sharding& sharding, const ReadOptions& options = {});

/// Synchronising. The dataset as an uncommitted array: every rank reads the whole of it, or of the box. Throws as above.
Array read(const std::string& file, const std::string& dataset, const ReadOptions& options = {});

struct WriteOptions {
  bool append = false;  // add the dataset to the file, if there is one, instead of replacing the file
};

/// Synchronising. x as the dataset of that name (`/a/b/c` makes the groups), contiguous; each rank writes its own boxes, each distinct
/// box once. When it returns the data are on disk. A new file appears complete or not at all, and then replaces an old one of its name;
/// with `append` the dataset does too, but a kill in the milliseconds in which HDF5 writes its own tables can damage the file.
///
/// Throws, the same on every rank: CheckpointError with the path and the system's words (no space, no permission, the dataset is there
/// already), leaving nothing behind; MismatchError when ranks pass different names, shapes or dtypes, before the file is touched; DonatedError;
/// OutOfMemoryError.
void write(const std::string& file, const std::string& dataset, const Array& x, WriteOptions options = {});

/// Synchronising. x behind what the dataset holds along an axis: float32[5,8] and x float32[3,8] -> float32[8,8]. A dataset that isn't there (nor
/// its file) is made, chunked and extensible along that axis; one of h5py's needs `maxshape`. Ranks write one after the other, through
/// HDF5, so compression is kept; when it returns the data are on disk. An error leaves the dataset as it was; a kill can leave it
/// longer, with fill values, or the file damaged.
///
/// Throws, the same on every rank: ShapeError or DtypeError when x does not fit the dataset, or is a scalar; IndexError for an axis out of range;
/// CheckpointError when the dataset cannot grow along that axis, and as `write` does; MismatchError; DonatedError; OutOfMemoryError.
void append(const std::string& file, const std::string& dataset, const Array& x, std::int64_t axis = 0);

}  // namespace meshwise::io
