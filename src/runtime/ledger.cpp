#include "runtime/ledger.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace meshwise::detail {

Sequence& Ledger::find(std::uint64_t list) {
  const std::scoped_lock hold(lock_);
  auto& slot = sequences_[list];
  if (!slot) {
    slot = std::make_unique<Sequence>();
    slot->list = list;
    slot->history = list;
  }
  return *slot;
}

Ticket Ledger::enter(Sequence& sequence, const Call& call, bool with_history) {
  const std::scoped_lock hold(lock_);
  if (noting_ > 0) notes_.push_back({&sequence, sequence.next, sequence.history});
  const std::uint64_t hash = mix(with_history ? sequence.history : sequence.list, call.hash);
  Entry& entry = ring_[entered_++ % ring_.size()];
  entry.list = sequence.list;
  entry.hash = hash;
  entry.call.position = sequence.next;
  entry.call.operation = {};
  call.operation.copy(entry.call.operation.data(), entry.call.operation.size() - 1);
  entry.call.dtype = call.dtype;
  entry.call.ndim = call.shape ? static_cast<std::uint8_t>(std::min<std::int64_t>(call.shape->ndim(), 254)) : 255;
  if (call.shape) std::copy_n(call.shape->begin(), std::min<std::size_t>(entry.call.ndim, entry.call.shape.size()), entry.call.shape.begin());
  entry.details.reset();
  entry.when = Clock::now();
  sequence.history = hash;
  return {sequence.list, sequence.next++, hash};
}

void Ledger::advance(Sequence& sequence, const Call& call, bool with_history) {
  const std::scoped_lock hold(lock_);
  if (noting_ > 0) notes_.push_back({&sequence, sequence.next, sequence.history});
  sequence.history = mix(with_history ? sequence.history : sequence.list, call.hash);
  ++sequence.next;
}

bool Ledger::reached(std::uint64_t list, std::uint64_t position) {
  const std::scoped_lock hold(lock_);
  const auto at = sequences_.find(list);
  return at != sequences_.end() && at->second->next > position;
}

Ledger::Entry* Ledger::find_entry(std::uint64_t list, std::uint64_t position) {
  const std::size_t kept = entered_ < ring_.size() ? entered_ : ring_.size();
  for (std::size_t back = 1; back <= kept; ++back) {
    Entry& entry = ring_[(entered_ - back) % ring_.size()];
    if (entry.list == list && entry.call.position == position) return &entry;
  }
  return nullptr;
}

std::optional<std::uint64_t> Ledger::hash_of(std::uint64_t list, std::uint64_t position) {
  const std::scoped_lock hold(lock_);
  const Entry* entry = find_entry(list, position);
  return entry ? std::optional(entry->hash) : std::nullopt;
}

std::string CallWords::text() const {
  if (operation[0] == 0) return {};
  std::string text = fmt::format("#{} {}", position, operation.data());
  if (ndim == 255) return text;
  const auto shown = std::min<std::size_t>(ndim, shape.size());
  return text + fmt::format(" {}[{}{}]", name(dtype), fmt::join(shape.begin(), shape.begin() + shown, ","), ndim > shown ? ",..." : "");
}

std::string Words::text() const {
  std::string text = call.text();
  if (details && !details->empty()) text += " " + *details;
  if (has_before) text += fmt::format(" (after {})", before.text());
  return text;
}

Words Ledger::words(const Entry& entry) {
  Words words{entry.call, {}, false, entry.details};
  if (entry.call.position == 0) return words;
  if (const Entry* before = find_entry(entry.list, entry.call.position - 1)) {
    words.before = before->call;
    words.has_before = true;
  }
  return words;
}

Words Ledger::words_of(std::uint64_t list, std::uint64_t position) {
  const std::scoped_lock hold(lock_);
  const Entry* entry = find_entry(list, position);
  return entry ? words(*entry) : Words();
}

std::string Ledger::text_of(std::uint64_t list, std::uint64_t position) { return words_of(list, position).text(); }

void Ledger::set_details(std::uint64_t list, std::uint64_t position, std::shared_ptr<const std::string> details) {
  const std::scoped_lock hold(lock_);
  if (Entry* entry = find_entry(list, position)) entry->details = std::move(details);
}

std::string PastCall::text() const {
  auto text = call.text();
  if (text.empty()) return "no call yet";
  if (details && !details->empty()) text += " " + *details;
  return fmt::format("{}, {:.1f} s ago", text, std::chrono::duration<double>(Clock::now() - when).count());
}

PastCall Ledger::last_call() {
  const std::scoped_lock hold(lock_);
  if (entered_ == 0) return {};
  const Entry& entry = ring_[(entered_ - 1) % ring_.size()];
  return {entry.call, entry.details, entry.when};
}

void Ledger::restart() {
  const std::scoped_lock hold(lock_);
  for (auto& [list, sequence] : sequences_) {
    sequence->next = 0;
    sequence->history = list;
  }
  entered_ = 0;
  undone_ = 0;
}

std::size_t Ledger::begin_notes() {
  ++noting_;
  return notes_.size();
}

void Ledger::undo_to(std::size_t mark) {
  const std::scoped_lock hold(lock_);
  for (; notes_.size() > mark; notes_.pop_back()) {
    notes_.back().sequence->next = notes_.back().next;
    notes_.back().sequence->history = notes_.back().history;
  }
  // Other calls will have their positions.
  for (auto& entry : ring_)
    if (const auto at = sequences_.find(entry.list); at != sequences_.end() && entry.call.position >= at->second->next) entry.list = 0;
  ++undone_;
}

void Ledger::end_notes() {
  if (--noting_ == 0) notes_.clear();
}

}  // namespace meshwise::detail
