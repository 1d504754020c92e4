// The search: each mesh axis may cut any letter that it cuts in some operand or in the result, or none. Of that many combinations (at most four an axis
// for two operands) the bytes are counted exactly, by intervals, and the cheapest is taken.

#include "meshwise/plan/contraction.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "plan/contraction_terms.hpp"

namespace meshwise {

namespace detail {
namespace {

constexpr std::int64_t most_combinations = 4096;
// How many products of a device take as long as a byte between two: some 50 GFLOP/s of a core beside some GB/s of its links.
constexpr std::int64_t products_a_byte = 16;

class Search {
 public:
  explicit Search(const ContractionTerms& terms, bool in_order) : terms_(terms), in_order_(in_order), costs_(terms.operands.size()) {
    for (std::size_t axis = 0; axis < terms.mesh.axis_sizes().size(); ++axis)
      if (terms.mesh.axis_sizes()[axis] > 1) options_.push_back({static_cast<char16_t>(axis), letters_cut_by(static_cast<char16_t>(axis))});
    limit_options();
  }

  std::vector<ContractionStrategy> run(std::span<const OperandType> operands, const PartitionSpec& result_spec) {
    types_ = operands;
    result_spec_ = &result_spec;
    assign(0);
    std::ranges::stable_sort(found_, {}, [&](const ContractionStrategy& s) { return std::pair(cost(s), s.repeats); });
    return std::move(found_);
  }

 private:
  struct Option {
    char16_t axis;
    std::string letters;  // '\0': cuts nothing
  };

  std::string letters_cut_by(char16_t axis) const {
    std::string out;
    const auto look = [&](const Term& term) {
      for (std::size_t d = 0; d < term.own.size(); ++d)
        if (const char letter = term.letters[d]; term.own[d].find(axis) != Entry::npos && out.find(letter) == std::string::npos &&
                                                 terms_.can_be_cut(letter) && !(in_order_ && terms_.is_contracted(letter)))
          out += letter;
    };
    look(terms_.result);
    for (const auto& term : terms_.operands) look(term);
    return out + '\0';
  }

  void limit_options() {
    const auto combinations = [&] {
      return std::accumulate(options_.begin(), options_.end(), std::int64_t{1},
                             [](std::int64_t n, const Option& o) { return n * static_cast<std::int64_t>(o.letters.size()); });
    };
    while (combinations() > most_combinations) {
      auto& longest = *std::ranges::max_element(options_, {}, [](const Option& o) { return o.letters.size(); });
      longest.letters.erase(longest.letters.size() - 2, 1);
    }
  }

  void assign(std::size_t k) {
    if (k == options_.size()) return order(axes_of_.begin());
    for (const char letter : options_[k].letters) {
      if (letter != '\0') axes_of_[letter] += options_[k].axis;
      assign(k + 1);
      if (letter == '\0') continue;
      axes_of_[letter].pop_back();
      if (axes_of_[letter].empty()) axes_of_.erase(letter);
    }
  }

  /// Several axes that cut one letter: in every order in which some array has them, else in the mesh's.
  void order(std::map<char, Entry>::const_iterator next) {
    if (next == axes_of_.end()) return add();
    std::vector<Entry> orders;
    const auto look = [&](const Term& term) {
      for (std::size_t d = 0; d < term.letters.size(); ++d) {
        if (term.letters[d] != next->first) continue;
        Entry seen;
        for (const auto axis : term.own[d])
          if (next->second.find(axis) != Entry::npos) seen += axis;
        if (seen.size() == next->second.size() && std::ranges::find(orders, seen) == orders.end()) orders.push_back(seen);
      }
    };
    look(terms_.result);
    for (const auto& term : terms_.operands) look(term);
    if (orders.empty()) orders.push_back(next->second);
    for (const auto& each : orders) {
      cuts_[next->first] = each;
      order(std::next(next));
      cuts_.erase(next->first);
    }
  }

  std::int64_t bring_cost(std::size_t i, const Entries& want) {
    const auto& term = terms_.operands[i];
    const auto [known, is_new] = costs_[i].emplace(want, 0);
    if (is_new) known->second = elements_brought(terms_.mesh, term.shape, term.own, want) * term.item;
    return known->second;
  }

  void add() {
    ContractionStrategy out;
    for (std::size_t i = 0; i < terms_.operands.size(); ++i) {
      const auto want = terms_.entries_of(terms_.operands[i], cuts_);
      out.operand_bytes.push_back(bring_cost(i, want));
      out.form.operands.push_back(want == terms_.operands[i].own ? types_[i].spec : write_short(terms_.mesh, want));
    }
    std::int64_t cut = 1;
    Entry partial;
    for (const auto& [letter, entry] : cuts_) {
      cut *= parts_of(terms_.mesh, entry);
      if (terms_.is_contracted(letter)) partial += entry;
    }
    out.repeats = terms_.mesh.size() / cut;
    std::ranges::sort(partial);
    for (const auto axis : partial) out.form.partial_axes.push_back(terms_.mesh.axis_names()[axis]);
    add_result(out, std::move(partial));
    found_.push_back(std::move(out));
  }

  /// The sums are left split where the result is: over axes that follow those of the outcomes' own split.
  void add_result(ContractionStrategy& out, Entry partial) {
    const auto& result = terms_.result;
    const auto computed = terms_.entries_of(result, cuts_);
    auto combined = computed;
    std::int64_t scattered = 1;
    for (std::size_t d = 0; d < combined.size(); ++d) {
      if (!result.own[d].starts_with(computed[d])) continue;
      for (auto k = computed[d].size(); k < result.own[d].size(); ++k) {
        const auto at = partial.find(result.own[d][k]);
        if (at == Entry::npos) break;
        combined[d] += partial[at];
        scattered *= terms_.mesh.axis_sizes()[partial[at]];
        partial.erase(at, 1);
      }
    }
    const auto summed = parts_of(terms_.mesh, partial);
    const auto bytes = elements_held(terms_.mesh, result.shape, computed) * result.item;
    out.result_bytes = bytes * (scattered - 1) / scattered + 2 * (bytes / scattered) * (summed - 1) / summed +
                       elements_brought(terms_.mesh, result.shape, combined, result.own) * result.item;
    const auto spec = [&](const Entries& entries) { return entries == result.own ? *result_spec_ : write_short(terms_.mesh, entries); };
    out.form.computed = spec(computed);
    out.form.combined = spec(combined);
  }

  std::int64_t cost(const ContractionStrategy& s) const {
    if (s.bytes() == 0) return 0;
    std::int64_t products = 1;
    for (const auto& [letter, length] : terms_.lengths) products *= length;
    return s.bytes() + (s.repeats - 1) * (products / products_a_byte);
  }

  const ContractionTerms& terms_;
  bool in_order_;
  std::span<const OperandType> types_{};
  const PartitionSpec* result_spec_ = nullptr;
  std::vector<Option> options_{};
  std::map<char, Entry> axes_of_{}, cuts_{};
  std::vector<std::map<Entries, std::int64_t>> costs_;
  std::vector<ContractionStrategy> found_{};
};

}  // namespace
}  // namespace detail

std::int64_t ContractionStrategy::bytes() const { return std::accumulate(operand_bytes.begin(), operand_bytes.end(), result_bytes); }

std::vector<ContractionStrategy> contraction_strategies(const Mesh& mesh, const Attributes& attributes,
                                                        std::span<const OperandType> operands, const Shape& result,
                                                        const PartitionSpec& result_spec) {
  const detail::ContractionTerms terms(mesh, attributes, operands, result, result_spec);
  return detail::Search(terms, attributes.in_order).run(operands, result_spec);
}

}  // namespace meshwise
