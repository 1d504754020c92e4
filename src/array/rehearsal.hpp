#pragma once
// What calls would do: while explain() listens they decide layouts as ever, say what would move, and hand out arrays without values.

#include <cstdint>
#include <string>
#include <vector>

#include "array/negotiate.hpp"

namespace meshwise::detail {

/// Local. One call as it would be: `matmul: float32[8@x,16], float32[16,4] -> float32[8@x,4]`, what moves, and how much, over all devices.
struct RehearsedCall {
  std::string head{};
  std::vector<std::string> steps{};
  std::int64_t bytes = 0;
};

/// Local. Collects the calls made while it lives. One inside another hears them all; the outer one nothing of them.
class Rehearsal {
 public:
  Rehearsal();
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
  const std::vector<RehearsedCall>& calls() const { return calls_; }
  void add(RehearsedCall call) { calls_.push_back(std::move(call)); }

 private:
  RehearsalScope scope_{};
  Rehearsal* outer_;
  std::vector<RehearsedCall> calls_{};
};

/// Local. The result a request would have, without values. Only while rehearsing().
Array rehearse(const Request& request, const Negotiated& negotiated);
Array rehearse_moves(const Request& request, std::span<const RegionMove> moves, const Negotiated& negotiated);
Array rehearse_put(const Array& x, const Sharding& target, std::string_view operation);
/// Local. The same of a request whose movements its caller has counted: `what` moves so many bytes.
Array rehearse_counted(const Request& request, const Negotiated& negotiated, const std::string& what, std::int64_t bytes);
/// Local. Bytes that a movement brings to devices that are not where they come from, every device being a process of its own.
std::int64_t bytes_between_devices(const Movement& movement, std::int64_t itemsize);

}  // namespace meshwise::detail
