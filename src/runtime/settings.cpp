#include "runtime/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {
namespace {

constexpr std::int64_t largest_chunk = std::int64_t{1} << 30;

[[noreturn]] void refuse(const std::string& name, const std::string& value, std::string_view allowed) {
  throw Error(fmt::format("{}={} is not a setting meshwise knows: it may be {}. Set it in rank 0's environment, which governs all ranks.",
                          name, value, allowed));
}

class Reader {
 public:
  explicit Reader(const std::map<std::string, std::string>& given) : given_(given) {}

  const std::string* find(const std::string& name) const {
    const auto at = given_.find(name);
    return at == given_.end() || at->second.empty() ? nullptr : &at->second;
  }

  void whole(const std::string& name, std::int64_t least, std::int64_t& value) const {
    const std::string* text = find(name);
    if (!text) return;
    std::int64_t read = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), read);
    if (error != std::errc{} || end != text->data() + text->size() || read < least) {
      refuse(name, *text, fmt::format("a whole number of at least {}", least));
    }
    value = read;
  }

  void numbers(const std::string& name, std::vector<std::int64_t>& values) const {
    const std::string* text = find(name);
    if (!text) return;
    for (const char *at = text->data(), *const end = at + text->size();;) {
      std::int32_t read = 0;
      const auto [stop, error] = std::from_chars(at, end, read);
      if (error != std::errc{} || read < 0 || (stop != end && *stop != ',')) refuse(name, *text, "whole numbers with commas between, as in 0,1");
      values.push_back(read);
      if (stop == end) return;
      at = stop + 1;
    }
  }

  void seconds(const std::string& name, double& value) const {
    const std::string* text = find(name);
    if (!text) return;
    double read = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), read);
    if (error != std::errc{} || end != text->data() + text->size() || !(read >= 0) || !std::isfinite(read)) {
      refuse(name, *text, "a number of seconds, 0 for no limit");
    }
    value = read;
  }

 private:
  const std::map<std::string, std::string>& given_;
};

Check parse_check(const std::string& text) {
  if (text == "off") return Check::off;
  if (text == "ledger") return Check::ledger;
  if (text == "lockstep") return Check::lockstep;
  refuse("MESHWISE_CHECK", text, "off, ledger or lockstep");
}

bool parse_store(const std::string& text) {
  if (text == "arena") return true;
  if (text == "private") return false;
  refuse("MESHWISE_STORE", text, "arena or private");
}

KernelSet parse_kernels(const std::string& text) {
  if (text == "portable") return KernelSet::portable;
  if (text == "avx2") return KernelSet::avx2;
  if (text == "avx512") return KernelSet::avx512;
  refuse("MESHWISE_KERNELS", text, "portable, avx2 or avx512");
}

bool parse_switch(const std::string& name, const std::string& text) {
  if (text == "on" || text == "1") return true;
  if (text == "off" || text == "0") return false;
  refuse(name, text, "on or off");
}

void parse_failing_allocation(const std::string& text, Settings& settings) {
  const auto colon = text.find(':');
  const char* end = text.data() + text.size();
  bool good = colon != std::string::npos;
  if (good) {
    const auto rank = std::from_chars(text.data(), text.data() + colon, settings.failing_rank);
    const auto number = std::from_chars(text.data() + colon + 1, end, settings.failing_allocation);
    good = rank.ec == std::errc{} && number.ec == std::errc{} && rank.ptr == text.data() + colon && number.ptr == end;
  }
  if (!good) refuse("MESHWISE_FAIL_ALLOCATION", text, "RANK:NUMBER, as in 1:3");
}

}  // namespace

std::map<std::string, std::string> own_variables() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with("MESHWISE_")) continue;
    found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

Settings parse_settings(std::map<std::string, std::string> given) {
  Settings settings;
  settings.given = std::move(given);
  const Reader read(settings.given);
  if (const auto* text = read.find("MESHWISE_CHECK")) settings.check = parse_check(*text);
  if (const auto* text = read.find("MESHWISE_KERNELS")) settings.kernels = parse_kernels(*text);
  if (const auto* text = read.find("MESHWISE_PROGRESS_THREAD")) settings.progress_thread = parse_switch("MESHWISE_PROGRESS_THREAD", *text);
  if (const auto* text = read.find("MESHWISE_DETERMINISTIC")) parse_switch("MESHWISE_DETERMINISTIC", *text);
  if (const auto* text = read.find("MESHWISE_STORE")) settings.arena = parse_store(*text);
  if (const auto* text = read.find("MESHWISE_FAIL_ALLOCATION")) parse_failing_allocation(*text, settings);
  read.whole("MESHWISE_DEVICES_PER_RANK", 1, settings.devices_per_rank);
  read.seconds("MESHWISE_TIMEOUT", settings.timeout);
  read.seconds("MESHWISE_REPORT_AFTER", settings.report_after);
  read.whole("MESHWISE_NODE_SIZE", 0, settings.node_size);
  read.numbers("MESHWISE_NODES", settings.nodes);
  read.whole("MESHWISE_CHUNK_BYTES", 1, settings.chunk_bytes);
  if (settings.chunk_bytes > largest_chunk) {
    refuse("MESHWISE_CHUNK_BYTES", settings.given.at("MESHWISE_CHUNK_BYTES"), fmt::format("at most {}: MPI counts are ints", largest_chunk));
  }
  read.whole("MESHWISE_WINDOW", 1, settings.window);
  read.whole("MESHWISE_RUN_AHEAD", 1, settings.run_ahead);
  std::int64_t seed = 0;
  read.whole("MESHWISE_DELAY_SEED", 0, seed);
  settings.delay_seed = static_cast<std::uint64_t>(seed);
  read.whole("MESHWISE_MAX_COMMUNICATORS", 0, settings.max_communicators);
  read.whole("MESHWISE_TAG_BOUND", 1, settings.tag_bound);
  read.whole("MESHWISE_MEMORY_LIMIT", 0, settings.memory_limit);
  read.whole("MESHWISE_POOL_BYTES", 0, settings.pool_bytes);
  read.whole("MESHWISE_LARGE_FROM", 0, settings.large_from);
  return settings;
}

}  // namespace meshwise::detail
