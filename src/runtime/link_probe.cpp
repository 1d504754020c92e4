#include "meshwise/runtime/link_probe.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "meshwise/runtime/transport.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

constexpr std::size_t copied_bytes = std::size_t{16} << 20, exchanged_bytes = std::size_t{4} << 20;
constexpr double memory_seconds = 0.06, exchange_seconds = 0.08;
constexpr int tag = 1, pings = 20, ping_rounds = 10;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// One rank's part in each way: its bytes a second with all ranks busy (`shared`) and with one of the node alone (`alone`); 0: it had none.
struct Share {
  double shared = 0, alone = 0, latency = 0;
};
struct Shares {
  Share memory, node, network;
};

class Probe {
 public:
  explicit Probe(const Ticket& ticket) : ticket_(ticket), source_(copied_bytes), target_(copied_bytes) {
    const auto size = r_.topology.ranks_per_node > 0 ? static_cast<int>(r_.topology.ranks_per_node) : r_.size;
    node_ = r_.rank / size;
    place_ = r_.rank % size;
    // Neighbours on the node, and ranks of one place on neighbouring nodes, exchange; who has no partner looks on.
    if (const int peer = node_ * size + (place_ ^ 1); (place_ ^ 1) < size && peer < r_.size) node_peer_ = peer;
    if (const int peer = (node_ ^ 1) * size + place_; peer < r_.size) network_peer_ = peer;
    if (r_.size <= size) network_peer_.reset();
    world_.resize(static_cast<std::size_t>(r_.size));
    std::iota(world_.begin(), world_.end(), 0);
  }

  Links run() {
    Shares mine;
    mine.memory = memory();
    mine.node = exchanges(node_peer_, place_ < 2);
    mine.network = exchanges(network_peer_, place_ == 0);
    const auto all = gather(mine);
    Links links;
    combine(all, &Shares::memory, links.memory);
    combine(all, &Shares::node, links.node);
    combine(all, &Shares::network, links.network);
    return links;
  }

 private:
  template <class T>
  std::vector<T> gather(const T& mine) {
    std::vector<T> all(world_.size());
    gather_checked(find_group(world_, ticket_), &mine, sizeof mine, all.data(), ticket_, phase_++);
    return all;
  }
  void meet() { gather(char{}); }

  void copy(std::size_t bytes) {
    const auto length = static_cast<std::int64_t>(bytes);
    copy_box({source_.data(), {length}, {1}, 1}, {target_.data(), {length}, {1}, 1});
  }

  double copy_rate(double seconds) {
    copy(copied_bytes);  // the first touches fresh pages
    const auto start = now();
    int copies = 0;
    do {
      copy(copied_bytes);
      ++copies;
    } while (now() - start < seconds);
    return static_cast<double>(copied_bytes) * copies / (now() - start);
  }

  Share memory() {
    Share share;
    meet();
    share.shared = copy_rate(memory_seconds);
    meet();
    if (place_ == 0) share.alone = copy_rate(memory_seconds / 2);
    meet();
    constexpr int copies = 2000;
    const auto start = now();
    for (int k = 0; k < copies; ++k) copy(64);
    share.latency = (now() - start) / copies;
    return share;
  }

  void finish(std::array<MPI_Request, 2>& requests, int peer) {
    const auto done = [&] {
      const std::scoped_lock hold(r_.lock);
      int flag = 0;
      check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE), "measuring a link");
      return flag != 0;
    };
    for (int spin = 0; spin < 2000; ++spin) {  // a sleep would be measured with it
      if (done()) return;
      if (spin % 50 == 49) sched_yield();
    }
    wait_for(done, {.what = "measuring links", .ticket = &ticket_, .peers = [peer] { return std::vector<int>{peer}; }});
  }

  void exchange(int peer, std::size_t bytes) {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    {
      const std::scoped_lock hold(r_.lock);
      const auto count = static_cast<int>(bytes);
      check_mpi(MPI_Irecv(target_.data(), count, MPI_BYTE, peer, tag, r_.base, &requests[0]), "measuring a link");
      check_mpi(MPI_Isend(source_.data(), count, MPI_BYTE, peer, tag, r_.base, &requests[1]), "measuring a link");
    }
    finish(requests, peer);
  }

  /// Seconds of one exchange, as many being made as take the time there is for them; all ranks call it, the busy ones exchange.
  double exchange_time(std::optional<int> peer) {
    const auto timed = [&](int times) {
      const auto start = now();
      for (int k = 0; k < times; ++k) exchange(*peer, exchanged_bytes);
      return (now() - start) / times;
    };
    meet();
    if (peer) exchange(*peer, exchanged_bytes);  // the first sets connections up
    meet();
    const auto once = gather(peer ? timed(1) : 0);
    const auto slowest = std::max(1e-6, *std::max_element(once.begin(), once.end()));
    const auto times = static_cast<int>(std::clamp(exchange_seconds / slowest, 1.0, 64.0));
    return peer ? timed(times) : 0;
  }

  Share exchanges(std::optional<int> peer, bool first) {
    Share share;
    const auto rate = [](double seconds) { return seconds > 0 ? static_cast<double>(exchanged_bytes) / seconds : 0; };
    share.shared = rate(exchange_time(peer));
    const auto alone = first ? peer : std::nullopt;
    share.alone = rate(exchange_time(alone));
    meet();
    if (!alone) return share;
    // The best of several rounds: in the others somebody else had the core.
    for (int round = 0; round < ping_rounds; ++round) {
      const auto start = now();
      for (int k = 0; k < pings; ++k) exchange(*alone, 8);
      const auto each = (now() - start) / pings;
      share.latency = round == 0 ? each : std::min(share.latency, each);
    }
    return share;
  }

  /// The slowest node's, of those that have the way.
  void combine(const std::vector<Shares>& all, Share Shares::*way, LinkFigures& link) const {
    const auto size = r_.topology.ranks_per_node > 0 ? static_cast<std::size_t>(r_.topology.ranks_per_node) : all.size();
    LinkFigures slowest;
    for (std::size_t first = 0; first < all.size(); first += size) {
      double node = 0;
      for (auto k = first; k < std::min(first + size, all.size()); ++k) node += (all[k].*way).shared;
      if (node > 0) slowest.bandwidth = slowest.bandwidth > 0 ? std::min(slowest.bandwidth, node) : node;
    }
    for (const auto& shares : all) {
      const auto& share = shares.*way;
      if (share.alone > 0)
        slowest.rank_bandwidth = slowest.rank_bandwidth > 0 ? std::min(slowest.rank_bandwidth, share.alone) : share.alone;
      slowest.latency = std::max(slowest.latency, share.latency);
    }
    if (slowest.bandwidth <= 0 || slowest.rank_bandwidth <= 0) return;
    slowest.measured = true;
    link = slowest;
  }

  Runtime& r_ = runtime();
  const Ticket& ticket_;
  std::vector<std::byte> source_, target_;
  std::vector<int> world_;
  int node_ = 0, place_ = 0;
  std::optional<int> node_peer_, network_peer_;
  std::uint32_t phase_ = 1;
};

}  // namespace

Links measure_links(const Ticket& ticket) {
  auto probe = std::make_unique<Probe>(ticket);
  try {
    return probe->run();
  } catch (...) {
    static_cast<void>(probe.release());  // MPI may still write to its buffers
    throw;
  }
}

}  // namespace meshwise::detail
