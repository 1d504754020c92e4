#include "tools/links_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {
namespace {

using nlohmann::json;
constexpr int version = 1;

json to_json(const LinkFigures& link) {
  if (!link.measured) return nullptr;
  return {{"bandwidth", link.bandwidth}, {"rank_bandwidth", link.rank_bandwidth}, {"latency", link.latency}};
}

void from_json(const json& ways, const char* name, LinkFigures& link) {
  const auto at = ways.find(name);
  if (at == ways.end() || !at->is_object()) return;
  const auto figure = [&](const char* key) {
    const auto found = at->find(key);
    const double value = found != at->end() && found->is_number() ? found->get<double>() : -1;
    return std::isfinite(value) ? value : -1;
  };
  const LinkFigures read{figure("bandwidth"), figure("rank_bandwidth"), figure("latency"), true};
  if (read.bandwidth > 0 && read.rank_bandwidth > 0 && read.latency >= 0) link = read;
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw Error(
      fmt::format("calibrate: the link figures cannot be written to '{}': {}. Set MESHWISE_CALIBRATION to a file that can.", path, reason));
}

}  // namespace

std::string links_to_json(const Links& links) {
  const json ways{{"memory", to_json(links.memory)}, {"node", to_json(links.node)}, {"network", to_json(links.network)}};
  return json{{"meshwise", "links"}, {"version", version}, {"links", ways}}.dump(2) + "\n";
}

Links links_from_json(const std::string& text) {
  Links links;
  const auto read = json::parse(text, nullptr, false);
  if (!read.is_object() || read.value("version", json()) != version) return links;
  const auto ways = read.find("links");
  if (ways == read.end() || !ways->is_object()) return links;
  from_json(*ways, "memory", links.memory);
  from_json(*ways, "node", links.node);
  from_json(*ways, "network", links.network);
  return links;
}

Links read_links(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return {};
  return links_from_json({std::istreambuf_iterator<char>(file), {}});
}

void write_links(const std::string& path, const Links& links) {
  if (path.empty()) refuse(path, "neither MESHWISE_CALIBRATION nor XDG_CACHE_HOME nor HOME is set");
  const std::filesystem::path target(path);
  std::error_code error;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  if (error) refuse(path, error.message());
  const auto draft = fmt::format("{}.{}", path, getpid());
  {
    std::ofstream file(draft, std::ios::binary);
    file << links_to_json(links);
    file.flush();
    if (!file) {
      const int reason = errno;
      std::filesystem::remove(draft, error);
      refuse(path, std::strerror(reason));
    }
  }
  std::filesystem::rename(draft, target, error);
  if (!error) return;
  const auto reason = error.message();
  std::filesystem::remove(draft, error);
  refuse(path, reason);
}

}  // namespace meshwise::detail
