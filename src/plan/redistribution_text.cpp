// Plans and their costs as text.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "meshwise/plan/propagation.hpp"
#include "meshwise/plan/redistribution.hpp"
#include "plan/redistribution_planner.hpp"

namespace meshwise {

namespace {

const char* name_of(const Piece& piece) {
  switch (piece.action) {
    case Action::alias:
      return "alias";
    case Action::hand_over:
      return piece.from_new ? "hand_over its new block" : "hand_over";
    case Action::copy:
      return "copy";
    case Action::send:
      break;
  }
  return "send";
}

std::string received(const Piece& p) {
  return fmt::format("device {} <- {} {} {}\n", p.target.id, p.source.id, to_string(p.box), name_of(p));
}

std::string bytes_text(double value) {
  if (value < 1024) return fmt::format("{:.0f} B", value);
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

/// What one process has to do with a movement.
struct RankRow {
  std::int64_t rank = 0;
  std::int64_t before = 0, after = 0;  // bytes of its shards
  std::int64_t kept = 0, copied = 0, received = 0, sent = 0, messages = 0;
};

/// The figures of a row, in the order of the columns; all but the last are bytes.
std::vector<double> figures(const RankRow& r) {
  std::vector<double> out;
  for (const auto f : {r.before, r.after, r.kept, r.copied, r.received, r.sent, r.messages}) out.push_back(static_cast<double>(f));
  return out;
}

RankRow row_of(const Movement& movement, const Topology& topology, std::int64_t rank, std::int64_t itemsize) {
  const auto &from = movement.source.sharding.devices(), &to = movement.target.sharding.devices();
  const auto per_rank = std::max(from.devices_per_rank(), to.devices_per_rank());
  const detail::Planner planner(movement, topology);
  RankRow row;
  row.rank = rank;
  std::set<std::int64_t> peers;
  for (std::int64_t id = rank * per_rank; id < (rank + 1) * per_rank; ++id) {
    const Device device{id, rank, id % per_rank};
    if (const auto position = from.position_of(id)) row.before += movement.source.box_at(*position).num_elements() * itemsize;
    if (const auto position = to.position_of(id)) row.after += movement.target.box_at(*position).num_elements() * itemsize;
    for (const auto& p : planner.receives(device)) {
      const auto bytes = p.box.num_elements() * itemsize;
      (p.action == Action::copy ? row.copied : p.action == Action::send ? row.received : row.kept) += bytes;
    }
    for (const auto& p : planner.sends(device))
      if (p.action == Action::send) {
        row.sent += p.box.num_elements() * itemsize;
        peers.insert(p.target.rank);
      }
  }
  row.messages = static_cast<std::int64_t>(peers.size());
  return row;
}

std::string line(const std::string& first, const std::vector<double>& figures) {
  auto text = fmt::format("{:>6}", first);
  for (std::size_t i = 0; i + 1 < figures.size(); ++i) text += fmt::format("{:>10}", bytes_text(figures[i]));
  return text + fmt::format("{:>10.4g}\n", figures.back());
}

constexpr std::int64_t rows_shown = 16;

/// The ranks of the two lists if they are few; else those of devices spread evenly over both, the first and the last among them.
std::pair<std::set<std::int64_t>, bool> ranks_to_show(const DeviceList& from, const DeviceList& to) {
  std::set<std::int64_t> ranks;
  const auto most = rows_shown * std::max(from.devices_per_rank(), to.devices_per_rank());
  bool all = from.size() <= most && to.size() <= most;
  if (all) {
    for (const auto* list : {&from, &to})
      for (const auto device : *list) ranks.insert(device.rank);
    if (static_cast<std::int64_t>(ranks.size()) <= rows_shown) return {ranks, true};
    ranks.clear();
  }
  for (const auto* list : {&from, &to})
    for (std::int64_t i = 0; i < rows_shown; ++i) {
      const auto n = list->size() - 1;
      ranks.insert((*list)[n / (rows_shown - 1) * i + n % (rows_shown - 1) * i / (rows_shown - 1)].rank);
    }
  return {ranks, false};
}

}  // namespace

std::string to_string(const DevicePlan& plan) {
  std::string text;
  for (const auto& p : plan.receives) text += received(p);
  for (const auto& p : plan.sends) text += fmt::format("device {} -> {} {} {}\n", p.source.id, p.target.id, to_string(p.box), name_of(p));
  return text;
}

std::string to_string(const Movement& movement, const Topology& topology) {
  const detail::Planner planner(movement, topology);
  std::string text;
  for (const auto device : movement.target.sharding.devices())
    for (const auto& p : planner.receives(device)) text += received(p);
  return text;
}

std::string explain(const Shape& shape, Dtype dtype, const Sharding& from, const Sharding& to, const Topology& topology) {
  const auto movement = Movement::reshard(from, to, shape);
  const auto size = static_cast<std::int64_t>(itemsize(dtype));
  const auto [ranks, all] = ranks_to_show(from.devices(), to.devices());
  auto text = fmt::format("{} on {} devices -> {} on {} devices\n{:>6}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
                          type_string(dtype, shape, from.spec()), from.devices().size(), type_string(dtype, shape, to.spec()),
                          to.devices().size(), "rank", "before", "after", "keeps", "copies", "receives", "sends", "messages");
  std::vector<RankRow> rows;
  for (const auto rank : ranks) rows.push_back(row_of(movement, topology, rank, size));
  auto sum = figures(RankRow{}), least = figures(rows.front()), most = least;
  for (const auto& row : rows) {
    const auto f = figures(row);
    for (std::size_t i = 0; i < f.size(); ++i) {
      sum[i] += f[i];
      least[i] = std::min(least[i], f[i]);
      most[i] = std::max(most[i], f[i]);
    }
    if (all) text += line(std::to_string(row.rank), f);
  }
  if (all) {
    const auto cost = total_cost(movement, topology, itemsize(dtype));
    return text + line("all", sum) +
           fmt::format("No plan can send less than {}; this one sends {} in {} messages.\n",
                       bytes_text(static_cast<double>(cost.bytes_lower_bound)), bytes_text(static_cast<double>(cost.bytes_sent)),
                       cost.messages);
  }
  for (auto& s : sum) s /= static_cast<double>(rows.size());
  return text + line("least", least) + line("mean", sum) + line("most", most) +
         fmt::format("Of {} ranks, looked at for all: {} to {}.\n", rows.size(), *ranks.begin(), *ranks.rbegin());
}

}  // namespace meshwise
