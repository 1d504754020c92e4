// When save_if_due saves: by steps, by seconds, and when the batch system says that the end is near.

#include <array>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include "io/checkpoint/checkpointer.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

// Signals are a process's: how many came, whoever asks. Each Checkpointer remembers how many it has answered.
volatile std::sig_atomic_t save_signals = 0, stop_signals = 0;

extern "C" void note_signal(int signal) {
  if (signal == SIGTERM) stop_signals = stop_signals + 1;
  save_signals = save_signals + 1;
}

// A handler that the program has set itself is the program's affair.
void listen(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction ours {};
  ours.sa_handler = note_signal;
  ours.sa_flags = SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(signal, &ours, nullptr);
}

// What a rank knows; what rank 0 says of the clock holds for all.
struct Word {
  std::int64_t step = 0;
  std::int64_t hash = 0;
  std::int8_t signalled = 0, stop = 0, due = 0;
  std::array<std::int8_t, 5> unused{};
};

}  // namespace

bool Checkpointer::save_if_due(std::int64_t step, const Tree& tree, Due due, SaveOptions options) {
  const auto ticket = detail::enter_world_call({"save_if_due", detail::hash_text("save_if_due")});
  if (!std::exchange(state_->listens, true)) {
    listen(SIGUSR1);
    listen(SIGTERM);
    state_->answered = 0;
  }
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - state_->last_save;
  Word mine{.step = step,
            .hash = static_cast<std::int64_t>(detail::mix(static_cast<std::uint64_t>(due.steps), fmt::format("{}", due.seconds)))};
  const int seen = save_signals;  // one that comes later is for the next call
  mine.signalled = seen != state_->answered;
  mine.stop = stop_signals != 0;
  mine.due = due.seconds > 0 && since.count() >= due.seconds;
  std::vector<Word> all(static_cast<std::size_t>(process_count()));
  detail::all_gather(devices(), &mine, sizeof mine, all.data(), ticket);
  bool signalled = false;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].step != all[0].step || all[rank].hash != all[0].hash)
      throw MismatchError(fmt::format("save_if_due: every rank must pass the same: rank 0: step {}; rank {}: step {}{}", all[0].step, rank,
                                      all[rank].step, all[rank].step == all[0].step ? ", but other steps or seconds" : ""));
    signalled = signalled || all[rank].signalled != 0;
    state_->stop_requested = state_->stop_requested || all[rank].stop != 0;
  }
  state_->answered = seen;
  const bool by_step = due.steps > 0 && step % due.steps == 0;
  if (!signalled && !by_step && all[0].due == 0) return false;
  save(step, tree, std::move(options));
  return true;
}

}  // namespace meshwise::io
