#include "io/checkpoint/read_values.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "io/checkpoint/staging.hpp"
#include "meshwise/base/error.hpp"
#include "plan/storage.hpp"

namespace meshwise::detail {

namespace {

std::int64_t size_of(Dtype dtype) { return static_cast<std::int64_t>(itemsize(dtype)); }

// Where the first and one past the last element of `part` stand in `box`, row by row.
Range span_of(const Index& part, const Index& box) {
  std::int64_t first = 0, last = 0;
  for (std::int64_t axis = 0; axis < box.ndim(); ++axis) {
    first = first * box[axis].size() + part[axis].start - box[axis].start;
    last = last * box[axis].size() + part[axis].stop - 1 - box[axis].start;
  }
  return {first, last + 1};
}

}  // namespace

StepReader::StepReader(std::string folder)
    : folder_(std::move(folder)),
      commit_(read_commit(folder_)),
      manifest_(decode(read_manifest_parts(folder_, commit_))),
      checked_(manifest_.checksums.size()) {}

const StoredRun& StepReader::run_of(const StoredArray& array, const StoredBox& box) const {
  const auto& runs = manifest_.files[static_cast<std::size_t>(box.file)].runs;
  return *std::find_if(runs.begin(), runs.end(), [&](const StoredRun& run) { return run.dtype == array.dtype; });
}

// A block is read whole once, to be checked; later parts of it are read alone, so that no block has to be kept.
void StepReader::fetch(std::int64_t number, const StoredRun& run, std::int64_t from, std::span<std::byte> to) {
  const auto& source = files_[number];
  while (!to.empty()) {
    const auto index = (from - run.offset) / block_bytes;
    const auto begin = run.offset + index * block_bytes, end = std::min(begin + block_bytes, run.offset + run.bytes);
    const auto part = to.first(static_cast<std::size_t>(std::min(std::ssize(to), end - from)));
    if (const auto block = static_cast<std::size_t>(run.first_block + index); checked_[block]) {
      source.read(part, from);
    } else {
      const bool whole = std::ssize(part) == end - begin;
      const auto bytes = whole ? part : std::span(block_.data(), block_.size()).first(static_cast<std::size_t>(end - begin));
      files_.check(run.first_block + index, read_checksummed(source, bytes, begin));
      checked_[block] = true;
      if (!whole) std::memcpy(part.data(), bytes.data() + (from - begin), part.size());
    }
    from += std::ssize(part);
    to = to.subspan(part.size());
  }
}

void StepReader::read(const StoredArray& array, const Index& box, const LocalArray& to) {
  const auto size = size_of(array.dtype);
  std::shared_ptr<StagingBlock> staging;
  for (const auto& stored : manifest_.boxes_of(array)) {
    const auto common = intersection(stored.box, box);
    if (common.empty()) continue;
    const auto& run = run_of(array, stored);
    const auto span = span_of(common, stored.box);
    const auto window = to.box(relative(common, box));
    if (span.size() == common.num_elements() && window.is_contiguous()) {
      fetch(stored.file, run, stored.offset + span.start * size, {window.data(), static_cast<std::size_t>(window.nbytes())});
      continue;
    }
    if (!staging) staging = std::make_shared<StagingBlock>(static_cast<std::size_t>(block_bytes));
    for (auto first = span.start; first < span.stop;) {
      const auto in_block = (stored.offset + first * size - run.offset) % block_bytes;
      const auto count = std::min(span.stop - first, (block_bytes - in_block) / size);
      const auto pieces = boxes_of_run(stored.box.shape(), first, count);
      const auto wanted = [&](const Index& piece) { return intersection(moved_to(piece, stored.box), common); };
      if (std::any_of(pieces.begin(), pieces.end(), [&](const Index& piece) { return !wanted(piece).empty(); })) {
        fetch(stored.file, run, stored.offset + first * size, {staging->data(), static_cast<std::size_t>(count * size)});
        std::size_t at = 0;
        for (const auto& piece : pieces) {
          const auto values = dense_in(staging, at, piece.shape(), array.dtype);
          at += static_cast<std::size_t>(values.nbytes());
          if (const auto part = wanted(piece); !part.empty())
            copy_values(values.box(relative(part, moved_to(piece, stored.box))), to.box(relative(part, box)));
        }
      }
      first += count;
    }
  }
}

LocalArray StepReader::read(const StoredArray& array, const Index& box) {
  const auto shape = box.shape();
  const auto bytes = std::max<std::int64_t>(1, shape.num_elements() * size_of(array.dtype));
  const auto values = dense_in(std::make_shared<StagingBlock>(static_cast<std::size_t>(bytes)), 0, shape, array.dtype);
  read(array, box, values);
  return values;
}

void StepReader::in_rows(const StoredArray& array, std::int64_t most, const std::function<void(const Index&, const LocalArray&)>& take) {
  const auto elements = array.shape.num_elements(), size = size_of(array.dtype);
  std::shared_ptr<StagingBlock> memory;
  for (std::int64_t first = 0; first < elements;) {
    const auto count = next_box_elements(array.shape, size, first, most);
    if (!memory) memory = std::make_shared<StagingBlock>(static_cast<std::size_t>(std::min(elements * size, std::max(most, size))));
    const auto box = boxes_of_run(array.shape, first, count).at(0);
    const auto values = dense_in(memory, 0, box.shape(), array.dtype);
    read(array, box, values);
    take(box, values);
    first += count;
  }
}

void StepReader::as_stored(const StoredArray& array,
                           const std::function<void(const Index&, std::int64_t, std::int64_t, const std::byte*)>& take) {
  const auto size = size_of(array.dtype);
  for (const auto& stored : manifest_.boxes_of(array)) {
    const auto& run = run_of(array, stored);
    const auto elements = stored.box.num_elements();
    for (std::int64_t first = 0; first < elements;) {
      const auto in_block = (stored.offset + first * size - run.offset) % block_bytes;
      const auto count = std::min(elements - first, (block_bytes - in_block) / size);
      fetch(stored.file, run, stored.offset + first * size,
            std::span(part_.data(), part_.size()).first(static_cast<std::size_t>(count * size)));
      take(stored.box, first, count, part_.data());
      first += count;
    }
  }
}

std::int64_t next_box_elements(const Shape& shape, std::int64_t itemsize, std::int64_t first, std::int64_t most) {
  std::int64_t row = 1;  // elements of an index of the axis that is cut
  auto axis = shape.ndim();
  while (axis > 0 && row * shape[axis - 1] * itemsize <= most) row *= shape[--axis];
  if (axis == 0) return row;
  const auto index = first / row % shape[axis - 1];
  return std::min(std::max<std::int64_t>(1, most / (row * itemsize)), shape[axis - 1] - index) * row;
}

}  // namespace meshwise::detail
