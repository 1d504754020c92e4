#pragma once
// A contraction's arrays as the search for a strategy sees them: letters, lengths, and what bringing them elsewhere costs.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "meshwise/plan/propagation.hpp"
#include "plan/entries.hpp"

namespace meshwise::detail {

/// Local. An operand or the result: an axis a letter.
struct Term {
  std::string letters{};
  Shape shape{};
  Entries own{};         // where it lies, or is to lie
  std::int64_t item = 0; // bytes an element
};

struct ContractionTerms {
  ContractionTerms(const Mesh& mesh, const Attributes& attributes, std::span<const OperandType> operands, const Shape& result,
                   const PartitionSpec& result_spec);

  const Mesh& mesh;
  std::vector<Term> operands{};
  Term result{};
  std::map<char, std::int64_t> lengths{};

  /// Local. No operand walks its diagonal by that letter: a device may have a part of it.
  bool can_be_cut(char letter) const;
  bool is_contracted(char letter) const { return result.letters.find(letter) == std::string::npos; }
  /// Local. What the term's entries are when each letter is cut so; whole where the term is broadcast.
  Entries entries_of(const Term& term, const std::map<char, Entry>& cuts) const;
};

/// Local. Elements that all devices together hold.
std::int64_t elements_held(const Mesh& mesh, const Shape& shape, const Entries& entries);
/// Local. Elements that devices want and do not have, together.
std::int64_t elements_brought(const Mesh& mesh, const Shape& shape, const Entries& have, const Entries& want);

}  // namespace meshwise::detail
