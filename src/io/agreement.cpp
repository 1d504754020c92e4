#include "io/agreement.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/collectives.hpp"

namespace meshwise::detail {

namespace {

constexpr char said = 's', no_memory = 'm', failed = 'f';  // a text's first letter

// `rank 1: words; ranks 2, 3: other words`.
std::string by_rank(const std::vector<std::string>& texts, const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (!wanted(texts[rank])) continue;
    const auto words = texts[rank].substr(1);
    auto group = groups.begin();
    while (group != groups.end() && group->first != words) ++group;
    if (group == groups.end()) group = groups.insert(group, {words, {}});
    group->second.push_back(rank);
  }
  std::string text;
  for (const auto& [words, ranks] : groups)
    text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "), words);
  return text;
}

}  // namespace

std::vector<std::string> agreed(const std::string& call, const Ticket& ticket, const std::function<std::string()>& f) {
  std::string mine;
  try {
    mine = said + f();
  } catch (const OutOfMemoryError& e) {
    mine = no_memory + std::string(e.what());
  } catch (const std::bad_alloc& e) {
    mine = no_memory + std::string(e.what());
  } catch (const std::exception& e) {
    mine = failed + std::string(e.what());
  }
  auto texts = all_gather_text(mine, ticket);
  std::size_t failures = 0, short_of_memory = 0;
  for (const auto& text : texts) {
    failures += text[0] != said;
    short_of_memory += text[0] == no_memory;
  }
  if (failures > 0) {
    const auto words = fmt::format("{}: {}", call, by_rank(texts, [](const std::string& text) { return text[0] != said; }));
    if (failures == short_of_memory) throw OutOfMemoryError(words);
    throw CheckpointError(words);
  }
  for (auto& text : texts) text.erase(0, 1);
  return texts;
}

void same_call(const std::string& operation, const std::string& call, const Ticket& ticket) {
  const auto calls = all_gather_text(said + call, ticket);
  for (const auto& text : calls)
    if (text != calls.front())
      throw MismatchError(
          fmt::format("{}: every rank must pass the same: {}", operation, by_rank(calls, [](const std::string&) { return true; })));
}

void same_lines(const std::string& operation, std::uint64_t hash, const std::function<std::vector<std::string>()>& lines,
                const Ticket& ticket) {
  const auto hashes = all_gather_text(fmt::format("{:016x}", hash), ticket);
  if (std::all_of(hashes.begin(), hashes.end(), [&](const std::string& h) { return h == hashes[0]; })) return;
  const auto split = [](const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('\0', at), text.size());
      parts.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return parts;
  };
  std::string mine;
  for (const auto& line : lines()) mine += line + '\0';
  const auto texts = all_gather_text(mine, ticket);
  const auto first = split(texts[0]);
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const auto other = split(texts[rank]);
    const auto [a, b] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
    if (a == first.end() && b == other.end()) continue;
    throw MismatchError(fmt::format("{}: every rank must pass the same: rank 0: {}; rank {}: {}", operation,
                                    a == first.end() ? "nothing more" : *a, rank, b == other.end() ? "nothing more" : *b));
  }
  throw MismatchError(fmt::format("{}: every rank must pass the same", operation));
}

}  // namespace meshwise::detail
