#include "meshwise/runtime/link_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <vector>

#include "meshwise/runtime/transport.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

constexpr std::int64_t copied_bytes = std::int64_t{16} << 20;
// A link has its pace when several chunks are under way: on a slow one a few MiB are over before that, and more than these tell nothing new.
constexpr std::int64_t least_exchanged = std::int64_t{4} << 20, most_exchanged = std::int64_t{16} << 20;
constexpr std::int64_t sent_row = std::int64_t{64} << 10;
constexpr double memory_seconds = 0.06, exchange_seconds = 0.2;
// Now and then an exchange takes far longer, as transfers do: the median is what most of them take, the best is what hardly any does.
constexpr int exchange_rounds = 5, pings = 20, ping_rounds = 10;

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
  explicit Probe(const Ticket& ticket) : ticket_(ticket), source_(block_store().allocate(2 * most_exchanged)), target_(block_store().allocate(most_exchanged)) {
    for (int rank = 0; rank < r_.size; ++rank) {
      const auto node = static_cast<std::size_t>(r_.topology.node_of(rank));
      if (node >= nodes_.size()) nodes_.resize(node + 1);
      if (rank == r_.rank) place_ = nodes_[node].size();
      nodes_[node].push_back(rank);
    }
    const auto count = static_cast<int>(nodes_.size()), own = static_cast<int>(r_.topology.node_of(r_.rank));
    const auto peer_on = [&](int node, std::size_t place, std::vector<int>& peers) {
      const auto& ranks = nodes_[static_cast<std::size_t>(node)];
      if (place < ranks.size() && std::find(peers.begin(), peers.end(), ranks[place]) == peers.end()) peers.push_back(ranks[place]);
    };
    // Neighbours on the node, and ranks of one place on the nodes around, exchange; who has no partner looks on.
    peer_on(own, place_ ^ 1, node_peers_);
    for (const int step : {1, -1, 2, -2})
      if (const int node = ((own + step) % count + count) % count; node != own) peer_on(node, place_, network_peers_);
    world_.resize(static_cast<std::size_t>(r_.size));
    std::iota(world_.begin(), world_.end(), 0);
  }

  Links run() {
    Shares mine;
    mine.memory = memory();
    mine.node = exchanges(node_peers_, place_ < 2);
    mine.network = exchanges(network_peers_, place_ == 0);
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

  void copy(std::int64_t bytes) { copy_box({source_->data(), {bytes}, {1}, 1}, {target_->data(), {bytes}, {1}, 1}); }

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

  /// Both ways at once with each peer, as transfers go; `bytes` each way in all.
  void exchange(const std::vector<int>& peers, std::int64_t bytes) {
    std::vector<Exchange> sends, receives;
    const auto share = bytes / static_cast<std::int64_t>(peers.size()), row = std::min<std::int64_t>(share, sent_row), rows = share / row;
    for (std::size_t k = 0; k < peers.size(); ++k) {
      // As most pieces lie: in rows where they come from, and packed for the way; whole where they go to.
      auto* const from = source_->data() + 2 * static_cast<std::int64_t>(k) * share;
      auto* const to = target_->data() + static_cast<std::int64_t>(k) * share;
      sends.push_back({peers[k], {StridedBox{.base = from, .extents = {rows, row}, .strides = {2 * row, 1}, .block = source_.get()}}});
      receives.push_back({peers[k], {StridedBox{.base = to, .extents = {rows, row}, .strides = {row, 1}, .block = target_.get()}}});
    }
    const auto transfer = post_phase(ticket_, exchanged_++, std::move(sends), std::move(receives), {source_, target_});
    if (transfer) transfer->wait();
  }

  /// Bytes a second, each way, of exchanges that take the time there is for them; all ranks call it, those with peers exchange.
  double exchange_rate(const std::vector<int>& peers) {
    const auto timed = [&](std::int64_t bytes) {
      const auto start = now();
      if (!peers.empty()) exchange(peers, bytes);
      return peers.empty() ? 0 : now() - start;
    };
    meet();
    timed(least_exchanged);  // the first sets connections up
    meet();
    const auto once = gather(timed(least_exchanged));
    const auto slowest = std::max(1e-6, *std::max_element(once.begin(), once.end()));
    const auto bytes = static_cast<std::int64_t>(std::clamp(exchange_seconds / slowest, 1.0, static_cast<double>(most_exchanged / least_exchanged))) * least_exchanged;
    std::array<double, exchange_rounds> rounds{};
    for (auto& seconds : rounds) {
      meet();
      seconds = timed(bytes);
    }
    std::nth_element(rounds.begin(), rounds.begin() + exchange_rounds / 2, rounds.end());
    const double seconds = rounds[exchange_rounds / 2];
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }

  Share exchanges(const std::vector<int>& peers, bool first) {
    Share share;
    share.shared = exchange_rate(peers);
    const auto alone = first ? peers : std::vector<int>();
    const bool all_are_first = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& ranks) { return ranks.size() == 1; });
    share.alone = all_are_first ? share.shared : exchange_rate(alone);
    meet();
    if (alone.empty()) return share;
    // The best of several rounds: in the others somebody else had the core.
    for (int round = 0; round < ping_rounds; ++round) {
      const auto start = now();
      for (int k = 0; k < pings; ++k) exchange(alone, 64);
      const auto each = (now() - start) / pings;
      share.latency = round == 0 ? each : std::min(share.latency, each);
    }
    return share;
  }

  /// The slowest node's, of those that have the way.
  void combine(const std::vector<Shares>& all, Share Shares::*way, LinkFigures& link) const {
    LinkFigures slowest;
    for (const auto& ranks : nodes_) {
      double node = 0;
      for (const int rank : ranks) node += (all[static_cast<std::size_t>(rank)].*way).shared;
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
  std::shared_ptr<Block> source_, target_;
  std::vector<int> world_;
  std::vector<std::vector<int>> nodes_{};  // the ranks of each
  std::size_t place_ = 0;                  // of this rank among its node's
  std::vector<int> node_peers_{}, network_peers_{};
  std::uint32_t phase_ = 1, exchanged_ = 1;
};

}  // namespace

Links measure_links(const Ticket& ticket) {
  std::optional<Probe> probe;
  run_local_part("calibrate", [&] { probe.emplace(ticket); });
  return probe->run();
}

}  // namespace meshwise::detail
