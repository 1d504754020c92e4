#pragma once
// The arrays of a random movement as elements known by number, held by devices.

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "support/plan_case.hpp"

namespace meshwise::testing {

class PlanBlocks {
 protected:
  explicit PlanBlocks(const PlainCase& c) : case_(c), source_(blocks(c.source)), target_(blocks(c.target)) {}

  /// What a device holds: the numbers of the elements of its box, in memory order; values beside them (-1: none yet).
  struct Block {
    Ints elements{}, values{};
    int share = 0;  // blocks of one number are one
  };
  using Blocks = std::map<std::int64_t, Block>;  // by device id

  static void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
  }

  static std::int64_t number(const Ints& element, const Ints& shape) {
    std::int64_t n = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) n = n * shape[a] + element[a];
    return n;
  }

  template <class F>
  static void each(const std::vector<Range>& box, F f) {
    Ints c;
    for (const auto& r : box) {
      if (r.empty()) return;
      c.push_back(r.start);
    }
    for (;;) {
      f(c);
      auto d = box.size();
      while (d > 0 && ++c[d - 1] == box[d - 1].stop) {
        c[d - 1] = box[d - 1].start;
        --d;
      }
      if (d == 0) return;
    }
  }

  Blocks blocks(const PlainEnd& end) {
    Blocks out;
    for (std::int64_t p = 0; p < end.positions(); ++p) {
      std::vector<Range> box;
      for (std::size_t a = 0; a < end.shape.size(); ++a) box.push_back(end.held(p, a));
      auto& block = out[end.ids[at(p)]];
      each(box, [&](const Ints& e) { block.elements.push_back(number(e, end.shape)); });
      block.values = &end == &case_.source ? block.elements : Ints(block.elements.size(), -1);
      block.share = ++shares_;
    }
    return out;
  }

  static std::int64_t* find(Block& block, std::int64_t element) {
    const auto it = std::lower_bound(block.elements.begin(), block.elements.end(), element);
    return it == block.elements.end() || *it != element ? nullptr : &block.values[static_cast<std::size_t>(it - block.elements.begin())];
  }

  std::int64_t source_number(const Ints& c) const { return number(case_.source.element(c), case_.source.shape); }
  std::int64_t target_number(const Ints& c) const { return number(case_.target.element(c), case_.target.shape); }
  std::vector<Range> whole() const {
    std::vector<Range> box;
    for (const auto n : case_.extent) box.push_back({0, n});
    return box;
  }

  /// The old block of `giver`, read in memory order, is the new block of `taker`.
  bool exact(std::int64_t giver, std::int64_t taker) {
    const auto block = source_.find(giver);
    const auto& wanted = target_.at(taker).elements;
    if (block == source_.end() || wanted.empty() || block->second.elements.size() != wanted.size()) return false;
    std::map<std::int64_t, std::int64_t> from;  // target element -> source element
    each(whole(), [&](const Ints& c) { from[target_number(c)] = source_number(c); });
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (const auto it = from.find(wanted[i]); it == from.end() || it->second != block->second.elements[i]) return false;
    return true;
  }

  bool exact_near(std::int64_t id) {
    return std::any_of(source_.begin(), source_.end(), [&](const auto& s) { return case_.together(s.first, id) && exact(s.first, id); });
  }

  const PlainCase& case_;
  int shares_ = 0;
  Blocks source_, target_;
};

}  // namespace meshwise::testing
