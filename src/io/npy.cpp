#include "meshwise/io/npy.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/disk.hpp"
#include "io/npy_header.hpp"
#include "io/placed.hpp"
#include "io/write_whole.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

using detail::agreed, detail::Region;

constexpr std::int64_t most_staged = 1 << 20, always_staged = 1 << 16, worth_reading = 16;

void swap_bytes(std::byte* values, std::int64_t bytes, Dtype dtype) {
  const auto number = static_cast<std::int64_t>(itemsize(dtype)) / (is_complex(dtype) ? 2 : 1);
  for (auto* p = values; p != values + bytes; p += number) std::reverse(p, p + number);
}

// The values of a file, read in stretches: what lies between the elements wanted is read too where that costs less than a call for each.
class NpyFile {
 public:
  NpyFile(const std::string& path, const detail::NpyHeader& header)
      : header_(header),
        file_(detail::DiskFile::open(path)),
        strides_(row_major_strides(Shape(in_file_order(header.found.shape.lengths())))) {}

  LocalArray read(const Region& wanted) {
    const auto item = static_cast<std::int64_t>(itemsize(header_.found.dtype));
    LocalArray out(wanted.shape, header_.found.dtype);
    const Region region{Shape(in_file_order(wanted.shape.lengths())), in_file_order(wanted.start), in_file_order(wanted.step)};
    std::vector<std::int64_t> axes(static_cast<std::size_t>(out.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
    if (header_.is_fortran) std::reverse(axes.begin(), axes.end());
    const auto ordered = out.transposed(axes);
    const auto small_enough = [&](const Index& box) {
      const auto bytes = span(region, box) * item;
      return bytes <= most_staged && (bytes <= always_staged || bytes <= worth_reading * box.num_elements() * item);
    };
    detail::cut(Index::whole(region.shape), small_enough, [&](const Index& box) { read_box(region, box, ordered); });
    return out;
  }

 private:
  /// Axes from the one whose neighbours lie farthest apart.
  PerAxis<std::int64_t> in_file_order(const PerAxis<std::int64_t>& axes) const {
    if (!header_.is_fortran) return axes;
    return PerAxis<std::int64_t>(std::reverse_iterator(axes.end()), std::reverse_iterator(axes.begin()));
  }

  /// Elements from a box's first to its last in the file.
  std::int64_t span(const Region& region, const Index& box) const {
    std::int64_t last = 0;
    for (std::size_t d = 0; d < strides_.size(); ++d) last += (box[static_cast<std::int64_t>(d)].size() - 1) * region.step[d] * strides_[d];
    return last + 1;
  }

  void read_box(const Region& region, const Index& box, const LocalArray& out) {
    const auto dtype = header_.found.dtype;
    const auto item = static_cast<std::int64_t>(itemsize(dtype));
    if (!staging_.block()) staging_ = LocalArray({most_staged / item}, dtype);
    std::int64_t first = 0;
    auto steps = strides_;
    for (std::size_t d = 0; d < steps.size(); ++d) {
      first += (region.start[d] + box[static_cast<std::int64_t>(d)].start * region.step[d]) * strides_[d];
      steps[d] *= region.step[d];
    }
    const auto bytes = span(region, box) * item;
    file_.read({staging_.data(), static_cast<std::size_t>(bytes)}, header_.begin + first * item);
    if (header_.is_swapped) swap_bytes(staging_.data(), bytes, dtype);
    if (dtype == bool_)
      for (auto* p = staging_.data(); p != staging_.data() + bytes; ++p) *p = std::byte{*p != std::byte{0}};
    copy_values(LocalArray(box.shape(), dtype, staging_.block(), 0, std::move(steps)), out.box(box));
  }

  detail::NpyHeader header_;
  detail::DiskFile file_;
  PerAxis<std::int64_t> strides_{};  // in file order, in elements
  LocalArray staging_{};
};

Array read_onto(const std::string& file, const Target& target, const std::string& where, const ReadOptions& options) {
  const auto ticket = detail::enter_world_call({"io::read_npy", detail::hash_text("io::read_npy")});
  const auto call = fmt::format("io::read_npy('{}'{})", file, detail::words_of(options));
  detail::same_call("io::read_npy", call + where, ticket);
  const auto packed = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    detail::PackedText text;
    detail::pack(text, detail::read_npy_header(file).found);
    return text.text();
  })[0];
  detail::UnpackedText text(packed);
  const auto found = detail::unpack_found(text);
  detail::Placed placed(call, found, target, options);
  agreed(call, ticket, [&] {
    if (!placed.is_needed_here()) return std::string();
    const auto header = detail::read_npy_header(file);
    if (header.found != found)
      throw CheckpointError(fmt::format("here it is {}, for rank 0 it is {}: do all ranks see the same file?",
                                        detail::type_text(header.found), detail::type_text(found)));
    NpyFile source(file, header);
    placed.read([&](const Region& region) { return source.read(region); });
    return std::string();
  });
  return placed.array();
}

}  // namespace

Array read_npy(const std::string& file, const Sharding& sharding, const ReadOptions& options) {
  return read_onto(file, sharding, " on " + detail::words_of(sharding), options);
}

Array read_npy(const std::string& file, const ReadOptions& options) { return read_onto(file, {}, {}, options); }

void write_npy(const std::string& file, const Array& x) {
  const auto ticket = detail::enter_world_call({"io::write_npy", detail::hash_text("io::write_npy")});
  const auto call = fmt::format("io::write_npy('{}', {})", file, type_string(x));
  detail::same_call("io::write_npy",
                    fmt::format("{} on {}{}", call, detail::words_of(x.sharding()), x.is_deleted() ? ", a deleted array" : ""), ticket);
  detail::check_alive(x, "io::write_npy", "x");
  if (x.dtype() == bfloat16) throw DtypeError(call + ": NumPy has no bfloat16; x.astype(float32) holds the same values");
  detail::write_whole(call, ticket, {x}, [&] { return detail::begin_draft(file, detail::npy_header({x.dtype(), x.shape()}), x.nbytes()); });
}

}  // namespace meshwise::io
