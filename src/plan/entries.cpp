#include "plan/entries.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {

Entries read_spec(const Mesh& mesh, const PartitionSpec& spec, std::int64_t ndim, Units units) {
  Entries out(static_cast<std::size_t>(ndim));
  const auto& sizes = mesh.axis_sizes();
  const auto given = std::min(spec.entries().size(), out.size());
  for (std::size_t d = 0; d < given; ++d)
    for (const auto& name : spec.entries()[d].axes()) {
      const auto axis = mesh.find_axis(name);
      if (!axis)
        throw UnknownAxisError(fmt::format("spec {} names axis '{}', which {} does not have", to_string(spec), name,
                                           to_string(mesh)));
      if (units == Units::kept || sizes[*axis] > 1) out[d].push_back(static_cast<char16_t>(*axis));
    }
  return out;
}

namespace {

SpecEntry write_entry(const Mesh& mesh, const Entry& entry) {
  std::vector<std::string> names;
  names.reserve(entry.size());
  for (const auto axis : entry) names.push_back(mesh.axis_names()[axis]);
  return SpecEntry(std::move(names));
}

PartitionSpec write(const Mesh& mesh, const Entries& entries, std::size_t count) {
  std::vector<SpecEntry> out;
  out.reserve(count);
  for (std::size_t d = 0; d < count; ++d) out.push_back(write_entry(mesh, entries[d]));
  return PartitionSpec(std::move(out));
}

}  // namespace

PartitionSpec write_short(const Mesh& mesh, const Entries& entries) {
  auto count = entries.size();
  while (count > 0 && entries[count - 1].empty()) --count;
  return write(mesh, entries, count);
}

PartitionSpec write_full(const Mesh& mesh, const Entries& entries) { return write(mesh, entries, entries.size()); }

std::int64_t parts_of(const Mesh& mesh, const Entry& entry) {
  std::int64_t parts = 1;
  for (const auto axis : entry) parts *= mesh.axis_sizes()[axis];
  return parts;
}

std::int64_t tiles_of(const Mesh& mesh, const Entries& entries) {
  std::int64_t tiles = 1;
  for (const auto& entry : entries) tiles *= parts_of(mesh, entry);
  return tiles;
}

bool all_empty(const Entries& entries) {
  return std::ranges::all_of(entries, [](const Entry& e) { return e.empty(); });
}

bool repeats_an_axis(const Entries& entries) {
  for (std::size_t d = 0; d < entries.size(); ++d)
    for (std::size_t i = 0; i < entries[d].size(); ++i) {
      const auto axis = entries[d][i];
      if (entries[d].find(axis, i + 1) != Entry::npos) return true;
      for (std::size_t later = d + 1; later < entries.size(); ++later)
        if (entries[later].find(axis) != Entry::npos) return true;
    }
  return false;
}

std::optional<Entries> merge(const Entries& a, const Entries& b) {
  Entries out(a);
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (b[d].empty() || out[d] == b[d]) continue;
    if (!out[d].empty()) return std::nullopt;
    out[d] = b[d];
  }
  if (repeats_an_axis(out)) return std::nullopt;
  return out;
}

std::optional<Entries> refine(const Entries& a, const Entries& b) {
  for (std::size_t d = 0; d < a.size(); ++d)
    if (!b[d].starts_with(a[d])) return merge(a, b);
  return b;
}

std::size_t most_tiles(const Mesh& mesh, std::span<const Entries> list) {
  std::size_t best = 0;
  auto most = tiles_of(mesh, list[0]);
  for (std::size_t i = 1; i < list.size(); ++i)
    if (const auto tiles = tiles_of(mesh, list[i]); tiles > most) {
      best = i;
      most = tiles;
    }
  return best;
}

Entries align(const Entries& entries, const Shape& own, const Shape& result) {
  Entries out(static_cast<std::size_t>(result.ndim()));
  const auto shift = result.ndim() - own.ndim();
  for (std::int64_t d = 0; d < own.ndim(); ++d)
    if (own[d] == result[d + shift]) out[static_cast<std::size_t>(d + shift)] = entries[static_cast<std::size_t>(d)];
  return out;
}

Subscripts Subscripts::parse(const std::string& text, std::size_t operands) {
  Subscripts out;
  out.terms.emplace_back();
  bool in_result = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      in_result = true;
      ++i;
    } else if (c == ',') {
      out.terms.emplace_back();
    } else {
      (in_result ? out.result : out.terms.back()).push_back(c);
    }
  }
  if (!in_result || out.terms.size() != operands)
    throw ShapeError(fmt::format("subscripts '{}' for {} operands: one term per operand and a result are needed, as in 'ij,jk->ik'",
                                 text, operands));
  return out;
}

}  // namespace meshwise::detail
