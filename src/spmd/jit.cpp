#include "meshwise/spmd/jit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "spmd/program.hpp"

namespace meshwise::detail {

namespace {

std::optional<Sharding> sharding_of(const Target& target) {
  if (const auto* device = std::get_if<Device>(&target)) return SingleDeviceSharding(*device);
  if (const auto* sharding = std::get_if<Sharding>(&target)) return *sharding;
  return std::nullopt;
}

bool alike(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.committed() == b.committed() && (!a.committed() || a.sharding() == b.sharding());
}

/// x's type and placement, without its values.
Array type_of(const Array& x) { return make_traced_array(x.shape(), x.dtype(), x.sharding(), x.committed(), 0, -1); }

}  // namespace

bool tracing() { return rehearsing_for("jit"); }

Programs::Found Programs::find(const Call& call, const Same& same, const Function& f, const std::function<std::any()>& prototype) {
  check_running("jit");
  for (std::size_t i = 0; i < call.arguments.size(); ++i) check_alive(call.arguments[i], options_.name, fmt::format("{}", i));
  for (const auto& entry : entries_)
    if (entry.structure == call.structure && std::equal(entry.arguments.begin(), entry.arguments.end(), call.arguments.begin(), call.arguments.end(), alike) &&
        same(entry.statics))
      return entry.found;
  std::vector<std::optional<Sharding>> places(call.arguments.size());
  if (options_.in_shardings.size() > call.ends.size())
    throw PlacementError(fmt::format("jit: in_shardings has {} entries, {} takes {} arguments", options_.in_shardings.size(), options_.name, call.ends.size()));
  for (std::size_t argument = 0, i = 0; argument < options_.in_shardings.size(); ++argument)
    for (; i < call.ends[argument]; ++i) places[i] = sharding_of(options_.in_shardings[argument]);
  Found found;
  found.program = std::make_shared<const Program>(options_.name, call.arguments, places, f, [&](std::size_t results) {
    return std::vector<std::optional<Sharding>>(results, options_.out_sharding ? sharding_of(*options_.out_sharding) : std::nullopt);
  });
  found.prototype = std::make_shared<const std::any>(prototype());
  Entry entry{call.structure, {}, call.statics, found};
  for (const auto& x : call.arguments) entry.arguments.push_back(type_of(x));
  entries_.push_back(std::move(entry));
  return found;
}

std::vector<Array> Programs::run(const Program& program, Call call) const {
  std::vector<std::size_t> donated;
  for (const auto argument : options_.donate_argnums) {
    if (argument < 0 || argument >= std::ssize(call.ends))
      throw IndexError(fmt::format("jit: donate_argnums names argument {} of {}, which takes {}", argument, options_.name, call.ends.size()));
    const auto k = static_cast<std::size_t>(argument);
    for (auto i = k == 0 ? 0 : call.ends[k - 1]; i < call.ends[k]; ++i) donated.push_back(i);
  }
  for (const auto i : donated)
    for (std::size_t j = 0; j < call.arguments.size(); ++j)
      if (j != i && call.arguments[j].state() == call.arguments[i].state())
        throw DonatedError(fmt::format("jit: {} is donated to {} and passed to it once more; pass a copy, or donate it nowhere", type_string(call.arguments[i]), options_.name));
  // The program has the only handle, so that memory goes where nothing needs it any more.
  for (const auto i : program.replaceable(call.arguments, donated)) {
    const auto x = call.arguments[i];
    call.arguments[i] = Array(std::make_shared<State>(*x.state()));
    donate_state(x, fmt::format("donated to {} (jit)", options_.name));
  }
  return program.run(std::move(call.arguments));
}

std::string Programs::text(const Program& program) { return program.text(); }

}  // namespace meshwise::detail
