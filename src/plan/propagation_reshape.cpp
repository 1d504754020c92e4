// Reshape: which entries survive when axes are split and merged (layout-rules sections 3 and 5).
#include <algorithm>
#include <numeric>

#include "plan/propagation_rules.hpp"

namespace meshwise::detail {
namespace {

// Axes of length 1 carry no elements to split; both books leave them out and give them empty entries.
struct Dense {
  std::vector<std::int64_t> lengths;
  std::vector<std::size_t> axes;  // where each stood
  explicit Dense(const Shape& shape) {
    for (std::int64_t d = 0; d < shape.ndim(); ++d)
      if (shape[d] != 1) {
        lengths.push_back(shape[d]);
        axes.push_back(static_cast<std::size_t>(d));
      }
  }
  Entries gather(const Entries& entries) const {
    Entries out;
    for (const auto d : axes) out.push_back(entries[d]);
    return out;
  }
  Entries scatter(Entries dense, std::int64_t ndim) const {
    Entries out(static_cast<std::size_t>(ndim));
    for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = std::move(dense[i]);
    return out;
  }
};

// Walks both shapes from the major end. Nothing: a minor axis is split though what stands before it is not split to single
// elements, so its parts are not runs of the result.
std::optional<Entries> carry(const Mesh& mesh, const std::vector<std::int64_t>& from, const Entries& entries,
                             const std::vector<std::int64_t>& to) {
  Entries out;
  std::size_t next = 0;
  std::int64_t length = 1;  // what is left of the source axes taken so far
  Entry entry;
  bool open = false;
  for (const auto wanted : to) {
    if (!open) {
      length = from[next];
      entry = entries[next++];
    }
    while (length % wanted != 0) {
      if (!entries[next].empty() && length != parts_of(mesh, entry)) return std::nullopt;
      length *= from[next];
      entry += entries[next++];
    }
    open = length != wanted;
    if (!open) {
      out.push_back(std::move(entry));
      entry.clear();
      continue;
    }
    const auto share = std::gcd(wanted, parts_of(mesh, entry));
    // Where the share falls inside a mesh axis no spec can say it: that axis and those after it are dropped.
    std::size_t taken = 0;
    std::int64_t parts = 1;
    while (taken < entry.size() && share % (parts * mesh.axis_sizes()[entry[taken]]) == 0)
      parts *= mesh.axis_sizes()[entry[taken++]];
    out.push_back(entry.substr(0, taken));
    entry = parts == share && share == wanted ? entry.substr(taken) : Entry{};
    length /= wanted;
  }
  return out;
}

// Cuts `fine` into consecutive runs whose products are `coarse`: how many each takes. Nothing where they do not fall together.
std::optional<std::vector<std::size_t>> runs(const std::vector<std::int64_t>& coarse, const std::vector<std::int64_t>& fine) {
  std::vector<std::size_t> out;
  std::size_t next = 0;
  for (const auto length : coarse) {
    const auto start = next;
    std::int64_t product = 1;
    while (product != length && next < fine.size()) product *= fine[next++];
    if (product != length) return std::nullopt;
    out.push_back(next - start);
  }
  const auto longer = std::ranges::count_if(out, [](std::size_t n) { return n != 1; });
  if (next != fine.size() || longer > 1) return std::nullopt;
  return out;
}

// Deals an entry to axes, major first. Nothing where a mesh axis does not divide what is left of the axis it comes to.
std::optional<Entries> deal(const Mesh& mesh, const Entry& entry, std::span<const std::int64_t> lengths) {
  Entries out(lengths.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    for (auto left = lengths[i]; left > 1 && next < entry.size(); ++next) {
      const auto size = mesh.axis_sizes()[entry[next]];
      if (left % size != 0) return std::nullopt;
      left /= size;
      out[i].push_back(entry[next]);
    }
  if (parts_of(mesh, entry.substr(next)) > 1) return std::nullopt;
  return out;
}

std::optional<Entries> split_one(const Mesh& mesh, const Dense& from, const Entries& entries, const Dense& to) {
  const auto counts = runs(from.lengths, to.lengths);
  if (!counts) return std::nullopt;
  Entries out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if ((*counts)[i] == 1) {
      out.push_back(entries[i]);
      continue;
    }
    const auto dealt = deal(mesh, entries[i], std::span(to.lengths).subspan(out.size(), (*counts)[i]));
    if (!dealt) return std::nullopt;
    out.insert(out.end(), dealt->begin(), dealt->end());
  }
  return out;
}

std::optional<Entries> merge_one(const Mesh& mesh, const Dense& from, const Entries& entries, const Dense& to) {
  const auto counts = runs(to.lengths, from.lengths);
  if (!counts) return std::nullopt;
  Entries out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < to.lengths.size(); ++i) {
    const auto end = next + (*counts)[i];
    if ((*counts)[i] == 1) {
      out.push_back(entries[next++]);
      continue;
    }
    Entry joined;
    bool gap = false;
    for (; next < end; ++next) {
      if (gap && !entries[next].empty()) return std::nullopt;
      gap = gap || entries[next].empty();
      joined += entries[next];
    }
    const auto dealt = deal(mesh, joined, std::span(to.lengths).subspan(i, 1));
    if (!dealt) return std::nullopt;
    out.push_back((*dealt)[0]);
  }
  return out;
}

}  // namespace

Entries auto_reshape(const Mesh& mesh, const Shape& shape, const Entries& entries, const Shape& result) {
  const Dense from(shape);
  const Dense to(result);
  const auto own = from.gather(entries);
  if (from.lengths == to.lengths) return to.scatter(own, result.ndim());
  const Entries whole(static_cast<std::size_t>(result.ndim()));
  if (all_empty(own) || shape.num_elements() == 0) return whole;
  if (auto carried = carry(mesh, from.lengths, own, to.lengths)) return to.scatter(std::move(*carried), result.ndim());
  for (std::size_t first = 0; first < own.size(); ++first)
    for (auto end = own.size(); end > first; --end) {
      Entries kept(own.size());
      std::copy(own.begin() + static_cast<std::ptrdiff_t>(first), own.begin() + static_cast<std::ptrdiff_t>(end),
                kept.begin() + static_cast<std::ptrdiff_t>(first));
      if (all_empty(kept)) continue;
      if (auto carried = carry(mesh, from.lengths, kept, to.lengths)) return to.scatter(std::move(*carried), result.ndim());
    }
  return whole;
}

std::optional<Entries> explicit_reshape(const Mesh& mesh, const Shape& shape, const Entries& entries, const Shape& result) {
  const Entries whole(static_cast<std::size_t>(result.ndim()));
  if (all_empty(entries)) return whole;
  const Dense from(shape);
  const Dense to(result);
  const auto own = from.gather(entries);
  std::optional<Entries> out;
  if (from.lengths == to.lengths) out = own;
  else if (from.lengths.size() < to.lengths.size()) out = split_one(mesh, from, own, to);
  else if (from.lengths.size() > to.lengths.size()) out = merge_one(mesh, from, own, to);
  if (!out) return std::nullopt;
  return to.scatter(std::move(*out), result.ndim());
}

}  // namespace meshwise::detail
