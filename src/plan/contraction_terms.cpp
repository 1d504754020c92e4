#include "plan/contraction_terms.hpp"

#include <algorithm>

namespace meshwise::detail {

namespace {

Range range_at(const Mesh& mesh, const Entry& entry, std::int64_t length, std::int64_t position) {
  std::int64_t number = 0, parts = 1;
  for (const auto axis : entry) {
    const auto size = mesh.axis_sizes()[axis];
    number = number * size + position / mesh.strides()[axis] % size;
    parts *= size;
  }
  return part(number, parts, length);
}

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
  std::int64_t brought = 0;
  for (std::int64_t position = 0; position < mesh.size(); ++position) {
    std::int64_t wanted = 1, held = 1;
    for (std::size_t d = 0; d < want.size(); ++d) {
      const auto length = shape[static_cast<std::int64_t>(d)];
      const auto new_range = range_at(mesh, want[d], length, position);
      wanted *= new_range.size();
      held *= std::max<std::int64_t>(intersect(new_range, range_at(mesh, have[d], length, position)).size(), 0);
    }
    brought += wanted - held;
  }
  return brought;
}

}  // namespace meshwise::detail
