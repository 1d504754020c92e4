#include "io/checkpoint/payload.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "array/state.hpp"
#include "base/clock.hpp"
#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/staging.hpp"
#include "plan/storage.hpp"

namespace meshwise::detail {

namespace {

// A piece is checksummed and written while it is in the second-level cache; smaller ones are put together first.
constexpr std::int64_t chunk_bytes = 512 << 10, small_bytes = 64 << 10;

}  // namespace

// Bytes of one run in order, from its first to its last; what lies between the pieces is zeros.
class PayloadWriter::Stream {
 public:
  Stream(PayloadWriter& writer, const std::function<void()>& between)
      : writer_(writer), between_(between), staging_(std::make_shared<StagingBlock>(static_cast<std::size_t>(chunk_bytes))) {}

  void begin(const StoredRun& run) {
    run_ = run;
    at_ = run.offset;
    checksum_ = 0;
  }

  void end() {
    skip_to(run_.offset + run_.bytes);
    flush();
    if ((at_ - run_.offset) % block_bytes != 0) finish_block();
  }

  void add(const PiecePayload& piece) {
    skip_to(piece.offset);
    if (!piece.apart) return add(piece.bytes);
    const auto& apart = *piece.apart;
    const bool is_recipe = apart.recipe.generator != nullptr;
    const auto shape = is_recipe ? apart.box.shape() : apart.values.shape();
    const auto dtype = is_recipe ? apart.recipe.dtype() : apart.values.dtype();
    const auto size = static_cast<std::int64_t>(itemsize(dtype)), count = shape.num_elements();
    const auto step = chunk_bytes / size;
    for (std::int64_t first = 0; first < count && !writer_.abandoned_; first += step) {
      flush();
      for (const auto& box : boxes_of_run(shape, first, std::min(step, count - first))) {
        const auto out = dense_in(staging_, static_cast<std::size_t>(staged_), box.shape(), dtype);
        if (is_recipe) {
          apart.recipe.fill(moved_to(box, apart.box), out);
        } else {
          copy_values(apart.values.box(box), out);
        }
        staged_ += out.nbytes();
      }
    }
  }

 private:
  void add(std::span<const std::byte> bytes) {
    if (std::ssize(bytes) >= small_bytes) {
      flush();
      return put(bytes);
    }
    if (staged_ + std::ssize(bytes) > chunk_bytes) flush();
    std::memcpy(staging_->data() + staged_, bytes.data(), bytes.size());
    staged_ += std::ssize(bytes);
  }

  void skip_to(std::int64_t offset) {
    for (auto gap = offset - at_ - staged_; gap > 0;) {
      if (staged_ == chunk_bytes) flush();
      const auto zeros = std::min(gap, chunk_bytes - staged_);
      std::memset(staging_->data() + staged_, 0, static_cast<std::size_t>(zeros));
      staged_ += zeros;
      gap -= zeros;
    }
  }

  void flush() {
    if (staged_ > 0) put({staging_->data(), static_cast<std::size_t>(std::exchange(staged_, 0))});
  }

  void put(std::span<const std::byte> bytes) {
    while (!bytes.empty() && !writer_.abandoned_) {
      const auto in_block = (at_ - run_.offset) % block_bytes;
      const auto part = bytes.first(static_cast<std::size_t>(std::min({std::ssize(bytes), chunk_bytes, block_bytes - in_block})));
      checksum_ = crc32c(part, checksum_);
      writer_.file_.write(part, at_);
      at_ += std::ssize(part);
      writer_.done_ += std::ssize(part);
      bytes = bytes.subspan(part.size());
      if (in_block + std::ssize(part) == block_bytes) {
        if (writer_.awaited_) writer_.file_.start_sync(at_ - block_bytes, block_bytes);
        finish_block();
      }
      between_();
    }
  }

  void finish_block() { writer_.checksums_.push_back(std::exchange(checksum_, 0)); }

  PayloadWriter& writer_;
  const std::function<void()>& between_;
  std::shared_ptr<StagingBlock> staging_;
  StoredRun run_{};
  std::int64_t at_ = 0, staged_ = 0;  // at_: of the next byte to be written; staged_: bytes that come there
  std::uint32_t checksum_ = 0;
};

PiecePayload payload_of(const Array& x, const StoredPiece& piece, std::int64_t offset) {
  const auto& state = *x.state();
  PiecePayload payload{offset};
  if (state.kind == State::Kind::recipe) {
    payload.apart = std::make_unique<const PiecePayload::Apart>(PiecePayload::Apart{{}, state.recipe, piece.box});
    return payload;
  }
  const auto take = [&](LocalArray window) {
    if (window.is_contiguous()) {
      payload.bytes = {window.data(), static_cast<std::size_t>(window.nbytes())};
      payload.block = window.block();
    } else {
      payload.apart = std::make_unique<const PiecePayload::Apart>(PiecePayload::Apart{std::move(window), {}, {}});
    }
  };
  if (state.kind == State::Kind::everywhere) {
    take(state.everywhere.box(piece.box));
    return payload;
  }
  const auto& shards = ready_shards(x);
  const auto shard = std::find_if(shards.begin(), shards.end(), [&](const LocalShard& s) { return s.position == piece.position; });
  const auto held = state.sharding.index_at(state.shape, piece.position);
  if (held == piece.box) {
    take(shard->data);
    return payload;
  }
  take(shard->data.box(relative(piece.box, held)));
  return payload;
}

PayloadWriter::PayloadWriter(DiskFile file, std::vector<StoredRun> runs, std::vector<PiecePayload> pieces)
    : file_(std::move(file)), runs_(std::move(runs)), pieces_(std::move(pieces)) {
  for (const auto& run : runs_) bytes_ += run.bytes;
}

void PayloadWriter::run(const std::function<void()>& between, bool awaited) {
  awaited_ = awaited;
  const auto start = std::chrono::steady_clock::now();
  Stream stream(*this, between);
  auto piece = pieces_.begin();
  for (const auto& run : runs_) {
    stream.begin(run);
    for (; piece != pieces_.end() && piece->offset < run.offset + run.bytes && !abandoned_; ++piece) stream.add(*piece);
    stream.end();
  }
  write_seconds_ = seconds_since(start);
  if (abandoned_) return;
  const auto written = std::chrono::steady_clock::now();
  file_.sync_and_close();
  sync_seconds_ = seconds_since(written);
}

}  // namespace meshwise::detail
