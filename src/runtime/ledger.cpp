#include "runtime/ledger.hpp"

#include <fmt/format.h>

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
  const std::uint64_t hash = mix(with_history ? sequence.history : sequence.list, call.hash);
  Entry& entry = ring_[entered_++ % ring_.size()];
  entry.list = sequence.list;
  entry.position = sequence.next;
  entry.hash = hash;
  entry.operation = call.operation;
  entry.dtype = call.dtype;
  entry.has_shape = call.shape != nullptr;
  if (call.shape) entry.shape = *call.shape;
  entry.text.clear();
  entry.when = Clock::now();
  sequence.history = hash;
  return {sequence.list, sequence.next++, hash, {}};
}

void Ledger::advance(Sequence& sequence, const Call& call, bool with_history) {
  const std::scoped_lock hold(lock_);
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
    if (entry.list == list && entry.position == position) return &entry;
  }
  return nullptr;
}

std::optional<std::uint64_t> Ledger::hash_of(std::uint64_t list, std::uint64_t position) {
  const std::scoped_lock hold(lock_);
  const Entry* entry = find_entry(list, position);
  return entry ? std::optional(entry->hash) : std::nullopt;
}

std::string Ledger::words(const Entry& entry) {
  if (!entry.text.empty()) return entry.text;
  std::string text = fmt::format("#{} {}", entry.position, entry.operation);
  if (entry.has_shape) text += fmt::format(" {}[{}]", name(entry.dtype), joined(entry.shape));
  return text;
}

std::string Ledger::text_of(std::uint64_t list, std::uint64_t position) {
  const std::scoped_lock hold(lock_);
  const Entry* entry = find_entry(list, position);
  return entry ? words(*entry) : std::string();
}

void Ledger::set_text(std::uint64_t list, std::uint64_t position, const std::string& text) {
  const std::scoped_lock hold(lock_);
  if (Entry* entry = find_entry(list, position)) entry->text = text;
}

std::string Ledger::last_call() {
  const std::scoped_lock hold(lock_);
  if (entered_ == 0) return "no call yet";
  const Entry& entry = ring_[(entered_ - 1) % ring_.size()];
  return fmt::format("{}, {:.1f} s ago", words(entry), std::chrono::duration<double>(Clock::now() - entry.when).count());
}

void Ledger::restart() {
  const std::scoped_lock hold(lock_);
  for (auto& [list, sequence] : sequences_) {
    sequence->next = 0;
    sequence->history = list;
  }
  entered_ = 0;
}

}  // namespace meshwise::detail
