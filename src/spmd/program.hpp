#pragma once
// A function that jit recorded, ready to run again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spmd/trace.hpp"

namespace meshwise::detail {

class Program {
 public:
  using Function = std::function<std::vector<Array>(const std::vector<Array>& arguments)>;

  /// Local. Records f, called `name` in messages, with arguments like these. Placements: of arguments that are uncommitted, and of results; none: as they are.
  /// Throws: what f throws; CommitmentError where what is used lies on more than one list of devices.
  Program(std::string name, const std::vector<Array>& arguments, const std::vector<std::optional<Sharding>>& argument_places, const Function& f,
          const std::function<std::vector<std::optional<Sharding>>(std::size_t results)>& result_places);

  /// Collective. The results for these arguments, which are like those it was made with. Values go when nothing needs them any more.
  std::vector<Array> run(std::vector<Array> arguments) const;

  /// Local. Of each result: the argument that it may replace, of its shape, dtype and placement, among `donated`.
  std::vector<std::size_t> replaceable(const std::vector<Array>& arguments, const std::vector<std::size_t>& donated) const;
  /// Local. Whether the program reads that argument.
  bool uses(std::size_t argument) const { return used_[argument]; }
  /// Local. The calls it makes, in order, with what each moves.
  std::string text() const;

 private:
  struct Value {
    std::int64_t number = -1;  // of the trace; -1: `constant`
    std::optional<Operand> constant{};
  };
  struct Step {
    std::vector<Value> operands{};
    std::int64_t result = 0;
    Replay replay{};
    std::vector<std::int64_t> last_used{};  // values that go afterwards
  };

  Value value_of(const Trace& trace, const Operand& operand) const;
  void check_devices(const std::vector<Array>& arguments, const std::vector<HeardCall>& calls, const std::vector<bool>& live);

  std::string name_;
  std::size_t arguments_ = 0;
  std::int64_t values_ = 0;
  std::vector<Step> steps_{};
  std::vector<Value> results_{};
  std::vector<Array> types_{};  // of the results, without values
  std::vector<bool> used_{};
  std::vector<RehearsedCall> words_{};
  std::optional<Sharding> placed_{};  // some array's of the program; none: nothing is committed
};

}  // namespace meshwise::detail
