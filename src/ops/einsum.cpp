#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "meshwise/ops/deterministic.hpp"
#include "meshwise/ops/linalg.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/apply.hpp"
#include "ops/inexact.hpp"
#include "ops/kernels/contract.hpp"
#include "ops/subscripts.hpp"

namespace meshwise {

namespace detail {

namespace {

std::string types_text(std::span<const Array> operands) {
  std::string text;
  for (const auto& x : operands) text += fmt::format("{}{}", text.empty() ? "" : ", ", type_string(x.dtype(), x.shape()));
  return text;
}

/// Every letter's length; axes of length 1 against longer ones get letters of their own, so that they are whole wherever they lie.
struct Lengths {
  std::string letters{};
  std::vector<std::int64_t> lengths{};

  std::int64_t& of(char letter) {
    const auto at = letters.find(letter);
    if (at != std::string::npos) return lengths[at];
    letters += letter;
    return lengths.emplace_back(1);
  }
};

Lengths lengths_of(const char* name, std::span<const std::string> terms, std::span<const Array> operands) {
  Lengths out;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      const auto n = operands[i].shape()[static_cast<std::int64_t>(d)];
      auto& length = out.of(terms[i][d]);
      if (n != 1 && length != 1 && n != length)
        throw ShapeError(fmt::format("{}: axes that go together have lengths {} and {}: axis {} of {} does not fit the others ({})", name,
                                     length, n, d, argument_name(name, i, operands.size()), types_text(operands)));
      if (n != 1) length = n;
    }
  return out;
}

}  // namespace

std::string Letters::fresh() {
  for (const char letter : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (used_.find(letter) == std::string::npos) {
      used_ += letter;
      return std::string(1, letter);
    }
  throw ShapeError("a product of arrays has at most 52 different axes");
}

std::string Letters::fresh(std::int64_t count) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) out += fresh();
  return out;
}

namespace {

/// Letters that one operand alone has are summed away first, by the sum that is the same on every layout.
void sum_alone(std::vector<std::string>& terms, const std::string& result, std::vector<Array>& arrays) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::vector<std::int64_t> axes;
    std::string left;
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      const char letter = terms[i][d];
      std::ptrdiff_t seen = std::count(result.begin(), result.end(), letter);
      for (const auto& term : terms) seen += std::count(term.begin(), term.end(), letter);
      if (seen == 1)
        axes.push_back(static_cast<std::int64_t>(d));
      else
        left += letter;
    }
    if (axes.empty()) continue;
    arrays[i] = sum(arrays[i], axes);
    terms[i] = left;
  }
}

}  // namespace

Array contract(const char* name, Letters& letters, std::span<const std::string> given_terms, const std::string& result,
               std::span<const Array> given, const std::optional<PartitionSpec>& out_sharding) {
  std::vector<std::string> terms(given_terms.begin(), given_terms.end());
  std::vector<Array> arrays(given.begin(), given.end());
  auto common = arrays[0].dtype();
  for (const auto& x : arrays) common = promote_types(common, x.dtype());
  if (is_deterministic() && is_inexact(common)) {
    lengths_of(name, terms, arrays);
    sum_alone(terms, result, arrays);
  }
  auto lengths = lengths_of(name, terms, arrays);
  std::vector<Operand> operands;
  Request request;
  auto work = arrays[0].dtype();
  std::string& subscripts = request.attributes.subscripts;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    operands.emplace_back(arrays[i]);
    work = promote_types(work, arrays[i].dtype());
    if (i > 0) subscripts += ',';
    for (std::size_t d = 0; d < terms[i].size(); ++d)
      subscripts +=
          arrays[i].shape()[static_cast<std::int64_t>(d)] == lengths.of(terms[i][d]) ? std::string(1, terms[i][d]) : letters.fresh();
  }
  subscripts += "->" + result;
  for (const char letter : result) request.shape.push_back(lengths.of(letter));

  request.operation = name;
  request.rule = LayoutRule::contract;
  request.attributes.out_spec = out_sharding;
  request.attributes.in_order = is_deterministic() && is_inexact(work);
  const auto order = request.attributes.in_order ? SumOrder::fixed : SumOrder::any;
  request.operands = operands;
  request.dtype = work;
  request.kernel = [work, order, terms_text = subscripts](std::span<const LocalArray> inputs, const KernelContext&) {
    return run_contract(terms_text, work, inputs, order);
  };
  request.accumulate = [work, order, terms_text = subscripts](std::span<const LocalArray> inputs, LocalArray& sums) {
    add_contract(terms_text, work, inputs, sums, order);
  };
  Reduction reduction;
  reduction.combine = contraction_merge(contraction_accumulator(work));
  reduction.partials = contraction_accumulator(work);
  if (contraction_accumulator(work) != work) reduction.finish = [work](const LocalArray& sums) { return run_astype(sums, work); };
  request.reduction = std::move(reduction);
  return dispatch(request);
}

}  // namespace detail

namespace {

/// einsum's text: terms and result as letters, "..." as the letters of the axes it stands for.
class EinsumText {
 public:
  EinsumText(std::string_view text, std::span<const Array> operands) : operands_(operands) {
    for (const char c : text)
      if (c != ' ') text_ += c;
    const auto arrow = text_.find("->");
    split(text_.substr(0, arrow));
    if (terms.size() != operands.size()) refuse(fmt::format("{} terms for {} operands", terms.size(), operands.size()));
    std::string used;
    for (const char c : text_)
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) used += c;
    letters = detail::Letters(used);
    expand_terms();
    if (arrow == std::string::npos)
      result = implied();
    else
      result = expanded(text_.substr(arrow + 2), dots_.size());
    check_result();
  }

  std::vector<std::string> terms{};
  std::string result{};
  detail::Letters letters{};

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw ShapeError(fmt::format("einsum: '{}': {} (operands: {})", text_, why, detail::types_text(operands_)));
  }

  void split(std::string_view text) {
    while (true) {
      const auto comma = text.find(',');
      terms.emplace_back(text.substr(0, comma));
      if (comma == std::string_view::npos) return;
      text.remove_prefix(comma + 1);
    }
  }

  /// The axes that "..." stands for are aligned at the back, as in broadcasting.
  std::string expanded(const std::string& term, std::size_t axes) const {
    const auto at = term.find("...");
    std::string out = at == std::string::npos ? term : term.substr(0, at) + dots_.substr(dots_.size() - axes) + term.substr(at + 3);
    for (const char c : out)
      if (std::isalpha(static_cast<unsigned char>(c)) == 0) refuse(fmt::format("'{}' is not a letter", c));
    return out;
  }

  void expand_terms() {
    std::vector<std::size_t> axes(terms.size(), 0);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto ndim = static_cast<std::size_t>(operands_[i].ndim());
      const bool dots = terms[i].find("...") != std::string::npos;
      const auto named = terms[i].size() - (dots ? 3 : 0);
      if (named > ndim || (!dots && named != ndim))
        refuse(fmt::format("term '{}' names {} axes, its operand has {}", terms[i], named, ndim));
      axes[i] = ndim - named;
    }
    dots_ = letters.fresh(static_cast<std::int64_t>(*std::max_element(axes.begin(), axes.end())));
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = expanded(terms[i], axes[i]);
  }

  std::string implied() const {
    std::string all, once;
    for (const auto& term : terms) all += term;
    for (const char c : all)
      if (std::count(all.begin(), all.end(), c) == 1 && dots_.find(c) == std::string::npos) once += c;
    std::sort(once.begin(), once.end());
    return dots_ + once;
  }

  void check_result() const {
    for (const char c : result) {
      if (std::count(result.begin(), result.end(), c) > 1) refuse(fmt::format("the result names '{}' twice", c));
      if (std::none_of(terms.begin(), terms.end(), [&](const auto& term) { return term.find(c) != std::string::npos; }))
        refuse(fmt::format("the result names '{}', which no operand has", c));
    }
  }

  std::string text_{};
  std::span<const Array> operands_;
  std::string dots_{};
};

}  // namespace

Array einsum(std::string_view subscripts, const std::vector<Array>& operands, const std::optional<PartitionSpec>& out_sharding) {
  if (operands.empty()) throw ShapeError("einsum: at least one operand is needed");
  EinsumText text(subscripts, operands);
  return detail::contract("einsum", text.letters, text.terms, text.result, operands, out_sharding);
}

}  // namespace meshwise
