#pragma once
// Attributes of an HDF5 file, group or dataset: the names, units and numbers that stand beside the data.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace meshwise::io {

/// Local. A number, a text, or a list of them; nothing (monostate) is an attribute that none of these can hold: references, compounds, more than
/// one axis, integers above 2^63 - 1. float32 is read as double, integers as int64, lists of bool as lists of 0 and 1.
using Attribute = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

/// Synchronising. All attributes of the object of that name ("/" is the file's root), the same on every rank.
///
///     auto units = std::get<std::string>(io::read_attributes("data.h5", "/temperature").at("units"));
///
/// Throws, the same on every rank: CheckpointError when the file or the object isn't there or can't be read; MismatchError.
Attributes read_attributes(const std::string& file, const std::string& object = "/");

/// Synchronising. Sets these attributes of an object that is there, in the file as it is; others stay, those that are nothing too. Texts are stored as
/// h5py's str. All of them or, where an error is thrown, none; a kill in the milliseconds in which HDF5 writes can damage the file.
///
/// Throws, the same on every rank: CheckpointError as above, or when there is no room, the name is empty, a text holds a zero byte, or a list
/// is larger than HDF5 allows (64 KiB); MismatchError when ranks pass different attributes, before the file is touched.
void write_attributes(const std::string& file, const std::string& object, const Attributes& attributes);

}  // namespace meshwise::io
