#pragma once
// Sums that have the same bits on every layout.

namespace meshwise {

/// Local. While it lives, sums and products of floats are the same bits on every layout, mesh and number of ranks: sum, mean, var, norms, softmax, running totals and
/// contractions. Give the same on every rank; MESHWISE_DETERMINISTIC=on is the same for a whole program. One inside another counts.
///
/// Sums are of integers: each element is a multiple of 2^-86 of the largest magnitude, which is found first, and 128-bit integers add up in any order.
/// Contractions add products one after the other in the order of the contracted axis, whole on each device. Measured prices: docs/deterministic.md.
class deterministic {
 public:
  explicit deterministic(bool on = true);
  ~deterministic();
  deterministic(const deterministic&) = delete;
  deterministic& operator=(const deterministic&) = delete;

 private:
  int outer_;
};

/// Local. Whether sums are deterministic now.
bool is_deterministic();

}  // namespace meshwise
