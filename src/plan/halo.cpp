#include "plan/halo.hpp"

#include <algorithm>

namespace meshwise::detail {

namespace {

std::int64_t modulo(std::int64_t i, std::int64_t n) { return (i % n + n) % n; }

// Which element of an axis of length n stands at position i, counted from the first element.
std::int64_t element_at(std::int64_t i, std::int64_t n, PadMode mode) {
  switch (mode) {
    case PadMode::edge:
      return std::clamp<std::int64_t>(i, 0, n - 1);
    case PadMode::wrap:
      return modulo(i, n);
    case PadMode::symmetric: {
      const auto k = modulo(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
    default: {
      if (n == 1) return 0;
      const auto k = modulo(i, 2 * (n - 1));
      return k < n ? k : 2 * (n - 1) - k;
    }
  }
}

Range elements_of(const ElementRun& run) {
  const auto last = run.first + run.step * (run.count - 1);
  return {std::min(run.first, last), std::max(run.first, last) + 1};
}

// One axis: what each part's device is made of, and from which parts.
struct Line {
  const Reach& reach;
  std::vector<std::vector<ElementRun>> runs{};  // of each part, in the widened array

  Line(const Reach& reach_, std::optional<PadMode> mode) : reach(reach_) {
    const auto longest = reach.longest();
    for (std::int64_t t = 0; t < reach.parts(); ++t) {
      runs.push_back(runs_of(reach.wanted[static_cast<std::size_t>(t)], reach.length, mode));
      for (auto& run : runs.back()) run.to += t * longest;
    }
  }

  // The parts whose devices want something of part `own`.
  std::vector<std::int64_t> takers(std::int64_t own) const {
    const auto mine = part(own, reach.parts(), reach.length);
    std::vector<std::int64_t> out;
    for (std::int64_t t = 0; t < reach.parts(); ++t)
      if (std::ranges::any_of(runs[static_cast<std::size_t>(t)],
                              [&](const ElementRun& run) { return !intersect(elements_of(run), mine).empty(); }))
        out.push_back(t);
    return out;
  }
};

}  // namespace

std::vector<ElementRun> runs_of(Range wanted, std::int64_t n, std::optional<PadMode> mode) {
  std::vector<ElementRun> runs;
  if (!mode) {
    const auto there = intersect(wanted, {0, n});
    if (!there.empty()) runs.push_back({there.start - wanted.start, there.start, 1, there.size()});
    return runs;
  }
  for (auto at = wanted.start; at < wanted.stop;) {
    const auto first = element_at(at, n, *mode);
    const auto step = at + 1 < wanted.stop ? element_at(at + 1, n, *mode) - first : 1;
    std::int64_t count = 1;
    if (step == 1 || step == -1)
      while (at + count < wanted.stop && element_at(at + count, n, *mode) == first + count * step) ++count;
    runs.push_back({at - wanted.start, first, count > 1 ? step : 1, count});
    at += count;
  }
  return runs;
}

std::int64_t Reach::longest() const {
  std::int64_t most = 0;
  for (const auto& range : wanted) most = std::max(most, range.size());
  return most;
}

bool Reach::stays_in_parts() const {
  for (std::int64_t t = 0; t < parts(); ++t) {
    const auto own = part(t, parts(), length);
    const auto& range = wanted[static_cast<std::size_t>(t)];
    if (!range.empty() && (range.start < own.start || range.stop > own.stop)) return false;
  }
  return true;
}

Reach rim_reach(std::int64_t n, std::int64_t parts, std::int64_t before, std::int64_t after) {
  Reach out{n};
  for (std::int64_t t = 0; t < parts; ++t) {
    const auto own = part(t, parts, n);
    out.wanted.push_back(own.empty() ? Range{own.start, own.start} : Range{own.start - before, own.stop + after});
  }
  return out;
}

WindowAxis window_axis(std::int64_t n, std::int64_t size, std::int64_t stride, bool same) {
  WindowAxis out{size, stride};
  if (!same) {
    out.count = n < size ? 0 : (n - size) / stride + 1;
    return out;
  }
  out.count = (n + stride - 1) / stride;
  out.before = std::max<std::int64_t>((out.count - 1) * stride + size - n, 0) / 2;
  return out;
}

Range elements_of(const WindowAxis& axis, const Range& windows, std::int64_t n) {
  return intersect({windows.start * axis.stride - axis.before, (windows.stop - 1) * axis.stride - axis.before + axis.size}, {0, n});
}

Reach window_reach(std::int64_t n, std::int64_t parts, const WindowAxis& axis) {
  Reach out{n};
  for (std::int64_t t = 0; t < parts; ++t) {
    const auto own = part(t, parts, axis.count);
    if (own.empty())
      out.wanted.push_back({});
    else
      out.wanted.push_back(elements_of(axis, own, n));
  }
  return out;
}

std::vector<HaloMove> halo_moves(std::span<const AxisSplit> splits, std::span<const Reach> reaches, std::optional<PadMode> mode,
                                 std::span<const std::int64_t> positions) {
  std::vector<Line> lines;
  for (const auto& reach : reaches) lines.emplace_back(reach, mode);
  const auto ndim = lines.size();
  // Tiles by their row-major number: those of these devices, and those that want something of theirs.
  std::vector<std::int64_t> own, tiles;
  for (const auto position : positions) {
    own.push_back(0);
    std::vector<std::int64_t> takers{0};
    for (std::size_t d = 0; d < ndim; ++d) {
      const auto part = splits[d].part_at(position), parts = reaches[d].parts();
      own.back() = own.back() * parts + part;
      std::vector<std::int64_t> wider;
      for (const auto tile : takers)
        for (const auto taker : lines[d].takers(part)) wider.push_back(tile * parts + taker);
      takers = std::move(wider);
    }
    tiles.push_back(own.back());
    tiles.insert(tiles.end(), takers.begin(), takers.end());
  }
  std::ranges::sort(tiles);
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  const auto comes_from = [&](std::int64_t position, const HaloMove& move) {
    for (std::size_t d = 0; d < ndim; ++d)
      if (intersect(elements_of(move[d]), part(splits[d].part_at(position), reaches[d].parts(), reaches[d].length)).empty()) return false;
    return true;
  };

  std::vector<HaloMove> moves;
  for (const auto tile : tiles) {
    std::vector<HaloMove> boxes{HaloMove(ndim, ElementRun{})};
    auto rest = tile;
    for (auto d = ndim; d-- > 0;) {
      const auto& runs = lines[d].runs[static_cast<std::size_t>(rest % reaches[d].parts())];
      rest /= reaches[d].parts();
      std::vector<HaloMove> more;
      for (const auto& box : boxes)
        for (const auto& run : runs) {
          more.push_back(box);
          more.back()[d] = run;
        }
      boxes = std::move(more);
    }
    const bool is_own = std::ranges::find(own, tile) != own.end();
    for (const auto& box : boxes)
      if (is_own || std::ranges::any_of(positions, [&](std::int64_t position) { return comes_from(position, box); })) moves.push_back(box);
  }
  return moves;
}

}  // namespace meshwise::detail
