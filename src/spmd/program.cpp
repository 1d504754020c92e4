#include "spmd/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes_text.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/plan/propagation.hpp"
#include "spmd/fusion.hpp"

namespace meshwise::detail {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What a list of devices in a program comes from.
struct Placed {
  Sharding sharding;
  std::string words;
};

std::string array_words(const std::string& what, const Array& x) {
  return fmt::format("{} with type {} and spec {} on {} and with device ids {} on platform CPU", what, type_string(x.dtype(), x.shape()),
                     to_string(x.sharding().spec()), to_string(x.sharding().mesh()), to_string(x.sharding().devices()));
}

}  // namespace

Program::Program(std::string name, const std::vector<Array>& arguments, const std::vector<std::optional<Sharding>>& argument_places, const Function& f,
                 const std::function<std::vector<std::optional<Sharding>>(std::size_t results)>& result_places)
    : name_(std::move(name)), arguments_(arguments.size()) {
  Trace trace;
  std::vector<Array> traced;
  for (const auto& x : arguments) traced.push_back(trace.argument(x));
  for (std::size_t i = 0; i < traced.size(); ++i) {
    if (!argument_places[i]) continue;
    const auto& x = arguments[i];
    if (x.committed() && !x.sharding().is_equivalent_to(*argument_places[i], x.ndim()))
      throw CommitmentError(fmt::format("jit: argument {} of {} is {}, placed by {} on devices {}, where in_shardings has {} on devices {}. Committed arguments are not moved: "
                                        "device_put it before the call, or leave its place in in_shardings open",
                                        i, name_, type_string(x), to_string(x.sharding()), to_string(x.sharding().devices()), to_string(*argument_places[i]),
                                        to_string(argument_places[i]->devices())));
    if (!x.committed()) traced[i] = device_put(traced[i], *argument_places[i], {}, std::source_location());
  }
  auto results = f(traced);
  const auto places = result_places(results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (places[i]) results[i] = device_put(results[i], *places[i], {}, std::source_location());

  // Only what results come from is made.
  auto& calls = trace.calls();
  values_ = static_cast<std::int64_t>(arguments_ + calls.size());
  std::vector<bool> needed(at(values_), false);
  for (const auto& x : results) {
    results_.push_back(value_of(trace, x));
    types_.push_back(x);
    if (results_.back().number >= 0) needed[at(results_.back().number)] = true;
  }
  std::vector<bool> live(calls.size(), false);
  for (auto k = std::ssize(calls); k-- > 0;) {
    if (!needed[arguments_ + at(k)]) continue;
    live[at(k)] = true;
    for (const auto& operand : calls[at(k)].operands)
      if (const auto* x = operand.array())
        if (const auto number = trace.number_of(*x); number >= 0) needed[at(number)] = true;
  }
  std::vector<bool> kept(at(values_), false);
  for (const auto& result : results_)
    if (result.number >= 0) kept[at(result.number)] = true;
  fuse(trace, live, kept);
  used_.assign(needed.begin(), needed.begin() + static_cast<std::ptrdiff_t>(arguments_));
  check_devices(arguments, calls, live);
  std::vector<std::int64_t> last(at(values_), -1);  // the call that reads a value last
  for (std::size_t k = 0; k < calls.size(); ++k)
    if (live[k])
      for (const auto& operand : calls[k].operands)
        if (operand.array() != nullptr)
          if (const auto number = trace.number_of(*operand.array()); number >= 0) last[at(number)] = static_cast<std::int64_t>(k);
  for (const auto& result : results_)
    if (result.number >= 0) last[at(result.number)] = -1;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    if (!live[k]) continue;
    Step step{{}, static_cast<std::int64_t>(arguments_ + k), std::move(calls[k].replay), {}};
    for (const auto& operand : calls[k].operands) step.operands.push_back(value_of(trace, operand));
    for (std::int64_t value = 0; value < values_; ++value)
      if (last[at(value)] == static_cast<std::int64_t>(k)) step.last_used.push_back(value);
    steps_.push_back(std::move(step));
    words_.push_back(std::move(calls[k].words));
  }
}

Program::Value Program::value_of(const Trace& trace, const Operand& operand) const {
  if (operand.array() == nullptr) return {-1, operand};
  const auto number = trace.number_of(*operand.array());
  if (number >= 0) return {number, {}};
  check_has_values(*operand.array());
  return {-1, operand};
}

// One computation, one ordered list of devices: that of all committed arguments that are used, of closed-over arrays and of placements by name.
void Program::check_devices(const std::vector<Array>& arguments, const std::vector<HeardCall>& calls, const std::vector<bool>& live) {
  std::optional<Placed> first;
  const auto check = [&](const Sharding& sharding, auto words) {
    if (!first) {
      first = Placed{sharding, words()};
      return;
    }
    if (first->sharding.devices() == sharding.devices()) return;
    throw CommitmentError(fmt::format("jit: received incompatible devices for the computation of {}. Got {} and {}. A jitted function belongs to one ordered list of devices: "
                                      "move arrays between meshes outside, from one jitted function to the next",
                                      name_, first->words, words()));
  };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (used_[i] && arguments[i].committed())
      check(arguments[i].sharding(), [&] { return array_words(fmt::format("argument {} of {}", i, name_), arguments[i]); });
  const auto check_constant = [&](const Array& x) {
    if (x.state()->kind != State::Kind::traced && x.committed()) check(x.sharding(), [&] { return array_words("a closed-over array", x); });
  };
  for (std::size_t k = 0; k < calls.size(); ++k) {
    if (!live[k]) continue;
    for (const auto& operand : calls[k].operands)
      if (operand.array() != nullptr) check_constant(*operand.array());
    if (calls[k].target)
      check(*calls[k].target, [&] {
        return fmt::format("device_put inside jit{} with spec {} on {} and with device ids {} on platform CPU", calls[k].where.empty() ? "" : " at " + calls[k].where,
                           to_string(calls[k].target->spec()), to_string(calls[k].target->mesh()), to_string(calls[k].target->devices()));
      });
  }
  for (const auto& result : results_)
    if (result.constant && result.constant->array() != nullptr) check_constant(*result.constant->array());
  if (first) placed_ = first->sharding;
}

std::vector<Array> Program::run(std::vector<Array> arguments) const {
  std::vector<Array> values(at(values_));
  std::move(arguments.begin(), arguments.end(), values.begin());
  arguments.clear();
  std::vector<Operand> operands;
  for (const auto& step : steps_) {
    operands.clear();
    for (const auto& operand : step.operands) {
      if (operand.constant)
        operands.push_back(*operand.constant);
      else
        operands.emplace_back(values[at(operand.number)]);
    }
    for (const auto value : step.last_used) values[at(value)] = Array();
    values[at(step.result)] = step.replay(operands);
  }
  operands.clear();
  std::vector<Array> results;
  for (const auto& result : results_) {
    auto x = result.constant ? *result.constant->array() : values[at(result.number)];
    // Where anything is committed everything is.
    if (placed_ && !x.committed()) x = device_put(x, NamedSharding(placed_->mesh(), PartitionSpec{}));
    results.push_back(std::move(x));
  }
  return results;
}

std::vector<std::size_t> Program::replaceable(const std::vector<Array>& arguments, const std::vector<std::size_t>& donated) const {
  std::vector<std::size_t> out;
  std::vector<bool> taken(types_.size(), false);
  for (const auto i : donated) {
    const auto& x = arguments[i];
    for (std::size_t r = 0; r < types_.size(); ++r) {
      const auto& y = types_[r];
      if (taken[r] || y.shape() != x.shape() || y.dtype() != x.dtype()) continue;
      taken[r] = true;
      out.push_back(i);
      break;
    }
  }
  return out;
}

std::string Program::text() const {
  std::string text;
  std::int64_t bytes = 0;
  for (const auto& call : words_) {
    text += call.head + '\n';
    for (const auto& step : call.steps) text += "  " + step + '\n';
    bytes += call.bytes;
  }
  return text + (bytes == 0 ? "nothing moves\n" : bytes_text(static_cast<double>(bytes)) + " move in all, every device counted as a process\n");
}

}  // namespace meshwise::detail
