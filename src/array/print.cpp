// Arrays as text: values where they can be read here, else a description. Never communicates, and never makes the whole of a large array.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "array/number_text.hpp"
#include "base/boxes.hpp"
#include "array/state.hpp"
#include "meshwise/array/array.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise {
namespace {

constexpr std::int64_t threshold = 1000, edge = 3;
constexpr std::size_t line_width = 75;

/// An array or its corners: where an axis is cut short, `...` stands in the middle.
struct Sample {
  LocalArray values{};
  std::vector<bool> cut{};
};

using Reader = std::function<void(const Index& box, const LocalArray& out)>;

/// Reads the boxes that NumPy would print: per axis the whole, or the first and last three.
Sample sample(const Shape& shape, Dtype dtype, const Reader& read) {
  Sample out;
  const bool summary = shape.num_elements() > threshold;
  Shape seen;
  for (const auto n : shape) {
    out.cut.push_back(summary && n > 2 * edge);
    seen.push_back(out.cut.back() ? 2 * edge : n);
  }
  out.values = LocalArray(seen, dtype);
  // Bit d of `corner` says which end of the d-th axis; ends that an uncut axis does not have are skipped.
  for (std::uint64_t corner = 0; corner < std::uint64_t{1} << shape.ndim(); ++corner) {
    Index from, to;
    bool exists = true;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) {
      const bool far = (corner >> d & 1) != 0, cut = out.cut[static_cast<std::size_t>(d)];
      exists = exists && (cut || !far);
      from.push_back(!cut ? Range{0, shape[d]} : far ? Range{shape[d] - edge, shape[d]} : Range{0, edge});
      to.push_back(!cut ? Range{0, shape[d]} : far ? Range{edge, 2 * edge} : Range{0, edge});
    }
    if (exists) read(from, out.values.box(to));
  }
  return out;
}

/// NumPy's _formatArray.
class Layout {
 public:
  Layout(const Sample& sample, std::vector<std::string> words) : sample_(sample), words_(std::move(words)) {}
  std::string text() { return nested(0, " ", line_width); }

 private:
  std::string nested(std::int64_t axis, const std::string& indent, std::size_t width) {
    const auto left = sample_.values.ndim() - axis;
    if (left == 0) return words_[next_++];
    const auto length = sample_.values.shape()[axis];
    const bool cut = sample_.cut[static_cast<std::size_t>(axis)];
    std::string done, line = indent;
    for (std::int64_t i = 0; i < length; ++i) {
      if (left == 1) {
        if (cut && i == edge) {
          extend(done, line, "...", width - 1, indent);
          line += ' ';
        }
        extend(done, line, words_[next_++], width - 1, indent);
        if (i + 1 < length) line += ' ';
      } else {
        const auto gap = "\n" + std::string(static_cast<std::size_t>(left - 2), '\n');
        if (cut && i == edge) done += indent + "..." + gap;
        done += indent + nested(axis + 1, indent + " ", width - 1);
        if (i + 1 < length) done += gap;
      }
    }
    if (left == 1) done += line;
    return "[" + done.substr(indent.size()) + "]";
  }

  static void extend(std::string& done, std::string& line, const std::string& word, std::size_t width, const std::string& indent) {
    if (line.size() + word.size() > width && line.size() > indent.size()) {
      line.erase(line.find_last_not_of(' ') + 1);
      done += line + "\n";
      line = indent;
    }
    line += word;
  }

  const Sample& sample_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

std::string values_text(const Shape& shape, Dtype dtype, const Reader& read) {
  if (shape.num_elements() == 0) return "[]";
  const auto seen = sample(shape, dtype, read);
  if (shape.empty()) return detail::scalar_text(dtype, seen.values.data());
  return Layout(seen, detail::aligned_texts(dtype, seen.values.data(), seen.values.size())).text();
}

/// This rank's distinct boxes of x together are the whole.
bool holds_all(const Array& x) {
  std::vector<Index> boxes;
  std::int64_t held = 0;
  for (const auto& shard : x.state()->shards) {
    auto box = x.sharding().index_at(x.shape(), shard.position);
    if (std::find(boxes.begin(), boxes.end(), box) != boxes.end()) continue;
    held += box.num_elements();
    boxes.push_back(std::move(box));
  }
  return !boxes.empty() && held == x.size();
}

void read_shards(const Array& x, const Index& box, const LocalArray& out) {
  for (const auto& shard : detail::ready_shards(x)) {
    const auto held = x.sharding().index_at(x.shape(), shard.position);
    const auto common = detail::intersection(box, held);
    if (!common.empty()) copy_values(shard.data.box(detail::relative(common, held)), out.box(detail::relative(common, box)));
  }
}

}  // namespace

std::string to_string(const LocalArray& values) {
  return values_text(values.shape(), values.dtype(), [&](const Index& box, const LocalArray& out) { copy_values(values.box(box), out); });
}

std::string to_string(const Array& x) {
  using Kind = detail::State::Kind;
  detail::check_running("to_string");
  detail::check_alive(x, "to_string", "x");
  const auto& state = *x.state();
  if (state.kind == Kind::traced) return fmt::format("traced {}", type_string(x));
  if (state.kind == Kind::shards && !holds_all(x))
    return fmt::format("Array(shape={}, dtype={}, sharding={}, devices={})", to_string(x.shape()), name(x.dtype()), to_string(x.sharding()),
                       to_string(x.sharding().devices()));
  return values_text(x.shape(), x.dtype(), [&](const Index& box, const LocalArray& out) {
    if (state.kind == Kind::recipe)
      state.recipe.fill(box, out);
    else if (state.kind == Kind::everywhere)
      copy_values(state.everywhere.box(box), out);
    else
      read_shards(x, box, out);
  });
}

}  // namespace meshwise
