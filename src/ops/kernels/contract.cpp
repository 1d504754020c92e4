// A contraction as a batch of matrix products: letters sort into batch, rows, columns and contracted; each group folds to one step
// where the strides allow, else the operand is copied once.

#include "ops/kernels/contract.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "ops/kernels/elementwise_op.hpp"
#include "ops/kernels/reduce_op.hpp"

namespace meshwise::detail {

namespace {

/// An array whose axes carry distinct letters.
struct Lettered {
  LocalArray array;
  std::string letters;

  std::int64_t length(char letter) const { return array.shape()[static_cast<std::int64_t>(letters.find(letter))]; }
};

LocalArray window(const LocalArray& x, const Shape& shape, PerAxis<std::int64_t> strides) {
  return LocalArray(shape, x.dtype(), x.block(), static_cast<std::size_t>(x.data() - x.block()->data()), std::move(strides));
}

/// A letter that occurs twice in one operand walks its diagonal.
Lettered diagonal(const LocalArray& x, std::string_view letters) {
  std::string unique;
  Shape shape;
  PerAxis<std::int64_t> strides;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto at = unique.find(letters[i]);
    if (at == std::string::npos) {
      unique += letters[i];
      shape.push_back(x.shape()[static_cast<std::int64_t>(i)]);
      strides.push_back(x.strides()[i]);
    } else {
      strides[at] += x.strides()[i];
    }
  }
  if (unique.size() == letters.size()) return {x, unique};
  return {window(x, shape, std::move(strides)), unique};
}

/// Drops the letters that are 1 long here and not there: this operand is broadcast along them.
Lettered unbroadcast(const Lettered& x, const Lettered& other) {
  Lettered out{x.array, {}};
  PerAxis<std::int64_t> strides;
  Shape shape;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const char letter = x.letters[i];
    const auto length = x.array.shape()[static_cast<std::int64_t>(i)];
    if (length == 1 && other.letters.find(letter) != std::string::npos && other.length(letter) != 1) continue;
    out.letters += letter;
    shape.push_back(length);
    strides.push_back(x.array.strides()[i]);
  }
  if (out.letters.size() < x.letters.size()) out.array = window(x.array, shape, std::move(strides));
  return out;
}

/// Sums away the letters that neither the other operand nor the result has.
Lettered summed(const Lettered& x, const std::string& other, const std::string& result, Dtype work) {
  ReducePlan plan;
  std::string left;
  Shape shape;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const char letter = x.letters[i];
    const bool keep = other.find(letter) != std::string::npos || result.find(letter) != std::string::npos;
    plan.reduced.push_back(!keep);
    plan.index_steps.push_back(0);
    if (!keep) continue;
    left += letter;
    shape.push_back(x.array.shape()[static_cast<std::int64_t>(i)]);
  }
  if (left.size() == x.letters.size()) return x;
  const auto totals = run_reduce(work == Dtype::bool_ ? op::any : op::sum, x.array, plan, shape);
  return {run_astype(totals, work), left};
}

Lettered permuted(const Lettered& x, const std::string& letters) {
  std::vector<std::int64_t> permutation;
  for (const char letter : letters) permutation.push_back(static_cast<std::int64_t>(x.letters.find(letter)));
  return {x.array.transposed(permutation), letters};
}

struct Run {
  std::int64_t length = 1, step = 1;
};

/// Axes [from, to) as one run, if their strides fold; without elements (an empty part) any strides do, and the length still counts.
bool fold(const LocalArray& x, std::size_t from, std::size_t to, Run& run) {
  const bool empty = x.size() == 0;
  run = {};
  bool started = false;
  for (std::size_t i = to; i-- > from;) {
    const auto length = x.shape()[static_cast<std::int64_t>(i)], stride = x.strides()[i];
    if (length == 1) continue;
    if (started && !empty && stride != run.step * run.length) return false;
    if (!started) run.step = stride;
    started = true;
    run.length *= length;
  }
  return true;
}

/// One operand as matrices, one a batch point: axes are batch, then rows, then columns.
struct Matrices {
  LocalArray array;
  Run rows, columns;
};

Matrices matrices(LocalArray x, std::size_t batch, std::size_t rows) {
  Matrices m{std::move(x), {}, {}};
  const auto ndim = static_cast<std::size_t>(m.array.ndim());
  if (!fold(m.array, batch, batch + rows, m.rows) || !fold(m.array, batch + rows, ndim, m.columns)) {
    m.array = m.array.contiguous();
    fold(m.array, batch, batch + rows, m.rows);
    fold(m.array, batch + rows, ndim, m.columns);
  }
  return m;
}

void multiply_batches(Dtype dtype, const Matrices& a, const Matrices& b, std::size_t batch, LocalArray& out, bool add, SumOrder sum_order) {
  const auto width = static_cast<std::int64_t>(itemsize(dtype));
  const auto bytes = a.rows.length * b.columns.length * width;
  std::vector<std::int64_t> at(batch, 0);
  std::int64_t a_offset = 0, b_offset = 0;
  auto* target = out.data();
  while (true) {
    run_gemm(dtype, {a.array.data() + a_offset * width, a.rows.length, a.columns.length, a.rows.step, a.columns.step},
             {b.array.data() + b_offset * width, b.rows.length, b.columns.length, b.rows.step, b.columns.step}, target, add, sum_order);
    target += bytes;
    auto axis = batch;
    while (true) {
      if (axis == 0) return;
      --axis;
      const auto length = out.shape()[static_cast<std::int64_t>(axis)];
      a_offset += a.array.strides()[axis];
      b_offset += b.array.strides()[axis];
      if (++at[axis] < length) break;
      a_offset -= length * a.array.strides()[axis];
      b_offset -= length * b.array.strides()[axis];
      at[axis] = 0;
    }
  }
}

/// The product of two operands, with the letters of `result` in that order; added to `sums`, if they are given and can take it as it comes.
Lettered product(const Lettered& x, const Lettered& y, const std::string& result, Dtype compute, LocalArray* sums, SumOrder sum_order) {
  const auto own_a = unbroadcast(x, y), own_b = unbroadcast(y, x);
  const auto a = summed(own_a, own_b.letters, result, compute), b = summed(own_b, own_a.letters, result, compute);
  std::string batch, rows, columns, inner;
  for (const char letter : result) {
    const bool in_a = a.letters.find(letter) != std::string::npos, in_b = b.letters.find(letter) != std::string::npos;
    (in_a && in_b ? batch : in_a ? rows : columns) += letter;
  }
  for (const char letter : a.letters)
    if (result.find(letter) == std::string::npos) inner += letter;

  const auto left = permuted(a, batch + rows + inner), right = permuted(b, batch + inner + columns);
  const std::string order = batch + rows + columns;
  Shape shape;
  for (const char letter : order) shape.push_back(a.letters.find(letter) != std::string::npos ? a.length(letter) : b.length(letter));
  if (batch.size() == order.size() && inner.empty()) {
    const LocalArray both[] = {left.array, right.array};
    LocalArray terms[] = {run_elementwise(op::multiply, compute, both, shape), LocalArray(Shape{}, compute)};
    // A sum of one product is 0 + product: it has no -0.
    Scalar(0).store(compute, terms[1].data());
    return permuted({run_elementwise(op::add, compute, terms, shape), order}, result);
  }
  const bool add = sums != nullptr && order == result;
  LocalArray out = add ? *sums : LocalArray(shape, compute);
  if (out.size() > 0)
    multiply_batches(compute, matrices(left.array, batch.size(), rows.size()), matrices(right.array, batch.size(), inner.size()),
                     batch.size(), out, add, sum_order);
  return permuted({out, order}, result);
}

std::vector<std::string_view> terms_of(std::string_view text) {
  std::vector<std::string_view> terms;
  while (true) {
    const auto comma = text.find(',');
    terms.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

/// The common case, two matrices that need no preparation, straight to the product.
bool run_two_matrices(const std::vector<std::string_view>& terms, const std::string& result, Dtype compute, std::span<const LocalArray> x,
                      LocalArray& out, bool add, SumOrder order) {
  if (terms.size() != 2 || terms[0].size() != 2 || terms[1].size() != 2 || result.size() != 2) return false;
  if (x[0].dtype() != compute || x[1].dtype() != compute) return false;
  const std::size_t row = terms[0][0] == result[0] ? 0 : 1, column = terms[1][1] == result[1] ? 1 : 0;
  const char inner = terms[0][1 - row];
  if (terms[0][row] != result[0] || terms[1][column] != result[1] || terms[1][1 - column] != inner) return false;
  if (inner == result[0] || inner == result[1] || result[0] == result[1]) return false;
  const auto length = [&](std::size_t i, std::size_t axis) { return x[i].shape()[static_cast<std::int64_t>(axis)]; };
  if (length(0, 1 - row) != length(1, 1 - column)) return false;
  if (!add) out = LocalArray({length(0, row), length(1, column)}, compute);
  run_gemm(compute, {x[0].data(), length(0, row), length(0, 1 - row), x[0].strides()[row], x[0].strides()[1 - row]},
           {x[1].data(), length(1, 1 - column), length(1, column), x[1].strides()[1 - column], x[1].strides()[column]}, out.data(), add, order);
  return true;
}

}  // namespace

Dtype contraction_accumulator(Dtype work) { return work == Dtype::float16 || work == Dtype::bfloat16 ? Dtype::float32 : work; }

namespace {

/// The contraction; added to `sums`, if they are given and can take it as it comes (the array returned then is theirs).
LocalArray contracted(std::string_view subscripts, Dtype work, std::span<const LocalArray> operands, LocalArray* sums, SumOrder order) {
  const auto arrow = subscripts.find("->");
  const auto terms = terms_of(subscripts.substr(0, arrow));
  const std::string result(subscripts.substr(arrow + 2));
  const auto compute = contraction_accumulator(work);
  if (LocalArray out = sums != nullptr ? *sums : LocalArray(); run_two_matrices(terms, result, compute, operands, out, sums != nullptr, order)) return out;
  const auto operand = [&](std::size_t i) { return diagonal(run_astype(run_astype(operands[i], work), compute), terms[i]); };
  auto done = operand(0);
  if (operands.size() == 1) done = permuted(summed(done, {}, result, compute), result);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const auto next = operand(i);
    std::string stay = result;
    if (i + 1 < operands.size()) {
      // What a later operand or the result still needs.
      stay.clear();
      for (const char letter : done.letters + next.letters) {
        bool needed = result.find(letter) != std::string::npos;
        for (std::size_t j = i + 1; j < terms.size(); ++j) needed = needed || terms[j].find(letter) != std::string_view::npos;
        if (needed && stay.find(letter) == std::string::npos) stay += letter;
      }
    }
    done = product(done, next, stay, compute, i + 1 == operands.size() ? sums : nullptr, order);
  }
  return done.array.contiguous();
}

}  // namespace

LocalArray run_contract(std::string_view subscripts, Dtype work, std::span<const LocalArray> operands, SumOrder order) {
  return contracted(subscripts, work, operands, nullptr, order);
}

void add_contract(std::string_view subscripts, Dtype work, std::span<const LocalArray> operands, LocalArray& sums, SumOrder order) {
  const auto more = contracted(subscripts, work, operands, &sums, order);
  if (more.data() != sums.data()) contraction_merge(sums.dtype())(sums.data(), more.data(), sums.size());
}

}  // namespace meshwise::detail
