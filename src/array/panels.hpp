#pragma once
// The operands of a computation, brought to where its kernel wants them: at once, or a panel at a time, the next one on its way while one is in use.

#include <array>
#include <cstdint>
#include <vector>

#include "array/layout.hpp"
#include "array/move.hpp"

namespace meshwise::detail {

/// Local. A literal as the kernel takes it.
LocalArray literal_block(const Request& request, const meshwise::Operand& operand);

class OperandBlocks {
 public:
  OperandBlocks(const Request& request, const Computation& how, const Ticket& ticket);

  /// Collective. Sends panel `number` on its way; the operands that lie where they are wanted have nothing to send. At most two panels are in use or on their way.
  void begin(std::int64_t number);
  /// Local. Waits for a panel that has begun.
  void wait(std::int64_t number);
  /// Local. Device number `device`'s blocks of that panel.
  void take(std::int64_t number, std::size_t device, std::vector<LocalArray>& inputs);

 private:
  struct Operand {
    const Array* array = nullptr;                    // null: a literal
    LocalArray literal{};
    const std::vector<LocalShard>* here = nullptr;   // whole, where it is wanted
    std::vector<LocalShard> made{};                  // the blocks that `here` points to, if they are not the array's own
    std::int64_t axis = -1;                          // that is taken in panels
    std::array<Moved, 2> panels{};                   // of one that moves in panels
  };

  const Computation& how_;
  const Ticket& ticket_;
  std::vector<Operand> operands_{};
};

}  // namespace meshwise::detail
