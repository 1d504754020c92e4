#include "plan/redistribution_turns.hpp"

#include <numeric>

namespace meshwise::detail {

// Rows of length n begin at 0, n, 2n, ... and come round to the same holder every holders / gcd(n, holders) rows.
std::int64_t Turns::skew(std::int64_t row, std::int64_t row_length) const {
  return row / (holders_ / std::gcd(row_length, holders_)) % row_length;
}

Turn Turns::add_axis(Turn turn, std::int64_t index, std::int64_t size) const {
  return {index * turn.count + (turn.number + skew(index, turn.count)) % turn.count, turn.count * size};
}

std::int64_t Turns::remove_axis(Turn& turn, std::int64_t size) const {
  turn.count /= size;
  const auto index = turn.number / turn.count;
  turn.number = (turn.number % turn.count + turn.count - skew(index, turn.count)) % turn.count;
  return index;
}

Turn Turns::add(Turn turn, std::int64_t index, std::int64_t count, const AxisSplit& split) const {
  for (auto d = split.digits.rbegin(); d != split.digits.rend() && count % d->size == 0; ++d) {
    turn = add_axis(turn, index % d->size, d->size);
    index /= d->size;
    count /= d->size;
  }
  return count == 1 ? turn : add_axis(turn, index, count);
}

std::int64_t Turns::remove(Turn& turn, std::int64_t count, const AxisSplit& split) const {
  auto first = split.digits.end();  // of the digits that were added
  while (first != split.digits.begin() && count % (first - 1)->size == 0) count /= (--first)->size;
  auto index = count == 1 ? 0 : remove_axis(turn, count);
  for (; first != split.digits.end(); ++first) index = index * first->size + remove_axis(turn, first->size);
  return index;
}

Turn Turns::of_copy(std::int64_t copy) const {
  Turn turn;
  for (auto d = copies_.digits.rbegin(); d != copies_.digits.rend(); ++d) turn = add_axis(turn, copy / d->weight % d->size, d->size);
  return turn;
}

std::int64_t Turns::copy_of(Turn turn) const {
  std::int64_t copy = 0;
  for (const auto& d : copies_.digits) copy += remove_axis(turn, d.size) * d.weight;
  return copy;
}

}  // namespace meshwise::detail
