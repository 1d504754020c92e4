#pragma once
// Carries a plan out on arrays that know their elements by number, and checks everything a plan promises by counting.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "support/plan_blocks.hpp"

namespace meshwise::testing {

class PlanOracle : PlanBlocks {
 public:
  explicit PlanOracle(const PlainCase& c) : PlanBlocks(c), movement_(c.movement()) {}

  /// Throws std::runtime_error with words on the first promise that is broken.
  void check() {
    std::set<std::int64_t> ids(case_.source.ids.begin(), case_.source.ids.end());
    ids.insert(case_.target.ids.begin(), case_.target.ids.end());
    ids.insert(case_.world - 1);  // perhaps in neither list: has nothing to do
    for (const auto id : ids) plans_[id] = plan_device(movement_, case_.topology(), case_.devices()[id]);
    check_boxes();
    carry_out();
    check_result();
    check_pairs();
    check_costs();
  }

  /// How often each kind of piece came up, over all cases.
  static inline std::map<std::string, int> seen{};

 private:
  void check_boxes() const {
    for (const auto* side : {&case_.source, &case_.target})
      for (std::int64_t p = 0; p < side->positions(); ++p)
        for (std::size_t a = 0; a < side->shape.size(); ++a)
          require((side == &case_.source ? movement_.source : movement_.target).box_at(p)[static_cast<std::int64_t>(a)] == side->held(p, a),
                  "box_at");
  }

  void carry_out() {
    std::vector<std::pair<std::int64_t, std::int64_t>> later;
    for (auto& [id, plan] : plans_)
      for (const auto& p : plan.receives) {
        require(p.target.id == id && p.target == case_.devices()[id] && p.source == case_.devices()[p.source.id], "devices of a piece");
        require(!p.box.empty() && p.box.ndim() == static_cast<std::int64_t>(case_.extent.size()), "an empty piece");
        auto& mine = target_.at(id);
        const bool near = case_.rank(id) == case_.rank(p.source.id);
        if (p.action == Action::alias || p.action == Action::hand_over) {
          require(plan.receives.size() == 1, "a shared block has one piece");
          require((p.action == Action::alias) == (id == p.source.id) && case_.together(id, p.source.id),
                  "an alias is the device's, a hand_over near");
          if (p.from_new) {
            require(target_.at(p.source.id).elements == mine.elements, "a new block of another box");
            later.emplace_back(id, p.source.id);
            for (const auto other : case_.target.ids) {  // the first in the list that can share receives for all
              if (other == p.source.id) break;
              require(!case_.together(other, id) || target_.at(other).elements != mine.elements, "not the first in the list receives");
            }
          } else {
            require(exact(p.source.id, id), "a block that is not exactly the one wanted");
            mine.share = source_.at(p.source.id).share;
          }
        } else {
          require(near == (p.action == Action::copy), "copy is inside a process, send between two");
          Ints first;
          for (const auto& r : p.box) first.push_back(r.start);
          require(p.source.id == id || !source_.contains(id) || find(source_.at(id), source_number(first)) == nullptr,
                  "the device's own copy is passed over");
        }
        ++seen[p.from_new                      ? "new block"
               : p.action == Action::alias     ? "alias"
               : p.action == Action::hand_over ? "old block"
               : near                          ? "copy"
                                               : "send"];
        if (p.from_new) continue;
        each({p.box.begin(), p.box.end()}, [&](const Ints& c) {
          auto* const to = find(mine, target_number(c));
          const auto* const from = find(source_.at(p.source.id), source_number(c));
          require(to != nullptr && from != nullptr, "a piece reaches outside the boxes");
          require(*to == -1, "an element is written twice");
          *to = *from;
        });
      }
    for (const auto& [taker, giver] : later) {
      require(plans_.at(giver).receives.front().action == Action::copy || plans_.at(giver).receives.front().action == Action::send,
              "a new block is handed on by one who was handed it");
      target_.at(taker).values = target_.at(giver).values;
      target_.at(taker).share = target_.at(giver).share;
    }
  }

  void check_result() {
    std::map<std::int64_t, std::int64_t> expected;
    each(whole(), [&](const Ints& c) { expected[target_number(c)] = source_number(c); });
    for (auto& [id, block] : target_) {
      for (std::size_t i = 0; i < block.elements.size(); ++i) {
        const auto it = expected.find(block.elements[i]);
        const auto wanted = it == expected.end() ? -1 : it->second;
        if (block.values[i] != wanted) require(false, fmt::format("device {} element {}", id, block.elements[i]));
      }
      if (source_.contains(id) && exact(id, id)) require(block.share == source_.at(id).share, "a block the device had already is not kept");
      const bool touched = std::any_of(block.values.begin(), block.values.end(), [](auto v) { return v != -1; });
      for (auto& [other, twin] : target_)
        if (touched && case_.together(id, other) && twin.elements == block.elements)
          require(twin.share == block.share || (case_.rank(id) != case_.rank(other) && source_.contains(other) && exact(other, other)) ||
                      exact_near(id) || exact_near(other),
                  "two devices that can share a block do not");
    }
  }

  /// Both ends of a pair of processes hold the same pieces in the same order, and begin with the peers after them.
  void check_pairs() {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Piece>> given, taken;
    for (auto& [id, plan] : plans_)
      for (const bool gives : {true, false}) {
        std::int64_t before = -1;
        const auto& list = gives ? plan.sends : plan.receives;
        for (std::size_t i = 0; i < list.size(); ++i) {
          const auto peer = (gives ? list[i].target : list[i].source).rank, mine = case_.rank(id);
          const auto place = (peer - mine + 1000) % 1000;
          require(place >= before, "peers out of order");
          require(place > before || piece_order(list[i - 1], list[i]), "pieces of a pair out of order");
          before = place;
          require(!gives || peer != mine, "a send inside a process");
          if (peer != mine) (gives ? given : taken)[{list[i].source.rank, list[i].target.rank}].push_back(list[i]);
        }
      }
    for (auto* side : {&given, &taken})
      for (auto& entry : *side) std::sort(entry.second.begin(), entry.second.end(), piece_order);
    const auto same = [](const Piece& a, const Piece& b) {
      return a.source == b.source && a.target == b.target && a.box == b.box && a.action == b.action && a.from_new == b.from_new;
    };
    require(given.size() == taken.size(), fmt::format("{} pairs of processes send, {} receive", given.size(), taken.size()));
    for (const auto& [pair, list] : given)
      require(std::equal(list.begin(), list.end(), taken[pair].begin(), taken[pair].end(), same),
              fmt::format("ranks {} -> {} differ", pair.first, pair.second));
  }

  void check_costs() {
    // Who holds and wants what, by movement coordinate: per process, or per node where memory is shared.
    const auto group = [&](std::int64_t id) { return case_.shares ? case_.node(id) : case_.rank(id); };
    std::map<std::int64_t, std::set<std::int64_t>> has, wants;
    std::set<std::pair<std::int64_t, std::int64_t>> node_has, arrived;
    each(whole(), [&](const Ints& c) {
      const auto from = source_number(c), to = target_number(c);
      for (auto& [id, block] : source_)
        if (find(block, from) != nullptr) {
          has[group(id)].insert(from);
          node_has.insert({case_.node(id), from});
        }
      for (auto& [id, block] : target_)
        if (find(block, to) != nullptr) wants[group(id)].insert(from);
    });
    std::int64_t bound = 0, sent = 0, between_groups = 0;
    for (const auto& [g, elements] : wants)
      for (const auto e : elements) bound += has[g].contains(e) ? 0 : 1;
    std::set<std::pair<std::int64_t, std::int64_t>> pairs;
    PlanCost sum;
    for (auto& [id, plan] : plans_) {
      const auto cost = cost_of(plan, 4);
      sum.bytes_kept += cost.bytes_kept;
      sum.bytes_copied += cost.bytes_copied;
      sum.bytes_sent += cost.bytes_sent;
      for (const auto& p : plan.receives) {
        if (p.action != Action::send) continue;
        pairs.insert({p.source.rank, p.target.rank});
        sent += p.box.num_elements();
        if (group(id) != group(p.source.id)) between_groups += p.box.num_elements();
        each({p.box.begin(), p.box.end()}, [&](const Ints& c) {
          const auto e = source_number(c);
          require(arrived.insert({group(id), e}).second, "an element is sent twice to one process or node that shares memory");
          require(case_.node(id) == case_.node(p.source.id) || !node_has.contains({case_.node(id), e}),
                  "a holder on the node was passed over");
        });
      }
    }
    const auto total = total_cost(movement_, case_.topology(), 4);
    require(between_groups == bound, fmt::format("{} elements sent, {} were needed", between_groups, bound));
    require(total.bytes_lower_bound == 4 * bound && total.bytes_sent == 4 * sent, "lower bound or bytes sent of the whole");
    require(total.messages == static_cast<std::int64_t>(pairs.size()), "messages of the whole");
    require(sum.bytes_kept == total.bytes_kept && sum.bytes_copied == total.bytes_copied && sum.bytes_sent == total.bytes_sent,
            "devices' costs do not add up to the whole's");
  }

  Movement movement_;
  std::map<std::int64_t, DevicePlan> plans_{};
};

}  // namespace meshwise::testing
