#include "runtime/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

std::string text_or_unknown(const std::string& text) { return text.empty() ? "an unknown operation" : text; }

// Somebody waits for this rank in a call: compares it with what was called here, and answers how far this rank is.
void answer_probe(const ControlHead& probe, std::string_view text) {
  Runtime& r = runtime();
  if (probe.undone != r.ledger.undone()) return;  // it will ask again
  if (r.settings.check != Check::off) {
    const auto mine = r.ledger.hash_of(probe.list, probe.sequence);
    if (mine && *mine != probe.hash) {
      return spread_failure(FailureKind::mismatch, mismatch_words(r.rank, r.ledger.text_of(probe.list, probe.sequence), probe.from, text));
    }
  }
  ControlHead answer;
  answer.kind = ControlKind::status;
  answer.list = probe.list;
  answer.sequence = probe.sequence;
  answer.value = probe.value;
  std::string words;
  {
    const std::scoped_lock hold(r.waiting.lock);
    const WaitNote& note = r.waiting;
    if (note.active) {
      words = fmt::format("waiting in {}", note.what);
      if (note.has_ticket && std::find(note.peers.begin(), note.peers.end(), probe.from) != note.peers.end()) {
        answer.flags |= waits_for_you;
        answer.other_list = note.list;
        answer.other_sequence = note.sequence;
        answer.hash = note.hash;
      }
    }
  }
  if (r.ledger.reached(probe.list, probe.sequence)) answer.flags |= has_reached;
  if (r.life.load() != Life::running) {
    answer.flags |= has_ended;
    words = fmt::format("its Environment has ended; last call {}", r.ledger.last_call().text());
  } else if (words.empty()) {
    words = fmt::format("outside the library; last call {}", r.ledger.last_call().text());
  }
  send_control(probe.from, answer, words);
}

void read_status(const ControlHead& answer, std::string_view text) {
  Runtime& r = runtime();
  std::string what;
  Clock::duration waited{};
  {
    const std::scoped_lock hold(r.waiting.lock);
    WaitNote& note = r.waiting;
    if (!note.active || note.number != answer.value || answer.undone != r.ledger.undone()) return;  // that wait is over
    note.said[answer.from] = text;
    what = note.what;
    waited = Clock::now() - note.since;
  }
  if ((answer.flags & has_reached) != 0) {
    // It made the call, and ended with nothing under way: what this rank still waits for is neither in its hands nor on its way.
    if ((answer.flags & has_ended) != 0 && waited > std::chrono::seconds(5)) {
      spread_failure(FailureKind::mismatch,
                     fmt::format("rank {} waits in {} for rank {}, which has made this call and ended its Environment: the two moved different data",
                                 r.rank, what, answer.from));
    }
    return;
  }
  if ((answer.flags & has_ended) != 0) {
    return spread_failure(FailureKind::collective,
                          fmt::format("rank {} ended its Environment while rank {} is in {}, which needs it", answer.from, r.rank, what));
  }
  // It has not entered my call and waits for me in one that I have not entered: neither can ever go on.
  if ((answer.flags & waits_for_you) != 0 && !r.ledger.reached(answer.other_list, answer.other_sequence)) {
    const std::string other(text.substr(std::min(text.size(), std::string_view("waiting in ").size())));
    spread_failure(FailureKind::mismatch, mismatch_words(r.rank, text_or_unknown(what), answer.from, text_or_unknown(other)) +
                                              " Each of the two waits for the other.");
  }
}

}  // namespace

void send_control(int to, ControlHead head, std::string_view text) {
  Runtime& r = runtime();
  text = text.substr(0, control_limit - sizeof head);
  head.from = r.rank;
  head.undone = r.ledger.undone();
  head.text_bytes = static_cast<std::uint32_t>(text.size());
  Pending message{Pending::Kind::control_send};
  message.message.resize(sizeof head + text.size());
  std::memcpy(message.message.data(), &head, sizeof head);
  if (!text.empty()) std::memcpy(message.message.data() + sizeof head, text.data(), text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(message.message.data(), static_cast<int>(message.message.size()), MPI_BYTE, to, control_tag, r.control, &request),
            "sending a control message");
  r.engine.add(request, std::move(message));
}

void on_control(const ControlHead& head, std::string_view text) {
  Runtime& r = runtime();
  switch (head.kind) {
    case ControlKind::failure:
      r.failure.set(static_cast<FailureKind>(head.value), std::string(text));
      return;
    case ControlKind::probe:
      return answer_probe(head, text);
    case ControlKind::status:
      return read_status(head, text);
    case ControlKind::roll: {
      auto& roll = r.rolls.groups[head.hash];
      ++roll.arrived;
      roll.room = roll.room && (head.flags & room_left) != 0;
      return;
    }
    case ControlKind::go: {
      auto& roll = r.rolls.groups[head.hash];
      roll.go = true;
      roll.room = (head.flags & room_left) != 0;
      return;
    }
    case ControlKind::withdraw: {
      auto& roll = r.rolls.groups[head.hash];
      if (roll.go) return;  // said already, and on its way
      roll.off = true;
      ControlHead answer;
      answer.kind = ControlKind::off;
      answer.hash = head.hash;
      return send_control(head.from, answer, {});
    }
    case ControlKind::off:
      r.rolls.groups[head.hash].off = true;
      return;
    case ControlKind::left:
      if (head.undone < r.ledger.undone()) return;  // that agreement is over
      return r.agreements.note(head.sequence, std::string(text), head.undone == r.ledger.undone() && r.ledger.reached(r.world->list, head.sequence));
    case ControlKind::bye:
      r.rolls.said_bye[static_cast<std::size_t>(head.from)] = true;
      ++r.rolls.byes;
      return;
    case ControlKind::leave:
      r.rolls.leave = true;
      return;
  }
}

}  // namespace meshwise::detail
