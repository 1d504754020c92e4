// In how many steps a contraction is computed.

#include <algorithm>
#include <optional>

#include "meshwise/plan/contraction.hpp"
#include "plan/contraction_terms.hpp"

namespace meshwise {

namespace detail {
namespace {

constexpr std::int64_t worthwhile = std::int64_t{1} << 20;  // bytes a device beside its shards, below which steps cost more than they save
constexpr std::int64_t worth_a_loan = std::int64_t{64} << 10;  // the same, where panels are blocks of others and only read
constexpr std::int64_t most_panels = 64;
constexpr std::int64_t least_panel = 32;  // elements: thinner ones starve the matrix product
constexpr std::int64_t live_share = 5;    // one part in so many of the shards may be beside them

/// In how many steps so many bytes come, two panels of them in `allowed` bytes.
std::int64_t steps_of(std::int64_t bytes, std::int64_t allowed, std::int64_t most, const Topology& topology) {
  auto count = 2 * bytes <= allowed ? 1 : allowed > 0 ? (2 * bytes + allowed - 1) / allowed : most_panels;
  if (!topology.node_shares_memory) count = std::max<std::int64_t>(count, 4);
  return std::clamp<std::int64_t>(std::min(count, most), 1, most_panels);
}

class Steps {
 public:
  Steps(const ContractionTerms& terms, const ContractionStrategy& strategy, const Topology& topology)
      : terms_(terms), mesh_(terms.mesh), topology_(topology) {
    for (std::size_t i = 0; i < terms.operands.size(); ++i) {
      const auto& term = terms.operands[i];
      // What a device has in its own block it takes from there.
      forms_.push_back(strategy.operand_bytes[i] == 0 ? term.own : read_spec(mesh_, strategy.form.operands[i], term.shape.ndim()));
      live_ += elements_held(mesh_, term.shape, term.own) * term.item;
    }
    const auto& result = terms.result;
    computed_ = read_spec(mesh_, strategy.form.computed, result.shape.ndim());
    combined_ = read_spec(mesh_, strategy.form.combined, result.shape.ndim());
    live_ += elements_held(mesh_, result.shape, result.own) * result.item;
    if (computed_ != result.own || !strategy.form.partial_axes.empty())
      outcome_ = elements_held(mesh_, result.shape, computed_) * result.item;
  }

  Panels choose() const {
    std::optional<Plan> best;
    for (const auto& [letter, length] : terms_.lengths) {
      const auto plan = plan_of(letter);
      if (plan && (!best || plan->beside() < best->beside())) best = plan;
    }
    if (!best || best->stepped == 0) return {};
    if ((best->whole + best->stepped) / mesh_.size() < worth_a_loan) return {};
    if (const auto parts = parts_of_blocks(*best)) return panels_of(*best, *parts);
    if ((best->whole + best->stepped) / mesh_.size() < worthwhile) return {};
    const auto count = count_of(*best);
    return count > 1 ? panels_of(*best, count) : Panels{};
  }

 private:
  struct Plan {
    char letter;
    std::int64_t stepped = 0, whole = 0;  // bytes that come, or wait to be combined, in steps and at once
    bool across = false;
    std::int64_t beside() const { return whole + stepped / 4; }
  };

  /// The letter's axis in a term that has all of it; -1: none, or the term is broadcast there.
  std::int64_t axis_in(const Term& term, char letter) const {
    const auto at = term.letters.find(letter);
    if (at == std::string::npos || term.shape[static_cast<std::int64_t>(at)] != terms_.lengths.at(letter)) return -1;
    return static_cast<std::int64_t>(at);
  }

  Panels panels_of(const Plan& plan, std::int64_t count) const {
    Panels out{plan.letter, count, plan.across, {}, axis_in(terms_.result, plan.letter)};
    for (const auto& term : terms_.operands) out.operand_axes.push_back(axis_in(term, plan.letter));
    return out;
  }

  std::optional<Plan> plan_of(char letter) const {
    if (!terms_.can_be_cut(letter)) return std::nullopt;
    Plan plan{letter};
    const auto at = terms_.result.letters.find(letter);
    const bool contracted = at == std::string::npos;
    // The outcome of a step must be a panel of the result: of each part, or of the whole axis.
    if (!contracted) {
      const bool alike = computed_[at] == combined_[at] && combined_[at] == terms_.result.own[at];
      plan.across = !alike && computed_[at].empty() && combined_ == terms_.result.own;
      if (!alike && !plan.across) return std::nullopt;
    }
    (contracted ? plan.whole : plan.stepped) += outcome_;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const auto& term = terms_.operands[i];
      if (forms_[i] == term.own) continue;
      (axis_in(term, letter) >= 0 ? plan.stepped : plan.whole) += elements_held(mesh_, term.shape, forms_[i]) * term.item;
    }
    return plan;
  }

  /// Parts that the operands are cut in along the letter, if each panel then is a block that some device of the one node has: it need not be copied.
  std::optional<std::int64_t> parts_of_blocks(const Plan& plan) const {
    if (!topology_.node_shares_memory || plan.whole > 0 || !terms_.is_contracted(plan.letter)) return std::nullopt;
    for (std::int64_t k = 1; k < mesh_.size(); ++k)
      if (topology_.node_of(mesh_.devices()[k].rank) != topology_.node_of(mesh_.devices()[0].rank)) return std::nullopt;
    std::int64_t parts = 0;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      const auto& term = terms_.operands[i];
      if (forms_[i] == term.own) continue;
      for (std::size_t d = 0; d < term.own.size(); ++d) {
        if (term.letters[d] != plan.letter) {
          if (forms_[i][d] != term.own[d]) return std::nullopt;
          continue;
        }
        const auto here = parts_of(mesh_, term.own[d]);
        if (!forms_[i][d].empty() || (parts != 0 && parts != here)) return std::nullopt;
        parts = here;
      }
    }
    return parts > 1 ? std::optional(parts) : std::nullopt;
  }

  std::int64_t count_of(const Plan& plan) const {
    return steps_of(plan.stepped, live_ / live_share - plan.whole, terms_.lengths.at(plan.letter) / least_panel, topology_);
  }

  const ContractionTerms& terms_;
  const Mesh& mesh_;
  const Topology& topology_;
  std::vector<Entries> forms_{};
  Entries computed_{}, combined_{};
  std::int64_t live_ = 0, outcome_ = 0;  // bytes over all devices
};

}  // namespace
}  // namespace detail

Panels choose_panels_of(std::size_t operand, const Mesh& mesh, std::span<const OperandType> operands, const OperandType& result, const Topology& topology) {
  std::int64_t live = 0;
  const auto held = [&](const OperandType& type) {
    return detail::elements_held(mesh, type.shape, detail::read_spec(mesh, type.spec, type.shape.ndim())) * static_cast<std::int64_t>(itemsize(type.dtype));
  };
  for (const auto& type : operands) live += held(type);
  live += held(result);
  const auto& type = operands[operand];
  const auto whole = type.shape.num_elements() * static_cast<std::int64_t>(itemsize(type.dtype));
  if (held(type) == whole * mesh.size() || whole < detail::worthwhile) return {};
  Panels out{'\0', detail::steps_of(whole * mesh.size(), live / detail::live_share, type.shape[0] / detail::least_panel, topology)};
  out.operand_axes.assign(operands.size(), -1);
  out.operand_axes[operand] = 0;
  return out;
}

Panels choose_panels(const Mesh& mesh, const Attributes& attributes, std::span<const OperandType> operands, const Shape& result,
                     const PartitionSpec& result_spec, const ContractionStrategy& strategy, const Topology& topology) {
  const detail::ContractionTerms terms(mesh, attributes, operands, result, result_spec);
  return detail::Steps(terms, strategy, topology).choose();
}

}  // namespace meshwise
