#include "io/checkpoint/meter.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

using std::chrono::steady_clock;

Meter::Meter(const io::CheckpointOptions& options)
    : options_(options),
      start_(steady_clock::now()),
      next_(start_),
      has_bar_(options.bar && process_index() == 0 && ::isatty(STDERR_FILENO) == 1) {}

Meter::~Meter() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Meter::show(const io::Progress& progress) {
  if (!has_bar_ && !options_.on_progress) return;
  const auto now = steady_clock::now();
  const bool last = progress.done >= progress.total;
  if (now < next_ && (!last || ended_)) return;
  ended_ = last;
  next_ = now + std::chrono::milliseconds(100);
  if (options_.on_progress) options_.on_progress(progress);
  const std::chrono::duration<double> taken = now - start_;
  if (has_bar_ && taken.count() > 1) draw(progress, taken.count());
}

void Meter::draw(const io::Progress& progress, double seconds) {
  constexpr int width = 40;
  const double share = progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 1;
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width);
  const double rate = static_cast<double>(progress.done) / seconds;
  fmt::print(stderr, "\r\x1b[K{} {:8} [{}{}] {:3.0f} % {:6.1f} MB/s", progress.phase, progress.step, std::string(full, '#'),
             std::string(width - full, ' '), share * 100, rate / 1e6);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace meshwise::detail
