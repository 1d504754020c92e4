#include "runtime/node_letter.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/engine.hpp"

namespace meshwise::detail {
namespace {

constexpr std::size_t head_words = 3;  // before a box's strides

std::uint64_t in_words(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

std::size_t words_of(const StridedBox& box) { return head_words + box.extents.size(); }

std::uint64_t* write_box(std::uint64_t* word, const StridedBox& box) {
  const auto location = box.block->location();
  *word++ = static_cast<std::uint64_t>(box.extents.size()) << 48 | static_cast<std::uint64_t>(location.place) << 32 | location.number;
  *word++ = static_cast<std::uint64_t>(box.base - box.block->data());
  *word++ = box.block->size();
  for (const auto stride : box.strides) *word++ = static_cast<std::uint64_t>(stride);
  return word;
}

PlacedBox read_box(const std::uint64_t*& word) {
  PlacedBox box;
  box.location = {static_cast<int>(word[0] >> 32 & 0xffff), static_cast<std::uint32_t>(word[0])};
  box.offset = word[1];
  box.block_bytes = word[2];
  box.strides = reinterpret_cast<const std::int64_t*>(word + head_words);
  word += head_words + (word[0] >> 48);
  return box;
}

LetterWriter::LetterWriter(const Ticket& ticket, const Words& words, std::uint32_t phase, std::uint64_t epoch) : call_(words) {
  if (words.details) details_ = std::string_view(*words.details).substr(0, text_limit);
  head_.list = ticket.list;
  head_.sequence = ticket.sequence;
  head_.hash = ticket.hash;
  head_.phase = phase;
  head_.epoch = epoch;
  head_.has_before = words.has_before ? 1 : 0;
  head_.details_bytes = static_cast<std::uint32_t>(details_.size());
}

void LetterWriter::add(const StridedBox& box, const Arena& arena) {
  const auto before = words_.size();
  words_.resize(before + words_of(box));
  write_box(words_.data() + before, box);
  arena.retain(box.block->location());
  head_.bytes += box.bytes();
}

void LetterWriter::set_shared(const Block& block, const Arena& arena) {
  const auto location = block.location();
  arena.retain(location);
  head_.shared_place = location.place;
  head_.shared_number = location.number;
  head_.shared_bytes = static_cast<std::uint32_t>(block.size());
}

std::uint64_t LetterWriter::most_bytes(std::size_t boxes, std::uint64_t longest) {
  return std::min(longest, sizeof(LetterHead) + sizeof(LetterEnd) + text_limit + 8 + boxes * 8 * (head_words + 8));
}

void LetterWriter::send(LetterBox& box, ArenaStore& store) {
  head_.words = static_cast<std::uint32_t>(words_.size());
  const std::uint64_t words = 8 * words_.size(), rest = sizeof head_ + sizeof(LetterEnd) + in_words(details_.size());
  const bool far = rest + words > box.longest() - 64 || !box.has_room(rest + words);
  if (far) {
    const auto block = store.allocate(words);
    std::memcpy(block->data(), words_.data(), words);
    store.arena().retain(block->location());
    head_.far_place = block->location().place;
    head_.far_number = block->location().number;
  }
  std::byte* at = box.begin(rest + (far ? 0 : words));
  std::memcpy(at, &head_, sizeof head_);
  at += sizeof head_;
  if (!far && words > 0) std::memcpy(at, words_.data(), words);
  if (!far) at += words;
  const LetterEnd end{call_.call, call_.before};
  std::memcpy(at, &end, sizeof end);
  if (!details_.empty()) std::memcpy(at + sizeof end, details_.data(), details_.size());
  box.publish();
}

LetterReader::LetterReader(const std::byte* at, ArenaStore& store) {
  std::memcpy(&head_, at, sizeof head_);
  end_ = at + sizeof head_;
  if (head_.far_place >= 0) {
    far_ = store.adopt({head_.far_place, head_.far_number}, 8 * std::size_t{head_.words});
    word_ = reinterpret_cast<const std::uint64_t*>(far_->data());
  } else {
    word_ = reinterpret_cast<const std::uint64_t*>(end_);
    end_ += 8 * std::size_t{head_.words};
  }
}

void LetterReader::drop_all(ArenaStore& store) const {
  for (const auto* const end = word_ + head_.words; word_ < end;) store.drop(next().location);
  if (has_shared()) store.drop(shared());
}

std::uint64_t LetterReader::epoch_of(const std::byte* at) {
  std::uint64_t epoch = 0;
  static_assert(offsetof(LetterHead, epoch) == 0);
  std::memcpy(&epoch, at, sizeof epoch);
  return epoch;
}

Words LetterReader::words() const {
  LetterEnd end;
  std::memcpy(&end, end_, sizeof end);
  const auto* const details = reinterpret_cast<const char*>(end_) + sizeof end;
  return {end.call, end.before, head_.has_before != 0, std::make_shared<const std::string>(details, head_.details_bytes)};
}

}  // namespace meshwise::detail
