// A report as a table.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/bytes_text.hpp"
#include "meshwise/plan/cost.hpp"

namespace meshwise {

namespace {

using detail::bytes_text;

std::string count_text(double value) { return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value); }

std::string seconds_text(double value) {
  if (value == 0) return "0 s";
  const char* const units[] = {"s", "ms", "us", "ns"};
  std::size_t unit = 0;
  while (value < 0.9995 && unit + 1 < std::size(units)) {
    value *= 1e3;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, units[unit]);
}

struct Column {
  const char* title;
  double (*value)(const RankCost&);
  std::string (*text)(double);
  bool adds = true;  // over the ranks; else the most is what counts for all
};

#define MESHWISE_FIELD(name) [](const RankCost& r) { return static_cast<double>(r.name); }

std::vector<Column> columns_of(const PlanReport& report) {
  std::vector<Column> columns{{"before", MESHWISE_FIELD(bytes_before), bytes_text},
                              {"after", MESHWISE_FIELD(bytes_after), bytes_text},
                              {"stays", MESHWISE_FIELD(bytes_kept), bytes_text}};
  const auto used = [&](LinkUse RankCost::*way) {
    return std::any_of(report.ranks.begin(), report.ranks.end(), [&](const RankCost& r) { return r.*way != LinkUse{}; });
  };
  if (used(&RankCost::memory)) {
    columns.push_back({"copied", MESHWISE_FIELD(memory.bytes_in), bytes_text});
    columns.push_back({"copies", MESHWISE_FIELD(memory.messages_in), count_text});
  }
  if (used(&RankCost::node)) {
    columns.push_back({"node in", MESHWISE_FIELD(node.bytes_in), bytes_text});
    columns.push_back({"node out", MESHWISE_FIELD(node.bytes_out), bytes_text});
    columns.push_back({"messages", MESHWISE_FIELD(node.messages_out), count_text});
  }
  if (used(&RankCost::network)) {
    columns.push_back({"net in", MESHWISE_FIELD(network.bytes_in), bytes_text});
    columns.push_back({"net out", MESHWISE_FIELD(network.bytes_out), bytes_text});
    columns.push_back({"messages", MESHWISE_FIELD(network.messages_out), count_text});
  }
  columns.push_back({"peak", MESHWISE_FIELD(peak_bytes), bytes_text});
  if (report.options.donate) columns.push_back({"left", MESHWISE_FIELD(bytes_left), bytes_text});
  columns.push_back({"time", MESHWISE_FIELD(seconds), seconds_text, false});
  return columns;
}

#undef MESHWISE_FIELD

std::string end_text(const std::string& type, std::int64_t devices) {
  return devices == 0 ? type + ", uncommitted" : fmt::format("{} on {} device{}", type, devices, devices == 1 ? "" : "s");
}

std::string row(const std::vector<Column>& columns, const std::string& first, const std::vector<double>& values) {
  auto text = fmt::format("{:>6}", first);
  for (std::size_t i = 0; i < columns.size(); ++i) text += fmt::format("{:>10}", columns[i].text(values[i]));
  return text + "\n";
}

/// `Nodes of 8 ranks that share memory; link figures are defaults: run calibrate().`
std::string premises(const PlanReport& report) {
  const auto& [topology, links, donate] = report.options;
  auto text = topology.ranks_per_node > 0
                  ? fmt::format("Nodes of {}{} rank{}", topology.table ? "up to " : "", topology.ranks_per_node, topology.ranks_per_node > 1 ? "s" : "")
                  : std::string("One node");
  if (topology.node_shares_memory && topology.ranks_per_node != 1)
    text += topology.ranks_per_node > 0 ? " that share memory" : " that shares memory";
  std::vector<const char*> assumed, measured;
  const auto look = [&](LinkUse RankCost::*way, const LinkFigures& link, const char* name) {
    for (const auto& r : report.ranks)
      if (r.*way != LinkUse{}) return (link.measured ? measured : assumed).push_back(name);
  };
  look(&RankCost::memory, links.memory, "memory");
  look(&RankCost::node, links.node, "node");
  look(&RankCost::network, links.network, "network");
  if (assumed.empty()) return text + (measured.empty() ? ".\n" : "; link figures as calibrated.\n");
  if (measured.empty()) return text + "; default link figures: run calibrate().\n";
  return text + fmt::format("; link figures as calibrated, but default ones for {}.\n", fmt::join(assumed, " and "));
}

/// What all send, and how that compares with the least that any plan must.
std::string closing(const PlanReport& report) {
  double sent = 0, messages = 0, least = 0;
  for (const auto& r : report.ranks) {
    sent += static_cast<double>(r.node.bytes_in + r.network.bytes_in);
    messages += static_cast<double>(r.node.messages_in + r.network.messages_in);
    least += static_cast<double>(r.bytes_lower_bound);
  }
  const auto where = report.complete ? "" : " to these ranks";
  auto text = sent == 0 ? std::string("Nothing is sent") + where + "."
                        : fmt::format("No plan can send less than {}{}; this one sends {} in {} messages.", bytes_text(least), where,
                                      bytes_text(sent), count_text(messages));
  return text + fmt::format(" The slowest rank takes about {}.\n", seconds_text(report.seconds));
}

}  // namespace

std::string to_string(const PlanReport& report) {
  const auto columns = columns_of(report);
  auto text = end_text(report.from, report.from_devices) + " -> " + end_text(report.to, report.to_devices) + "\n" + premises(report) +
              fmt::format("{:>6}", "rank");
  for (const auto& c : columns) text += fmt::format("{:>10}", c.title);
  text += "\n";
  std::vector<double> all(columns.size()), least, most;
  for (const auto& r : report.ranks) {
    std::vector<double> values;
    for (const auto& c : columns) values.push_back(c.value(r));
    if (least.empty()) least = most = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      all[i] = columns[i].adds || !report.complete ? all[i] + values[i] : std::max(all[i], values[i]);
      least[i] = std::min(least[i], values[i]);
      most[i] = std::max(most[i], values[i]);
    }
    if (report.complete) text += row(columns, std::to_string(r.rank), values);
  }
  if (report.complete) return text + row(columns, "all", all) + closing(report);
  for (auto& value : all) value /= static_cast<double>(report.ranks.size());
  return text + row(columns, "least", least) + row(columns, "mean", all) + row(columns, "most", most) +
         fmt::format("Of {} ranks, looked at for all: {} to {}. ", report.ranks.size(), report.ranks.front().rank,
                     report.ranks.back().rank) +
         closing(report);
}

}  // namespace meshwise
