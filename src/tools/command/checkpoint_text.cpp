// How `meshwise checkpoint` prints what it finds.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "base/bytes_text.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {

namespace {

// Characters, of UTF-8: all bytes but those that go on with one.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths(sides_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - width(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (sides_[c] == '>' ? padding + row[c] : row[c] + padding);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string bytes_text(std::int64_t bytes) { return detail::bytes_text(static_cast<double>(bytes)); }

std::string counted(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : what.ends_with("x") ? "es" : "s");
}

std::string metrics_text(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += fmt::format("{}{}={:.6g}", text.empty() ? "" : ", ", name, value);
  return text;
}

void print_json(const ordered_json& value) { fmt::print("{}\n", value.dump(2, ' ', false, ordered_json::error_handler_t::replace)); }

ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Bar::Bar(std::string what)
    : what_(std::move(what)),
      start_(std::chrono::steady_clock::now()),
      next_(start_ + std::chrono::seconds(1)),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

Bar::~Bar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Bar::show(std::int64_t done, std::int64_t total) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  const auto seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r\x1b[K{}: {:.0f} % of {}, {}/s", what_,
             total > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 100.0, bytes_text(total),
             detail::bytes_text(static_cast<double>(done) / seconds));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace meshwise::command
