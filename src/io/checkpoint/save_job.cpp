#include "io/checkpoint/save_job.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "array/state.hpp"
#include "base/clock.hpp"
#include "io/agreement.hpp"
#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/images.hpp"
#include "io/checkpoint/retention.hpp"
#include "io/checkpoint/steps.hpp"
#include "io/packed_text.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t files_per_folder = 256;

std::string shard_folder(std::int64_t rank) {
  if (process_count() <= files_per_folder) return "shards";
  return fmt::format("shards/{:03d}", rank / files_per_folder);
}

std::string shard_name(std::int64_t rank) { return fmt::format("{}/{:05d}.h5", shard_folder(rank), rank); }

// Only the call's own ranks know whether a folder is shared between hosts, so rank 0 looks for every file.
void check_visible(const std::string& folder, const Commit& commit) {
  for (const auto& file : commit.files) {
    std::error_code error;
    const auto size = std::filesystem::file_size(folder + "/" + file.name, error);
    if (error || static_cast<std::int64_t>(size) != file.bytes)
      throw CheckpointError(fmt::format(
          "'{}/{}', which another rank wrote, is not what rank 0 sees there: is the folder on a file system that all hosts share?", folder,
          file.name));
  }
}

std::string pack(const WrittenFile& file) {
  PackedText text;
  text.add(file.rank);
  text.add(file.bytes);
  text.add(static_cast<std::int64_t>(file.checksum));
  for (const auto& run : file.runs) {
    text.add(run.dtype);
    text.add(run.offset);
    text.add(run.bytes);
  }
  return text.text();
}

WrittenFile unpack(const std::string& packed) {
  UnpackedText text(packed);
  WrittenFile file;
  file.rank = text.number();
  file.bytes = text.number();
  file.checksum = static_cast<std::uint32_t>(text.number());
  while (!text.empty()) {
    StoredRun run;
    run.dtype = text.dtype();
    run.offset = text.number();
    run.bytes = text.number();
    file.runs.push_back(run);
  }
  return file;
}

void make_root(const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> made;
  for (fs::path path = root; !fs::exists(path, error) && path.has_relative_path(); path = path.parent_path()) made.push_back(path);
  for (auto path = made.rbegin(); path != made.rend(); ++path) {
    make_folder(path->string());
    sync_folder(path->parent_path().string());
  }
  if (!fs::is_directory(root, error)) throw CheckpointError(fmt::format("'{}' is not a folder", root));
}

void check_step_free(const SaveRequest& request) {
  if (request.options.overwrite) return;
  const auto path = request.root + "/" + step_name(request.step);
  if (!std::filesystem::exists(path)) return;
  try {
    read_commit(path);
  } catch (const DiskError& e) {
    if (e.code != ENOENT) throw;  // it may be whole
    return;
  } catch (const CheckpointError&) {
    return;  // of no use to anyone: it is replaced
  }
  throw CheckpointError(fmt::format("step {} is there already; SaveOptions::overwrite replaces it", request.step));
}

}  // namespace

std::shared_ptr<SaveJob> SaveJob::begin(SaveRequest given, const std::function<void()>& prepare_folder) {
  const auto start = Clock::now();
  const auto ticket = enter_world_call({"save", hash_text("save")});
  std::shared_ptr<SaveJob> job(new SaveJob(std::move(given)));
  const auto& request = job->request_;
  std::vector<ArrayToStore> arrays;
  for (const auto& leaf : request.leaves.arrays) {
    const bool shards = leaf.state()->kind == State::Kind::shards;
    arrays.push_back({leaf.shape(), leaf.dtype(), shards ? std::optional(leaf.sharding()) : std::nullopt});
    job->bytes_ += leaf.nbytes();
  }
  job->plan_ = plan_storage(arrays, process_count());
  std::int64_t files = 0;
  for (const auto& runs : job->plan_.run_bytes)
    job->file_of_rank_.push_back(std::any_of(runs.begin(), runs.end(), [](std::int64_t bytes) { return bytes > 0; }) ? files++ : -1);

  job->uuid_ = agreed(request.call(), ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    make_root(request.root);
    prepare_folder();
    check_step_free(request);
    const auto uuid = make_uuid();
    const auto folder = request.root + "/" + step_name(request.step) + ".tmp-" + uuid;
    make_folder(folder);
    job->folder_ = folder;
    make_folder(folder + "/shards");
    for (std::int64_t rank = 0; process_count() > files_per_folder && rank < process_count(); rank += files_per_folder)
      make_folder(folder + "/" + shard_folder(rank));
    return uuid;
  })[0];
  job->folder_ = request.root + "/" + step_name(request.step) + ".tmp-" + job->uuid_;
  const auto laid_out = agreed(request.call(), ticket, [&]() -> std::string {
    const auto me = static_cast<std::size_t>(process_index());
    if (job->file_of_rank_[me] < 0) return {};
    const auto image = make_shard_image(job->plan_.run_bytes[me], process_index(), request.step, job->uuid_);
    auto file = DiskFile::create(job->folder_ + "/" + shard_name(process_index()));
    file.reserve(image.bytes);
    for (const auto& [offset, bytes] : image.rest) file.write(bytes, offset);
    std::vector<PiecePayload> payload;
    for (const auto& piece : job->plan_.pieces) {
      if (piece.writer != process_index()) continue;
      const auto& leaf = request.leaves.arrays[static_cast<std::size_t>(piece.array)];
      const auto run = std::find_if(image.runs.begin(), image.runs.end(), [&](const StoredRun& r) { return r.dtype == leaf.dtype(); });
      payload.push_back(payload_of(leaf, piece, run->offset + piece.offset));
    }
    const auto in_order = [](const PiecePayload& a, const PiecePayload& b) { return a.offset < b.offset; };
    if (!std::is_sorted(payload.begin(), payload.end(), in_order)) std::sort(payload.begin(), payload.end(), in_order);
    job->writer_.emplace(std::move(file), image.runs, std::move(payload));
    return pack({process_index(), image.bytes, image.checksum(), image.runs});
  });
  for (const auto& text : laid_out)
    if (!text.empty()) job->files_.push_back(unpack(text));
  job->prepare_seconds_ = seconds_since(start);
  return job;
}

void SaveJob::write(const std::function<void()>& between, bool awaited) noexcept {
  if (!writer_) return;
  try {
    writer_->run(between, awaited);
  } catch (const std::exception& e) {
    failure_ = e.what();
  } catch (...) {
    failure_ = "an exception that is no std::exception";
  }
}

void SaveJob::stop_writing() {
  if (writer_) writer_->abandon();
}

io::Progress SaveJob::progress() const {
  return {"save", request_.step, writer_ ? writer_->bytes_done() : 0, writer_ ? writer_->bytes() : 0};
}

io::SaveReport SaveJob::commit() {
  const auto start = Clock::now();
  const auto ticket = enter_world_call({"save", hash_text("save, commit")});
  const auto written = agreed(request_.call(), ticket, [&]() -> std::string {
    if (!writer_) return {};
    if (!failure_.empty()) {
      writer_.reset();  // its file takes room as long as it is open
      throw CheckpointError(failure_);
    }
    PackedText text;
    text.add(std::vector{writer_->write_seconds(), writer_->sync_seconds()});
    text.add(writer_->checksums());
    return text.text();
  });
  io::SaveReport report{request_.step, bytes_, 1};
  std::vector<std::uint32_t> checksums;  // file after file
  for (std::size_t rank = 0; rank < written.size(); ++rank) {
    if (written[rank].empty()) continue;
    UnpackedText text(written[rank]);
    const auto seconds = text.values<double>();
    if (seconds[0] + seconds[1] > report.write_seconds + report.sync_seconds) {
      report.write_seconds = seconds[0];
      report.sync_seconds = seconds[1];
      report.slowest_rank = static_cast<std::int64_t>(rank);
    }
    const auto of_file = text.values<std::uint32_t>();
    checksums.insert(checksums.end(), of_file.begin(), of_file.end());
    ++report.files;
  }
  const auto outcome = agreed(request_.call(), ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    publish(std::move(checksums));
    done_ = true;
    PackedText text;
    text.add(retire_steps(request_.root, request_.keep, request_.step));
    text.add(std::vector{prepare_seconds_, seconds_since(start)});
    return text.text();
  })[0];
  done_ = true;
  writer_.reset();
  UnpackedText said(outcome);
  report.removed = said.values<std::int64_t>();
  const auto seconds = said.values<double>();
  report.prepare_seconds = seconds[0];
  report.commit_seconds = seconds[1];
  report.seconds = report.prepare_seconds + report.write_seconds + report.sync_seconds + report.commit_seconds;
  return report;
}

Manifest SaveJob::manifest(std::vector<std::uint32_t> checksums) const {
  Manifest m;
  m.step = request_.step;
  m.uuid = uuid_;
  m.created = utc_now();
  m.library = "meshwise " MESHWISE_VERSION;
  m.hdf5 = hdf5_version();
  m.world_size = process_count();
  m.tree = request_.tree;
  m.metadata = request_.options.metadata;
  m.metrics = request_.options.metrics;
  m.checksums = std::move(checksums);
  std::int64_t block = 0;
  for (const auto& written : files_) {
    ShardFile file{shard_name(written.rank), written.runs};
    for (auto& run : file.runs) {
      run.first_block = block;
      block += run.blocks();
    }
    m.files.push_back(std::move(file));
  }
  const auto& leaves = request_.leaves.arrays;
  std::vector<std::pair<std::uint64_t, std::int64_t>> known;
  auto piece = plan_.pieces.begin();
  for (std::size_t a = 0; a < leaves.size(); ++a) {
    const auto& leaf = leaves[a];
    StoredArray array{request_.leaves.names[a], leaf.dtype(), leaf.shape(), -1, std::ssize(m.boxes), 0};
    if (leaf.committed()) {
      const auto hash = leaf.sharding().hash();
      auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == hash; });
      if (found == known.end()) {
        found = known.insert(known.end(), {hash, std::ssize(m.shardings)});
        m.shardings.push_back(describe(leaf.sharding()));
      }
      array.sharding = found->second;
    }
    for (; piece != plan_.pieces.end() && piece->array == static_cast<std::int64_t>(a); ++piece, ++array.boxes) {
      const auto file = file_of_rank_[static_cast<std::size_t>(piece->writer)];
      const auto& runs = m.files[static_cast<std::size_t>(file)].runs;
      const auto run = std::find_if(runs.begin(), runs.end(), [&](const StoredRun& r) { return r.dtype == array.dtype; });
      m.boxes.push_back({file, run->offset + piece->offset, piece->box});
    }
    array.is_virtual = plan_.has_dataset[a];
    m.arrays.push_back(std::move(array));
  }
  return m;
}

void SaveJob::publish(std::vector<std::uint32_t> checksums) {
  const auto m = manifest(std::move(checksums));
  const auto index = make_index_image(m);
  Commit commit{m.step,       m.uuid,         {{"index.h5", std::ssize(index.bytes), crc32c(index.bytes), {}}}, index.text, index.places,
                index.ranges, index.checksums};
  for (std::size_t file = 0; file < files_.size(); ++file) {
    Commit::File entry{m.files[file].name, files_[file].bytes, files_[file].checksum, {}};
    for (const auto& run : m.files[file].runs) entry.runs.push_back({run.offset, run.bytes});
    commit.files.push_back(std::move(entry));
  }
  write_durably(folder_ + "/index.h5", index.bytes);
  check_visible(folder_, commit);
  for (std::int64_t rank = 0; process_count() > files_per_folder && rank < process_count(); rank += files_per_folder)
    sync_folder(folder_ + "/" + shard_folder(rank));
  sync_folder(folder_ + "/shards");
  write_durably(folder_ + "/COMMIT", bytes_of(encode(commit)));
  sync_folder(folder_);
  put_in_place(folder_, request_.root, request_.step);
}

void SaveJob::abandon() noexcept {
  writer_.reset();
  if (std::exchange(done_, true) || folder_.empty() || process_index() != 0) return;
  remove_all(folder_);
}

}  // namespace meshwise::detail
