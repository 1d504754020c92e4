#include "plan/contraction_terms.hpp"

#include <algorithm>

#include "meshwise/placement/sharding.hpp"
#include "meshwise/plan/redistribution.hpp"

namespace meshwise::detail {

namespace {

// Products of 16-bit floats are summed in float32.
std::int64_t accumulator_size(Dtype work) { return is_floating(work) ? std::max<std::int64_t>(itemsize(work), 4) : itemsize(work); }

}  // namespace

ContractionTerms::ContractionTerms(const Mesh& on, const Attributes& attributes, std::span<const OperandType> types, const Shape& shape,
                                   const PartitionSpec& result_spec)
    : mesh(on) {
  const auto subscripts = Subscripts::parse(attributes.subscripts, types.size());
  auto work = types[0].dtype;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& x = types[i];
    operands.push_back(
        {subscripts.terms[i], x.shape, read_spec(mesh, x.spec, x.shape.ndim()), static_cast<std::int64_t>(itemsize(x.dtype))});
    work = promote_types(work, x.dtype);
    for (std::int64_t d = 0; d < x.shape.ndim(); ++d) {
      auto& length = lengths.emplace(subscripts.terms[i][static_cast<std::size_t>(d)], 1).first->second;
      if (x.shape[d] != 1) length = x.shape[d];
    }
  }
  result = {subscripts.result, shape, read_spec(mesh, result_spec, shape.ndim()), accumulator_size(work)};
}

bool ContractionTerms::can_be_cut(char letter) const {
  return std::ranges::all_of(operands, [&](const Term& term) { return std::ranges::count(term.letters, letter) < 2; });
}

Entries ContractionTerms::entries_of(const Term& term, const std::map<char, Entry>& cuts) const {
  Entries out(term.letters.size());
  for (std::size_t d = 0; d < out.size(); ++d)
    if (const auto cut = cuts.find(term.letters[d]);
        cut != cuts.end() && term.shape[static_cast<std::int64_t>(d)] == lengths.at(term.letters[d]))
      out[d] = cut->second;
  return out;
}

std::int64_t elements_held(const Mesh& mesh, const Shape& shape, const Entries& entries) {
  return shape.num_elements() * (mesh.size() / tiles_of(mesh, entries));
}

std::int64_t elements_brought(const Mesh& mesh, const Shape& shape, const Entries& have, const Entries& want) {
  if (have == want) return 0;
  return meshwise::elements_brought(shape, NamedSharding(mesh, write_short(mesh, have)), NamedSharding(mesh, write_short(mesh, want)));
}

}  // namespace meshwise::detail
