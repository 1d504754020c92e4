#pragma once
// A step's arrays as one plain file for other programs. Local; main thread only; memory does not grow with the arrays.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/checkpoint/read_values.hpp"

namespace meshwise::detail {

/// Local. Bytes written of how many.
using ExportProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Local. An HDF5 file with a contiguous dataset /<name> for each of the arrays, small ones too, and what is known of the step as attributes. It appears when it is
/// whole and on disk; one of that name is replaced. Throws: CheckpointError, leaving things as they were.
void export_hdf5(StepReader& step, const std::vector<const StoredArray*>& arrays, const std::string& file,
                 const ExportProgress& progress = {});

/// Local. One array as NumPy's .npy; bfloat16, which NumPy lacks, as float32. Throws as above.
void export_npy(StepReader& step, const StoredArray& array, const std::string& file, const ExportProgress& progress = {});

}  // namespace meshwise::detail
