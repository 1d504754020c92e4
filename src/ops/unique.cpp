// Distinct values: sorted, cut where neighbours differ, counted.

#include "meshwise/array/create.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/scan.hpp"
#include "meshwise/ops/sort.hpp"

namespace meshwise {

namespace {

struct Groups {
  Array order, sorted, begins, starts;  // begins: bool, an element unlike the one before; starts: where those are
};

Groups groups_of(const Array& x) {
  const auto flat = reshape(x, {-1});
  const auto order = argsort(flat, 0);
  const auto sorted = take(flat, order);
  const auto n = flat.size();
  // NaN differs from NaN.
  const auto differs = n > 1 ? not_equal(sorted[Slice(1, none)], sorted[Slice(0, n - 1)]) : zeros({0}, bool_);
  const auto begins = n == 0 ? differs : concatenate({full({1}, true), differs});
  return {order, sorted, begins, nonzero(begins)[0]};
}

Array inverse_of(const Array& x, const Groups& groups) {
  const auto group = subtract(cumulative_sum(groups.begins, 0), 1).astype(groups.order.dtype());
  return reshape(at(zeros_like(groups.order), {groups.order}).set(group), x.shape());
}

Array counts_of(const Array& x, const Groups& groups) { return diff(groups.starts, 0, 1, {}, full({1}, x.size(), groups.starts.dtype())); }

}  // namespace

Array unique_values(const Array& x) {
  const auto groups = groups_of(x);
  return take(groups.sorted, groups.starts);
}

Unique unique_all(const Array& x) {
  const auto groups = groups_of(x);
  return {take(groups.sorted, groups.starts), take(groups.order, groups.starts), inverse_of(x, groups), counts_of(x, groups)};
}

UniqueCounts unique_counts(const Array& x) {
  const auto groups = groups_of(x);
  return {take(groups.sorted, groups.starts), counts_of(x, groups)};
}

UniqueInverse unique_inverse(const Array& x) {
  const auto groups = groups_of(x);
  return {take(groups.sorted, groups.starts), inverse_of(x, groups)};
}

}  // namespace meshwise
