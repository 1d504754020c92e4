// Plans as text.
#include <string>

#include <fmt/format.h>

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

}  // namespace meshwise
