#include "io/checkpoint/retention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/steps.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise {

namespace io {

Retention operator|(Retention a, const Retention& b) {
  a.last = std::max(a.last, b.last);
  if (a.every == 0)
    a.every = b.every;
  else if (b.every != 0 && b.every != a.every)
    throw CheckpointError("keep_every is given twice");
  a.best.insert(a.best.end(), b.best.begin(), b.best.end());
  return a;
}

namespace {
void check_positive(const char* rule, std::int64_t count) {
  if (count <= 0) throw CheckpointError(fmt::format("{}({}): a positive number is needed; no rule at all keeps every step", rule, count));
}
}  // namespace

Retention keep_last(std::int64_t count) {
  check_positive("keep_last", count);
  Retention keep;
  keep.last = count;
  return keep;
}

Retention keep_every(std::int64_t steps) {
  check_positive("keep_every", steps);
  Retention keep;
  keep.every = steps;
  return keep;
}

Retention best(const std::string& metric, std::int64_t count, Retention::Order order) {
  check_positive("best", count);
  Retention keep;
  keep.best.push_back({metric, count, order});
  return keep;
}

}  // namespace io

namespace detail {

std::vector<std::int64_t> steps_to_remove(const io::Retention& keep, const StepMetrics& steps, std::int64_t current) {
  if (keep.keeps_all() || steps.empty()) return {};
  std::set<std::int64_t> wanted{current, steps.rbegin()->first};
  std::int64_t newest = 0;
  for (auto step = steps.rbegin(); step != steps.rend() && newest < keep.last; ++step, ++newest) wanted.insert(step->first);
  for (const auto& [step, metrics] : steps)
    if (keep.every > 0 && step % keep.every == 0) wanted.insert(step);
  for (const auto& rule : keep.best) {
    std::vector<std::pair<double, std::int64_t>> ranked;
    for (const auto& [step, metrics] : steps) {
      const auto found = metrics.find(rule.metric);
      if (found == metrics.end() || std::isnan(found->second)) continue;
      ranked.emplace_back(rule.order == io::Retention::Order::smallest ? found->second : -found->second,
                          -step);  // of equal ones the newest
    }
    std::sort(ranked.begin(), ranked.end());
    for (std::size_t k = 0; k < std::min(ranked.size(), static_cast<std::size_t>(rule.count)); ++k) wanted.insert(-ranked[k].second);
  }
  std::vector<std::int64_t> unwanted;
  for (const auto& [step, metrics] : steps)
    if (!wanted.contains(step)) unwanted.push_back(step);
  return unwanted;
}

std::vector<std::int64_t> retire_steps(const std::string& root, const io::Retention& keep, std::int64_t current) {
  if (keep.keeps_all()) return {};
  // The save itself is done: what cannot be read or removed stays, and somebody should know before the disk is full.
  const auto attempt = [&](auto&& f) {
    try {
      f();
      return true;
    } catch (const CheckpointError& e) {
      fmt::print(stderr, "meshwise: not all old steps of '{}' are removed: {}\n", root, e.what());
      return false;
    }
  };
  StepMetrics steps;
  attempt([&] {
    for (const auto step : good_steps(root)) {
      auto& metrics = steps[step];
      if (!keep.best.empty()) attempt([&] { metrics = read_manifest(root + "/" + step_name(step)).metrics; });
    }
  });
  std::vector<std::int64_t> removed;
  for (const auto step : steps_to_remove(keep, steps, current))
    if (attempt([&] { remove_step(root + "/" + step_name(step)); })) removed.push_back(step);
  return removed;
}

}  // namespace detail

}  // namespace meshwise
