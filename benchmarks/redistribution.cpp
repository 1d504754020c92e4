// Row blocks to column blocks of a square of doubles: device_put against MPI_Alltoallw with subarray types, and against pack + MPI_Alltoallv + unpack.
// A new result array each time for us; the peers write into a buffer they reuse. Interleaved rounds, medians of per-round ratios.
// ranks: 2 4 8
#include "bench.hpp"

#include <cstring>
#include <numeric>

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

constexpr int rounds = 7;

/// One rank's rows of an n x n array, and the columns it is to have.
struct Exchange {
  int ranks, rank, n, rows;
  std::vector<double> source, target, packed;
  std::vector<MPI_Datatype> send_types, receive_types;
  std::vector<int> ones, zeros, counts, offsets;

  Exchange(int p, int r, int size) : ranks(p), rank(r), n(size), rows(size / p) {
    source.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(n));
    std::iota(source.begin(), source.end(), static_cast<double>(rank) * static_cast<double>(source.size()));
    target.assign(source.size(), 0);
    packed.assign(source.size(), 0);
    ones.assign(static_cast<std::size_t>(p), 1);
    zeros.assign(static_cast<std::size_t>(p), 0);
    for (int peer = 0; peer < p; ++peer) {
      const int whole_rows[] = {rows, n}, whole_columns[] = {n, rows}, block[] = {rows, rows};
      const int from[] = {0, peer * rows}, to[] = {peer * rows, 0};
      MPI_Datatype type;
      MPI_Type_create_subarray(2, whole_rows, block, from, MPI_ORDER_C, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      send_types.push_back(type);
      MPI_Type_create_subarray(2, whole_columns, block, to, MPI_ORDER_C, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      receive_types.push_back(type);
      counts.push_back(rows * rows);
      offsets.push_back(peer * rows * rows);
    }
  }

  void alltoallw() {
    MPI_Alltoallw(source.data(), ones.data(), zeros.data(), send_types.data(), target.data(), ones.data(), zeros.data(), receive_types.data(), MPI_COMM_WORLD);
  }

  /// Packed by us, received in place: a peer's block is contiguous rows of the column array.
  void alltoallv() {
    auto* out = packed.data();
    const auto run = static_cast<std::size_t>(rows);
    for (int peer = 0; peer < ranks; ++peer)
      for (int row = 0; row < rows; ++row, out += run)
        std::memcpy(out, source.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + static_cast<std::size_t>(peer) * run, run * sizeof(double));
    MPI_Alltoallv(packed.data(), counts.data(), offsets.data(), MPI_DOUBLE, target.data(), counts.data(), offsets.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  }
};

void run(int n) {
  const auto p = static_cast<int>(mw::process_count());
  Exchange peer(p, static_cast<int>(mw::process_index()), n);
  const auto mesh = mw::make_mesh({p}, {"x"});
  const auto x = mw::device_put(mw::arange(static_cast<double>(n) * n, mw::float64).reshape({n, n}), NamedSharding(mesh, P("x")));
  const NamedSharding columns(mesh, P(mw::none, "x"));
  const auto put = [&] {
    const auto y = mw::device_put(x, columns);
    mw::block_until_ready(y);
  };
  const auto once = [&](const auto& f) { return bench::wall(f); };
  put(), peer.alltoallw(), peer.alltoallv();
  std::vector<double> ours, w, v, ratio_w, ratio_v;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(once(put));
    w.push_back(once([&] { peer.alltoallw(); }));
    v.push_back(once([&] { peer.alltoallv(); }));
    ratio_w.push_back(w.back() / ours.back());
    ratio_v.push_back(v.back() / ours.back());
  }
  // The peer's answer and ours are the same array.
  const auto y = mw::device_put(x, columns);
  for (const auto& shard : y.addressable_shards())
    if (std::memcmp(shard.data().contiguous().data(), peer.target.data(), peer.target.size() * sizeof(double)) != 0) throw mw::Error("the peer's columns differ from ours");
  const auto bytes = static_cast<std::int64_t>(n) * n * 8;
  const auto what = fmt::format("{0} x {0} float64, rows to columns", n);
  bench::print({"redistribution", what, "MPI_Alltoallw", bytes, bench::median(ours), bench::median(w), bench::median(ratio_w), {}, false});
  bench::print({"redistribution", what, "pack + MPI_Alltoallv", bytes, bench::median(ours), bench::median(v), bench::median(ratio_v), {}, false});
}

}  // namespace

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  for (const int n : {64, 512, 2048, 4096}) run(n);
  return 0;
}
