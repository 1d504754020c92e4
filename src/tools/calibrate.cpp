#include "meshwise/tools/calibrate.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/link_probe.hpp"
#include "meshwise/runtime/sequence.hpp"
#include "tools/links_file.hpp"

namespace meshwise {
namespace {

struct Known {
  std::mutex lock;
  std::optional<Links> links;
};

Known& known() {
  static auto* const immortal = new Known;
  return *immortal;
}

std::string own_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string row(const char* name, const LinkFigures& link) {
  return fmt::format("{:<8}{:>12.2f} GB/s{:>12.2f} GB/s{:>12.2f} us   {}\n", name, 1e-9 * link.bandwidth, 1e-9 * link.rank_bandwidth,
                     1e6 * link.latency, link.measured ? "measured" : "default");
}

}  // namespace

std::string links_path() {
  if (auto path = setting("MESHWISE_CALIBRATION"); !path.empty()) return path;
  if (const auto cache = own_variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/meshwise/links.json";
  if (const auto home = own_variable("HOME"); !home.empty()) return home + "/.cache/meshwise/links.json";
  return "";
}

Links links() {
  auto& [lock, links] = known();
  const std::scoped_lock hold(lock);
  if (!links) links = detail::read_links(links_path());
  return *links;
}

Links calibrate() {
  quiesce();  // a transfer under way would be measured with it
  const detail::Call call{.operation = "calibrate", .hash = detail::hash_text("calibrate")};
  auto ticket = detail::enter_world_call(call);
  detail::describe(ticket, "");
  const auto measured = detail::measure_links(ticket);
  // Only rank 0's file is asked: other hosts may have others, or none.
  std::string text;
  if (process_index() == 0) {
    auto merged = detail::read_links(links_path());
    for (const auto way : {&Links::memory, &Links::node, &Links::network})
      if ((measured.*way).measured) merged.*way = measured.*way;
    text = detail::links_to_json(merged);
  }
  const auto figures = detail::links_from_json(detail::all_gather_text(text, ticket).front());
  {
    auto& [lock, links] = known();
    const std::scoped_lock hold(lock);
    links = figures;
  }
  agree([&] {
    if (process_index() == 0) detail::write_links(links_path(), figures);
  });
  return figures;
}

std::string to_string(const Links& links) {
  return fmt::format("{:<8}{:>17}{:>17}{:>15}\n", "link", "whole node", "one rank", "latency") + row("memory", links.memory) +
         row("node", links.node) + row("network", links.network);
}

}  // namespace meshwise
