#include "meshwise/tools/visualize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "meshwise/plan/propagation.hpp"

namespace meshwise {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::size_t most_rows = 16, most_lines = 6;
constexpr const char* dots = "…";

/// One direction of the picture: the array axis, if one is drawn there, and its parts that hold something.
struct Side {
  std::optional<std::int64_t> axis{};
  std::vector<std::int64_t> parts{0};    // part numbers, in order; a gap where the middle is left out
  std::vector<std::int64_t> lengths{1};  // elements of each
  std::optional<std::size_t> gap{};      // position in `parts` before which parts are left out
};

Side side_of(const Sharding& sharding, const Shape& shape, std::optional<std::int64_t> axis) {
  Side side;
  if (!axis) return side;
  side.axis = axis;
  side.parts.clear();
  side.lengths.clear();
  const auto parts = sharding.split(*axis).parts;
  for (std::int64_t t = 0; t < parts; ++t)
    if (const auto range = part(t, parts, shape[*axis]); !range.empty()) {
      side.parts.push_back(t);
      side.lengths.push_back(range.size());
    }
  return side;
}

/// Keeps the first and last parts, `count` in all.
void shorten(Side& side, std::size_t count) {
  if (side.parts.size() <= count) return;
  const auto first = (count + 1) / 2, drop = side.parts.size() - count;
  const auto cut = [&](auto& list) {
    const auto at = list.begin() + static_cast<std::ptrdiff_t>(first);
    list.erase(at, at + static_cast<std::ptrdiff_t>(drop));
  };
  cut(side.parts);
  cut(side.lengths);
  side.gap = first;
}

std::string joined_ids(const Ids& ids, bool runs) {
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (runs && end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ids[i]);
    if (end - i > 1) text += fmt::format("-{}", ids[end - 1]);
    i = end;
  }
  return text;
}

/// Ways to write a cell, the wordiest first.
std::string label(const Ids& ids, int style) { return (style % 2 == 0 ? "CPU " : "") + joined_ids(ids, style >= 2); }
constexpr int styles = 4;

/// Breaks a label behind commas.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at < text.size();) {
    const auto comma = std::min(text.find(',', at), text.size() - 1);
    const auto word = text.substr(at, comma + 1 - at);
    if (!lines.back().empty() && lines.back().size() + word.size() > width) lines.emplace_back();
    lines.back() += word;
    at = comma + 1;
  }
  if (lines.size() > most_lines) {
    lines.resize(most_lines);
    lines.back() = dots;
  }
  return lines;
}

std::size_t shown_width(const std::string& text) { return text == dots ? 1 : text.size(); }

std::string centred(const std::string& text, std::size_t width) {
  const auto shown = shown_width(text);
  const auto left = shown < width ? (width - shown) / 2 : 0;
  return std::string(left, ' ') + text + std::string(width > shown + left ? width - shown - left : 0, ' ');
}

/// `least` for the shortest part and proportionally more for longer ones; equal sizes where that does not fit.
std::vector<std::size_t> sizes(const std::vector<std::int64_t>& lengths, std::size_t least, std::size_t room) {
  const auto shortest = *std::min_element(lengths.begin(), lengths.end());
  std::vector<std::size_t> out;
  std::size_t sum = 0;
  for (const auto n : lengths) {
    const auto size = std::round(static_cast<double>(n) / static_cast<double>(shortest) * static_cast<double>(least));
    out.push_back(std::max<std::size_t>(least, static_cast<std::size_t>(size)));
    sum += out.back();
  }
  if (sum <= room) return out;
  // One more for the longer parts still shows that they are.
  sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] = least + (lengths[i] > shortest ? 1 : 0);
  return sum <= room ? out : std::vector<std::size_t>(lengths.size(), least);
}

class Picture {
 public:
  Picture(const Sharding& sharding, const Shape& shape, std::size_t width) : sharding_(sharding), shape_(shape), width_(width) {
    choose_axes();
    // A cell takes at least the longest id, a comma behind it where there are several, and a border.
    const auto drawn = static_cast<std::int64_t>(rows_.parts.size() * columns_.parts.size());
    const auto* comma = sharding_.devices().size() > drawn ? "," : "";
    for (const auto id : sharding_.devices().ids()) word_ = std::max(word_, fmt::format("{}{}", id, comma).size());
    if (columns_.parts.size() * (word_ + 1) + 1 > width_) shorten(columns_, std::max<std::size_t>(2, (width_ - 5) / (word_ + 1)));
    shorten(rows_, most_rows);
    gather();
    fit();
  }

  std::string text() const {
    std::string out;
    const auto heights = sizes(rows_.lengths, lines_, 4 * most_rows);
    for (std::size_t i = 0; i < rows_.parts.size(); ++i) {
      out += rule(i == 0 ? "┌┬┐" : "├┼┤");
      if (rows_.gap == i) out += bar([](std::size_t) { return "⋮"; }) + rule("├┼┤");
      for (std::size_t line = 0; line < heights[i]; ++line)
        out += bar([&](std::size_t j) -> std::string {
          const auto& words = cells_[i][j];
          const auto top = (heights[i] - words.size()) / 2;
          return line >= top && line - top < words.size() ? words[line - top] : "";
        });
    }
    return out + rule("└┴┘");
  }

  std::string legend() const {
    std::vector<std::string> parts;
    for (std::int64_t d = 0; d < shape_.ndim(); ++d) {
      const auto entry = sharding_.spec()[d].axes();
      if (sharding_.split(d).parts == 1) continue;
      std::string over;
      for (const auto& axis : entry) over += fmt::format("{}'{}'", over.empty() ? "" : ", ", axis);
      const auto* where = rows_.axis == d ? "downwards" : columns_.axis == d ? "across" : "not drawn";
      parts.push_back(fmt::format("axis {}: {} over {}, {}", d, shape_[d], over, where));
    }
    if (parts.empty()) return "";
    const auto line = fmt::format("{}\n", fmt::join(parts, "; "));
    return line.size() <= width_ ? line : fmt::format("{}\n", fmt::join(parts, "\n"));
  }

 private:
  void choose_axes() {
    std::vector<std::int64_t> split;
    for (std::int64_t d = 0; d < shape_.ndim(); ++d)
      if (sharding_.split(d).parts > 1) split.push_back(d);
    const bool across = split.size() == 1 && split[0] == shape_.ndim() - 1;
    if (across)
      columns_ = side_of(sharding_, shape_, split[0]);
    else if (!split.empty())
      rows_ = side_of(sharding_, shape_, split[0]);
    if (split.size() > 1) columns_ = side_of(sharding_, shape_, split[1]);
  }

  /// One pass over the devices, keeping those whose part is drawn.
  void gather() {
    std::map<std::pair<std::int64_t, std::int64_t>, Ids> held;
    for (const auto r : rows_.parts)
      for (const auto c : columns_.parts) held[{r, c}];
    for (std::int64_t p = 0; p < sharding_.devices().size(); ++p) {
      if (sharding_.index_at(shape_, p).empty()) continue;
      const auto r = rows_.axis ? sharding_.split(*rows_.axis).part_at(p) : 0,
                 c = columns_.axis ? sharding_.split(*columns_.axis).part_at(p) : 0;
      if (const auto cell = held.find({r, c}); cell != held.end()) cell->second.push_back(sharding_.devices().id(p));
    }
    for (const auto r : rows_.parts)
      for (const auto c : columns_.parts) ids_.push_back(std::move(held[{r, c}]));
  }

  std::size_t room() const {
    const auto borders = columns_.parts.size() + 1 + (columns_.gap ? 4 : 0);
    return width_ > borders ? width_ - borders : 0;
  }

  /// The wordiest way of writing that fits; else the labels are wrapped.
  void fit() {
    for (int style = 0; style < styles; ++style) {
      std::size_t longest = 0;
      for (const auto& ids : ids_) longest = std::max(longest, label(ids, style).size());
      if ((longest + 2) * columns_.parts.size() <= room()) return write(style, longest + 2, longest);
    }
    const auto least = std::max(word_, room() / columns_.parts.size());
    write(styles - 1, least, least);
  }

  void write(int style, std::size_t least, std::size_t text_width) {
    widths_ = sizes(columns_.lengths, least, room());
    std::size_t next = 0;
    for (std::size_t i = 0; i < rows_.parts.size(); ++i) {
      cells_.emplace_back();
      for (std::size_t j = 0; j < columns_.parts.size(); ++j) {
        cells_.back().push_back(wrapped(label(ids_[next++], style), text_width));
        lines_ = std::max(lines_, cells_.back().back().size());
      }
    }
  }

  template <class Cell>
  std::string bar(Cell cell) const {
    std::string out = "│";
    for (std::size_t j = 0; j < widths_.size(); ++j) {
      if (columns_.gap == j) out += fmt::format(" {} │", dots);
      const std::string word = cell(j);
      out += (word == "⋮" ? std::string((widths_[j] - 1) / 2, ' ') + word + std::string(widths_[j] - 1 - (widths_[j] - 1) / 2, ' ')
                          : centred(word, widths_[j])) +
             "│";
    }
    return out + "\n";
  }

  /// A horizontal rule; `corners` are its left, middle and right.
  std::string rule(const std::string& corners) const {
    const auto corner = [&](std::size_t i) { return corners.substr(3 * i, 3); };
    std::string out = corner(0);
    for (std::size_t j = 0; j < widths_.size(); ++j) {
      if (columns_.gap == j) out += "───" + corner(1);
      for (std::size_t k = 0; k < widths_[j]; ++k) out += "─";
      out += corner(j + 1 < widths_.size() ? 1 : 2);
    }
    return out + "\n";
  }

  const Sharding& sharding_;
  const Shape& shape_;
  std::size_t width_;
  Side rows_{}, columns_{};
  std::vector<Ids> ids_{};
  std::vector<std::vector<std::vector<std::string>>> cells_{};
  std::vector<std::size_t> widths_{};
  std::size_t lines_ = 1, word_ = 1;
};

/// `empty: CPU 1,3` wrapped at the width, or nothing.
std::string empty_parts(const Sharding& sharding, const Shape& shape, std::size_t width) {
  Ids ids;
  for (std::int64_t p = 0; p < sharding.devices().size(); ++p)
    if (sharding.index_at(shape, p).empty()) ids.push_back(sharding.devices().id(p));
  if (ids.empty()) return "";
  std::string out;
  for (const auto& line : wrapped("CPU " + joined_ids(ids, ids.size() > 8), width - 7))
    out += (out.empty() ? "empty: " : "       ") + line + "\n";
  return out;
}

}  // namespace

std::string visualize(const Sharding& sharding, const Shape& shape, std::int64_t width) {
  sharding.check_fits(shape);
  const auto columns = static_cast<std::size_t>(std::clamp<std::int64_t>(width, 16, 80));
  const auto empty = empty_parts(sharding, shape, columns);
  if (shape.num_elements() == 0) return fmt::format("shape {} has no elements\n{}", to_string(shape), empty);
  const Picture picture(sharding, shape, columns);
  return picture.text() + picture.legend() + empty;
}

std::string visualize(const Array& array, std::int64_t width) {
  return type_string(array) + "\n" + visualize(array.sharding(), array.shape(), width);
}

}  // namespace meshwise
