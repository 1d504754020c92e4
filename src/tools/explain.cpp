#include "meshwise/tools/explain.hpp"

#include "array/rehearsal.hpp"
#include "base/bytes_text.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/node.hpp"
#include "meshwise/tools/calibrate.hpp"

namespace meshwise {

PlanReport plan_report(const Array& x, const Sharding& target, PutOptions options) {
  if (x.is_deleted())
    throw DonatedError("explain: x has been donated or freed: its value is gone, and cannot move. Ask before the donation.");
  const PlanOptions plan{.topology = detail::topology(), .links = links(), .donate = options.donate};
  if (x.committed()) return plan_report(x.shape(), x.dtype(), x.sharding(), target, plan);
  auto report = plan_report(x.shape(), x.dtype(), target, target, plan);
  report.from = type_string(x.dtype(), x.shape());
  report.from_devices = 0;
  for (auto& r : report.ranks) {
    r.bytes_before = 0;
    r.bytes_left = r.peak_bytes;
  }
  return report;
}

std::string explain(const Array& x, const Sharding& target, PutOptions options) { return to_string(plan_report(x, target, options)); }

std::string detail::explain_calls(const std::function<void()>& program) {
  Rehearsal rehearsal;
  program();
  std::string text;
  std::int64_t bytes = 0;
  for (const auto& call : rehearsal.calls()) {
    text += call.head + '\n';
    for (const auto& step : call.steps) text += "  " + step + '\n';
    bytes += call.bytes;
  }
  return text + (bytes == 0 ? "nothing moves\n" : bytes_text(static_cast<double>(bytes)) + " move in all, every device counted as a process\n");
}

}  // namespace meshwise
