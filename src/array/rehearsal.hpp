#pragma once
// What calls would do: while explain() listens they decide layouts as ever, say what would move, and hand out arrays without values.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/negotiate.hpp"

namespace meshwise::detail {

/// Local. One call as it would be: `matmul: float32[8@x,16], float32[16,4] -> float32[8@x,4]`, what moves, and how much, over all devices.
struct RehearsedCall {
  std::string head{};
  std::vector<std::string> steps{};
  std::int64_t bytes = 0;
};

/// Local. Makes a call again, with other operands.
using Replay = std::function<Array(std::span<const Operand> operands)>;

/// Local. A call that is not made, whole.
struct HeardCall {
  RehearsedCall words{};
  std::vector<Operand> operands{};
  Replay replay{};                        // empty where nobody wants it
  std::shared_ptr<Request> request{};     // that is replayed, without operands, where it is one that dispatch() made
  std::optional<Sharding> target{};       // of a device_put: named by the program, not inferred
  std::string where{};                    // its place in the program's source, `stage.cpp:12`
  Shape shape{};
  Dtype dtype = Dtype::float32;
  std::optional<Sharding> sharding{};     // of the result; none: uncommitted
};

/// Local. Hears the calls made while it lives. One inside another hears them all; the outer one nothing of them.
class Listener {
 public:
  /// Local. `who`: RehearsalScope. Without replays calls are only described.
  Listener(std::string_view who, bool wants_replays);
  virtual ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  /// Local. The call's result, as the program goes on with it.
  virtual Array hear(HeardCall call) = 0;
  bool wants_replays() const { return wants_replays_; }

 private:
  RehearsalScope scope_;
  Listener* outer_;
  bool wants_replays_;
};

/// Local. What explain() hears: results are arrays without values.
class Rehearsal : public Listener {
 public:
  Rehearsal() : Listener("explain", false) {}
  Array hear(HeardCall call) override;
  const std::vector<RehearsedCall>& calls() const { return calls_; }

 private:
  std::vector<RehearsedCall> calls_{};
};

/// Local. Makes a request alike, with the operands of the replay.
using Make = std::function<Array(const Request& request)>;
/// Local. A request that outlives its call, made again with other operands.
Replay replay_of(std::shared_ptr<Request> request, Make make);

/// Local. The result a request would have, without values. Only while rehearsing().
Array rehearse(const Request& request, const Negotiated& negotiated);
Array rehearse_moves(const Request& request, std::span<const RegionMove> moves, const Scalar& fill, const Negotiated& negotiated);
/// Local. `replay` makes the call again; `where` is its place in the program.
Array rehearse_put(const Array& x, const Sharding& target, std::string_view operation, Replay replay, std::string where = {});
/// Local. The same of a request whose movements its caller has counted: `what` moves so many bytes; `make` makes a request alike.
Array rehearse_counted(const Request& request, const Negotiated& negotiated, const std::string& what, std::int64_t bytes, Make make);
/// Local. The same of what is no request.
Array rehearse_call(HeardCall call);
/// Local. Bytes that a movement brings to devices that are not where they come from, every device being a process of its own.
std::int64_t bytes_between_devices(const Movement& movement, std::int64_t itemsize);

}  // namespace meshwise::detail
