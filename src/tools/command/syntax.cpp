#include "tools/command/syntax.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "meshwise/base/error.hpp"

namespace meshwise::command {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text, const char* wanted) {
  throw Error(fmt::format("{} {}: it is written {}.", option, text.empty() ? "''" : text, wanted));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const auto end = text.find(separator, at);
    parts.push_back(text.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) return parts;
    at = end + 1;
  }
}

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last || value < 0) return std::nullopt;
  return value;
}

constexpr const char* mesh_syntax = "SIZES:NAMES, as in 512,8:data,model";
constexpr std::int64_t most_devices = std::int64_t{1} << 40;

}  // namespace

Shape parse_shape(const std::string& text) {
  Shape shape;
  if (text.empty()) return shape;
  for (const auto& part : split(text, ',')) {
    const auto length = number(part);
    if (!length) refuse("--shape", text, "as lengths with commas between them, as in 65536,65536");
    shape.push_back(*length);
  }
  return shape;
}

PartitionSpec parse_spec(const std::string& option, const std::string& text) {
  std::vector<SpecEntry> entries;
  if (text.empty()) return PartitionSpec();
  for (const auto& part : split(text, ',')) {
    if (part.empty()) refuse(option, text, "with an entry for each array axis, as in data,none,x+y (none or -: not split)");
    entries.push_back(part == "-" || part == "none" ? SpecEntry(nullptr) : SpecEntry(split(part, '+')));
  }
  return PartitionSpec(std::move(entries));
}

std::vector<std::int64_t> parse_ids(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> ids;
  constexpr const char* wanted = "as device ids and runs of them, as in 0-3,8,7-4";
  for (const auto& part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = number(part.substr(0, dash)), last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first > most_devices || *last > most_devices) refuse(option, text, wanted);
    const std::int64_t step = *first <= *last ? 1 : -1;
    for (auto id = *first; id != *last + step; id += step) ids.push_back(id);
  }
  return ids;
}

std::int64_t MeshText::devices() const {
  std::int64_t product = 1;
  for (const auto size : sizes) product *= size;
  return product;
}

MeshText parse_mesh(const std::string& option, const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) refuse(option, text, mesh_syntax);
  MeshText mesh;
  std::int64_t product = 1;
  for (const auto& part : split(text.substr(0, colon), ',')) {
    const auto size = number(part);
    if (!size || *size == 0 || *size > most_devices / product) refuse(option, text, mesh_syntax);
    product *= *size;
    mesh.sizes.push_back(*size);
  }
  mesh.names = split(text.substr(colon + 1), ',');
  if (mesh.names.size() != mesh.sizes.size()) refuse(option, text, "with a name for each size: SIZES:NAMES, as in 512,8:data,model");
  return mesh;
}

}  // namespace meshwise::command
