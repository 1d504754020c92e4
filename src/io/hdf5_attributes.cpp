#include "meshwise/io/hdf5_attributes.hpp"

#include <vector>

#include <fmt/format.h>

#include "io/agreement.hpp"
#include "io/attribute_values.hpp"
#include "io/draft.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

using detail::agreed, detail::checked, detail::Handle;

constexpr std::int64_t room_of_one = 1 << 10;

Handle open_object(hid_t file, const std::string& name) {
  if (!detail::exists(file, name)) throw CheckpointError(fmt::format("there is no {}; {}", name, detail::contents(file)));
  return {checked(H5Oopen(file, name.c_str(), H5P_DEFAULT), "open " + name), H5Oclose};
}

// All are made under names nobody looks for before the first old one goes.
void replace_attributes(hid_t object, const Attributes& attributes) {
  const auto unfinished = [](const std::string& name) { return ".meshwise-unfinished-" + name; };
  std::vector<std::string> made;
  try {
    for (const auto& [name, value] : attributes) {
      if (std::holds_alternative<std::monostate>(value)) continue;
      if (name.empty()) throw CheckpointError("an attribute needs a name");
      if (checked(H5Aexists(object, unfinished(name).c_str()), "look for an attribute") > 0)
        checked(H5Adelete(object, unfinished(name).c_str()), "remove an unfinished attribute");
      made.push_back(name);
      detail::make_attribute(object, unfinished(name), value);
    }
  } catch (...) {
    for (const auto& name : made) H5Adelete(object, unfinished(name).c_str());
    throw;
  }
  for (const auto& name : made) {
    if (checked(H5Aexists(object, name.c_str()), "look for an attribute") > 0)
      checked(H5Adelete(object, name.c_str()), "replace an attribute");
    checked(H5Arename(object, unfinished(name).c_str(), name.c_str()), "name an attribute");
  }
}

}  // namespace

Attributes read_attributes(const std::string& file, const std::string& object) {
  const auto ticket = detail::enter_world_call({"io::read_attributes", detail::hash_text("io::read_attributes")});
  const auto call = fmt::format("io::read_attributes('{}', '{}')", file, object);
  detail::same_call("io::read_attributes", call, ticket);
  return detail::unpack_attributes(agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const detail::QuietErrors quiet;
    const auto open = detail::open_file(file, false);
    return detail::pack(detail::attributes_of(open_object(open, detail::object_name(object))));
  })[0]);
}

void write_attributes(const std::string& file, const std::string& object, const Attributes& attributes) {
  const auto ticket = detail::enter_world_call({"io::write_attributes", detail::hash_text("io::write_attributes")});
  const auto packed = detail::pack(attributes);
  std::string names;
  for (const auto& [name, value] : attributes) names += (names.empty() ? "" : ", ") + name;
  const auto call = fmt::format("io::write_attributes('{}', '{}', {{{}}})", file, object, detail::shortened(names));
  detail::same_call("io::write_attributes", fmt::format("{} of values {:016x}", call, detail::hash_text(packed)), ticket);
  agreed(call, ticket, [&] {
    if (process_index() != 0) return std::string();
    const detail::QuietErrors quiet;
    {
      const auto open = detail::open_file(file, true);  // nothing of the file changes if it is none, or has no such object
      open_object(open, detail::object_name(object));
    }
    detail::reserve(file, static_cast<std::int64_t>(packed.size()) + room_of_one * static_cast<std::int64_t>(attributes.size()));
    auto open = detail::open_file(file, true);
    auto there = open_object(open, detail::object_name(object));
    replace_attributes(there, attributes);
    checked(there.close(), "finish the object");
    checked(open.close(), "finish the file");
    detail::sync_file(file);
    return std::string();
  });
}

}  // namespace meshwise::io
