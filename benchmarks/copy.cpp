// The copy kernels alone against a contiguous copy of the same bytes by streaming stores (`nt`), and small copies against memcpy. One process, two
// threads that stand for ranks, memory mapped as the node's shared memory is. Interleaved rounds, medians of per-round ratios, CPU time of the slower
// thread: a copy never sleeps, and what else the machine does is not its fault.
// ranks: 1
#include "bench.hpp"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "runtime/copier.hpp"
#include "runtime/strided.hpp"

namespace {

using meshwise::detail::Copier;
using std::int64_t;

constexpr int rounds = 9, threads = 2;

/// Shared, touched memory.
class Memory {
 public:
  explicit Memory(int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    const int file = memfd_create("copy", 0);
    if (file < 0 || ftruncate(file, bytes) != 0) throw std::runtime_error("no shared memory");
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) throw std::runtime_error("no shared memory");
    data_ = static_cast<std::byte*>(at);
    for (std::size_t k = 0; k < bytes_; k += 8) std::memcpy(data_ + k, &k, 8);
  }
  ~Memory() { munmap(data_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void nt_512(const std::byte* from, std::byte* to, int64_t bytes) {
  for (int64_t k = 0; k < bytes; k += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + k), _mm512_loadu_si512(reinterpret_cast<const __m512i*>(from + k)));
  _mm_sfence();
}
[[gnu::target("avx2")]] void nt_256(const std::byte* from, std::byte* to, int64_t bytes) {
  for (int64_t k = 0; k < bytes; k += 64) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + k));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + k + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + k), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + k + 32), b);
  }
  _mm_sfence();
}
#endif
void nt(const std::byte* from, std::byte* to, int64_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return nt_512(from, to, bytes);
  if (__builtin_cpu_supports("avx2")) return nt_256(from, to, bytes);
#endif
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// Seconds of the slower of two threads.
double both(const std::function<void(int)>& work) {
  double seconds[threads];
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      const double start = bench::thread_seconds();
      work(t);
      seconds[t] = bench::thread_seconds() - start;
    });
  }
  for (auto& member : team) member.join();
  return *std::max_element(seconds, seconds + threads);
}
double alone(const std::function<void()>& work) {
  const double start = bench::thread_seconds();
  work();
  return bench::thread_seconds() - start;
}

void row(const std::string& what, const std::string& peer, int64_t bytes, const std::function<double()>& ours,
         const std::function<double()>& theirs, std::optional<double> goal) {
  ours(), theirs();
  std::vector<double> mine, other, ratios;
  for (int round = 0; round < rounds; ++round) {
    other.push_back(theirs());
    mine.push_back(ours());
    ratios.push_back(other.back() / mine.back());
  }
  const double ratio = bench::median(ratios);
  bench::print({"copy", what, peer, bytes, bench::median(mine), bench::median(other), ratio, goal, goal && ratio >= *goal});
}

/// Row blocks of an n x m array of float64 to column blocks, over `ranks`. Pulled, or (short runs) pushed band by band to all in turn.
void blocks(int64_t n, int64_t m, int ranks, std::optional<double> goal) {
  const int64_t bytes = n * m * 8, rows = n / ranks, columns = m / ranks, mine = bytes / ranks;
  const Memory from(bytes), to(bytes);
  const int64_t extents[] = {rows, columns}, from_strides[] = {m * 8, 8}, to_strides[] = {columns * 8, 8};
  const Copier piece(2, extents, from_strides, to_strides, 8, mine);
  const auto copy = [&](int source, int target, int64_t band) {
    piece.run(from.data() + source * mine + target * columns * 8, to.data() + target * mine + source * rows * columns * 8, band);
  };
  const auto ours = [&](int thread) {
    for (int rank = thread; rank < ranks; rank += threads) {
      if (piece.short_source_runs()) {
        for (int64_t band = 0; band < piece.bands(); ++band)
          for (int k = 0; k < ranks; ++k) copy(rank, (rank + k) % ranks, band);
      } else {
        for (int k = 0; k < ranks; ++k)
          for (int64_t band = 0; band < piece.bands(); ++band) copy((rank + k) % ranks, rank, band);
      }
    }
  };
  const auto theirs = [&](int thread) {
    nt(from.data() + thread * bytes / threads, to.data() + thread * bytes / threads, bytes / threads);
  };
  row(
      fmt::format("{} x {} rows to columns, {} ranks, runs of {} bytes", n, m, ranks, columns * 8), "nt", bytes, [&] { return both(ours); },
      [&] { return both(theirs); }, goal);
}

/// Axes of a square of so many bytes swapped; each thread makes half of the result.
void transposition(int64_t n, int64_t item, std::optional<double> goal) {
  const int64_t bytes = n * n * item;
  const Memory from(bytes), to(bytes);
  const int64_t extents[] = {n / threads, n}, from_strides[] = {item, n * item}, to_strides[] = {n * item, item};
  const Copier piece(2, extents, from_strides, to_strides, static_cast<std::size_t>(item), bytes / threads);
  const auto ours = [&](int thread) {
    for (int64_t band = 0; band < piece.bands(); ++band)
      piece.run(from.data() + thread * n / threads * item, to.data() + thread * bytes / threads, band);
  };
  const int64_t share = bytes / threads / 4096 * 4096;
  const auto theirs = [&](int thread) { nt(from.data() + thread * share, to.data() + thread * share, share); };
  row(
      fmt::format("transposition {} x {} of {} bytes", n, n, item), "nt", bytes, [&] { return both(ours); }, [&] { return both(theirs); },
      goal);
}

/// Every `step`th of float64s, by a thread alone; the peer is a loop over elements.
void slice(int64_t step) {
  constexpr int64_t bytes = int64_t{64} << 20, extents[] = {bytes / 8}, to_strides[] = {8};
  const int64_t from_strides[] = {step * 8};
  const Memory from(bytes * step), to(bytes);
  const auto ours = [&] { meshwise::detail::copy_strided(from.data(), to.data(), 1, extents, from_strides, to_strides, 8); };
  const auto theirs = [&] {
    const auto* source = reinterpret_cast<const double*>(from.data());
    auto* target = reinterpret_cast<double*>(to.data());
    for (int64_t k = 0; k < extents[0]; ++k) target[k] = source[k * step];
  };
  row(
      fmt::format("slice of step {}", step), "loop", bytes, [&] { return alone(ours); }, [&] { return alone(theirs); }, 1.0);
}

/// A copy of a few KiB, many times: by copy_strided, and by a loop of memcpy over its runs.
void small(const std::string& what, int64_t rows, int64_t run, int64_t from_step, int64_t to_step, std::optional<double> goal) {
  const Memory from(rows * from_step + run), to(rows * to_step + run);
  const int64_t extents[] = {rows, run / 8}, from_strides[] = {from_step, 8}, to_strides[] = {to_step, 8}, bytes = rows * run;
  const int64_t times = std::max<int64_t>(1, (int64_t{64} << 20) / std::max<int64_t>(bytes, 2048));
  const auto ours = [&] {
    for (int64_t k = 0; k < times; ++k) meshwise::detail::copy_strided(from.data(), to.data(), 2, extents, from_strides, to_strides, 8);
  };
  const auto theirs = [&] {
    for (int64_t k = 0; k < times; ++k) {
      for (int64_t i = 0; i < rows; ++i) std::memcpy(to.data() + i * to_step, from.data() + i * from_step, static_cast<std::size_t>(run));
    }
  };
  row(
      what, "memcpy", bytes, [&] { return alone(ours) / static_cast<double>(times); },
      [&] { return alone(theirs) / static_cast<double>(times); }, goal);
}

/// Seconds to make a copier of three axes.
void making() {
  constexpr int times = 100000;
  const int64_t extents[] = {100, 20, 30}, from_strides[] = {9600, 480, 8}, to_strides[] = {4800, 240, 8};
  std::vector<double> seconds;
  int64_t bands = 0;
  for (int round = 0; round < rounds; ++round) {
    seconds.push_back(alone([&] {
                        for (int k = 0; k < times; ++k) bands += Copier(3, extents, from_strides, to_strides, 8, k).bands();
                      }) /
                      times);
  }
  const double least = *std::min_element(seconds.begin(), seconds.end());
  bench::print({"copy", "making a copier of three axes", bands > 0 ? "" : "nothing", 0, least, 0, 0, 200e-9, least < 200e-9});
}

}  // namespace

int main(int argc, char** argv) {
  const meshwise::Environment environment(argc, argv);
  const std::string only = argc > 1 ? argv[1] : "";
  const auto wanted = [&](std::string_view name) { return only.empty() || only == name; };
  if (wanted("long")) blocks(8192, 8192, 2, 0.90), blocks(8192, 8192, 4, 0.90);
  if (wanted("short"))
    blocks(int64_t{1} << 22, 16, 2, 0.75), blocks(int64_t{1} << 22, 16, 4, 0.70), blocks(int64_t{1} << 20, 48, 4, std::nullopt),
        blocks(int64_t{1} << 20, 36, 4, std::nullopt);
  if (wanted("transposition")) {
    transposition(5120, 8, 0.65);
    transposition(4096, 8, std::nullopt);
    for (const int64_t item : {1, 2, 4, 16})
      transposition(item == 1 ? 14336 : item == 2 ? 10240 : item == 4 ? 7168 : 3584, item, std::nullopt);
    transposition(5122, 8, std::nullopt);  // the target's rows begin anywhere in a line
  }
  if (wanted("slice")) slice(2), slice(3), slice(17);
  if (wanted("small")) {
    small("32 KiB, one run", 1, 32768, 32768, 32768, 1.0);
    small("32 KiB, rows of 256 bytes", 128, 256, 512, 256, 1.0);
    small("32 KiB, rows of 64 bytes", 512, 64, 128, 64, 1.0);
    small("32 KiB, rows of 32 bytes", 1024, 32, 128, 32, 1.0);
    small("32 KiB, rows of 40 bytes", 819, 40, 160, 40, 1.0);
    small("128 bytes, 16 elements", 16, 8, 16, 8, std::nullopt);
    making();
  }
}
