#include "io/checkpoint/verify.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/shard_files.hpp"
#include "io/checkpoint/staging.hpp"
#include "io/checkpoint/steps.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t chunk_bytes = 256 << 10;  // read again and again into the same memory, which stays in the second-level cache
constexpr auto to_the_end = std::numeric_limits<std::int64_t>::max();

class Verifier {
 public:
  Verifier(const std::string& folder, const std::function<void(std::int64_t, std::int64_t)>& between)
      : folder_(folder), between_(between) {}

  VerifyReport run() {
    if (!read_commit()) return std::move(report_);
    for (const auto& file : commit_.files) total_ += file.bytes;
    check_index();
    for (std::size_t k = 1; k < commit_.files.size(); ++k) check_shard_file(k);
    return std::move(report_);
  }

 private:
  void add(std::string file, std::string words, std::vector<std::string> arrays = {}, std::int64_t offset = 0, std::int64_t bytes = 0,
           std::int64_t block = -1) {
    report_.damage.push_back({std::move(file), block, offset, bytes, std::move(arrays), std::move(words)});
  }

  // Does f, and takes what it throws for damage.
  template <class F>
  bool try_to(const std::string& file, F&& f) {
    try {
      f();
      return true;
    } catch (const CheckpointError& e) {
      add(file, e.what());
    }
    return false;
  }

  void count(std::int64_t bytes) {
    report_.bytes += bytes;
    if (between_) between_(report_.bytes, total_);
  }

  bool read_commit() {
    return try_to("COMMIT", [&] {
      const auto text = read_commit_text(folder_);
      commit_ = decode_commit(text);
      report_.step = commit_.step;
      report_.files = 1;
      total_ += std::ssize(text);
      count(std::ssize(text));
      const auto name = std::filesystem::path(folder_).filename().string();
      if (const auto step = step_of(name); step && *step != commit_.step)
        throw CheckpointError(fmt::format("it is of step {}, and the folder is called {}", commit_.step, name));
    });
  }

  // Nothing else says which values a block holds, or what its checksum was.
  void check_index() {
    const auto& entry = commit_.files[0];
    try_to(entry.name, [&] {
      ++report_.files;
      if (const auto size = open(entry).size(); size != entry.bytes) throw CheckpointError(wrong_length(size, entry));
      const auto index = detail::read_index(folder_, commit_);
      count(entry.bytes);
      if (const auto checksum = crc32c(index); checksum != entry.checksum)
        throw CheckpointError(checksums_differ(checksum, entry.checksum));
      auto manifest = decode(parts_of(index, commit_));
      if (manifest.step != commit_.step || manifest.uuid != commit_.uuid) throw CheckpointError("it belongs to another save than COMMIT");
      if (manifest.files.size() + 1 != commit_.files.size()) throw CheckpointError("it names other files than COMMIT");
      for (std::size_t k = 0; k < manifest.files.size(); ++k) {
        const auto& [name, runs] = manifest.files[k];
        const auto& other = commit_.files[k + 1];
        if (name != other.name ||
            !std::equal(runs.begin(), runs.end(), other.runs.begin(), other.runs.end(),
                        [](const StoredRun& a, const Extent& b) { return a.offset == b.offset && a.bytes == b.bytes; }))
          throw CheckpointError(fmt::format("it has {} otherwise than COMMIT", name));
      }
      manifest_ = std::move(manifest);
    });
  }

  DiskFile open(const Commit::File& entry) const {
    std::error_code error;
    if (std::filesystem::status(folder_ + "/" + entry.name, error).type() == std::filesystem::file_type::not_found)
      throw CheckpointError("it is missing");
    return DiskFile::open(folder_ + "/" + entry.name);
  }

  static std::string wrong_length(std::int64_t size, const Commit::File& entry) {
    return fmt::format("it is {} bytes long, and was {}", size, entry.bytes);
  }

  std::vector<std::string> arrays_in(std::size_t k, std::int64_t from, std::int64_t to) const {
    if (!manifest_) return {};
    return arrays_between(*manifest_, static_cast<std::int64_t>(k) - 1, from, to);
  }

  void check_shard_file(std::size_t k) {
    const auto& entry = commit_.files[k];
    std::optional<DiskFile> file;
    std::int64_t size = 0;
    try {
      file.emplace(open(entry));
      size = file->size();
      ++report_.files;
    } catch (const CheckpointError& e) {
      return add(entry.name, e.what(), arrays_in(k, 0, to_the_end));
    }
    if (size != entry.bytes) {
      const auto end = std::min(size, entry.bytes);
      add(entry.name, wrong_length(size, entry), arrays_in(k, end, to_the_end), end, std::abs(size - entry.bytes));
    }
    auto runs = entry.runs;
    std::sort(runs.begin(), runs.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    if (size == entry.bytes) check_rest(*file, entry, runs);
    if (manifest_)
      for (const auto& run : manifest_->files[k - 1].runs) check_run(*file, entry, k, run, size);
  }

  std::uint32_t add_checksum(const DiskFile& file, std::int64_t at, std::int64_t bytes, std::uint32_t checksum) {
    while (bytes > 0) {
      const auto part = std::span(chunk_.data(), chunk_.size()).first(static_cast<std::size_t>(std::min(bytes, chunk_bytes)));
      checksum = read_checksummed(file, part, at, checksum);
      at += std::ssize(part);
      bytes -= std::ssize(part);
    }
    return checksum;
  }

  void check_rest(const DiskFile& file, const Commit::File& entry, const std::vector<Extent>& runs) {
    try_to(entry.name, [&] {
      std::uint32_t checksum = 0;
      std::int64_t at = 0, rest = 0;
      const auto take_until = [&](std::int64_t end) {
        if (at >= end) return;
        checksum = add_checksum(file, at, end - at, checksum);
        rest += end - at;
        count(end - at);
        at = end;
      };
      for (const auto& run : runs) {
        take_until(run.offset);
        at = std::max(at, run.offset + run.bytes);
      }
      take_until(entry.bytes);
      if (checksum != entry.checksum)
        throw CheckpointError(fmt::format("HDF5's own {} bytes beside the values: {}", rest, checksums_differ(checksum, entry.checksum)));
    });
  }

  void check_run(const DiskFile& file, const Commit::File& entry, std::size_t k, const StoredRun& run, std::int64_t size) {
    const auto first_block = manifest_->files[k - 1].runs.front().first_block;
    for (std::int64_t index = 0; index < run.blocks(); ++index) {
      const auto from = run.offset + index * block_bytes, bytes = std::min(block_bytes, run.offset + run.bytes - from);
      if (from + bytes > size) return;  // the length was told
      const auto damaged = [&](std::string words) {
        add(entry.name, std::move(words), arrays_in(k, from, from + bytes), from, bytes, run.first_block + index - first_block);
      };
      ++report_.blocks;
      try {
        const auto checksum = add_checksum(file, from, bytes, 0);
        if (const auto was = manifest_->checksums[static_cast<std::size_t>(run.first_block + index)]; checksum != was)
          damaged(checksums_differ(checksum, was));
      } catch (const CheckpointError& e) {
        damaged(e.what());
      }
      count(bytes);
    }
  }

  const std::string& folder_;
  const std::function<void(std::int64_t, std::int64_t)>& between_;
  VerifyReport report_{};
  Commit commit_{};
  std::optional<Manifest> manifest_{};
  StagingBlock chunk_{static_cast<std::size_t>(chunk_bytes)};
  std::int64_t total_ = 0;
};

}  // namespace

std::string to_string(const Damage& damage) {
  auto text = damage.file;
  if (damage.block >= 0) text += fmt::format(", block {}", damage.block);
  if (damage.bytes > 0) text += fmt::format(", bytes {} to {}", damage.offset, damage.offset + damage.bytes);
  if (!damage.arrays.empty()) text += fmt::format(", array{} {}", damage.arrays.size() == 1 ? "" : "s", some_of(damage.arrays));
  return text + ": " + damage.words;
}

VerifyReport verify_step(const std::string& folder, const std::function<void(std::int64_t, std::int64_t)>& between) {
  return Verifier(folder, between).run();
}

}  // namespace meshwise::detail
