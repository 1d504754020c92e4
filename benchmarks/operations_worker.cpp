// One operation, a round at a time as standard input asks for it: our side of the peers that are Python's jobs (benchmarks/peers/jax_operations.py,
// heat_operations.py, which know the same names). benchmarks/peers/rounds.py drives both.
// suite: operations
// ranks: none
#include <cstdio>

#include "support/product.hpp"
#include "support/worker.hpp"

namespace mw = meshwise;
using mw::Array, mw::P;

namespace {

struct Task {
  std::function<void()> round;
  int calls = 1;  // in a round
};

/// The previous result lives until the next one is made.
template <class F>
Task task_of(F operation) {
  return {[operation, kept = Array()]() mutable {
    auto next = operation();
    mw::block_until_ready(next);
    kept = std::move(next);
  }};
}

/// Many calls that have next to nothing to compute.
Task small_task() {
  const mw::NamedSharding rows(mw::make_mesh({mw::devices().size()}, {"x"}), P("x"));
  const auto a = mw::device_put(mw::arange(16.0), rows), b = mw::device_put(mw::ones({16}), rows);
  constexpr int calls = 2000;
  return {[=] {
            Array c;
            for (int i = 0; i < calls; ++i) c = a + b;
            mw::block_until_ready(c);
          },
          calls};
}

Task product_task(const std::string& name, std::int64_t mebibytes) {
  const bench::Product problem(mebibytes);
  const auto ours = std::make_shared<bench::OurProduct>(name == "matmul_rows"     ? bench::OurProduct::of_rows(problem)
                                                        : name == "matmul_blocks" ? bench::OurProduct::of_blocks(problem)
                                                                                  : bench::OurProduct::of_split_operands(problem));
  return {[ours] { ours->fresh(); }};
}

Task stream_task(const std::string& name, std::int64_t mebibytes) {
  const bool half = name == "add_bfloat16";
  const auto elements = (mebibytes << 20) / (half ? 2 : 4);
  const mw::NamedSharding rows(mw::make_mesh({mw::devices().size()}, {"x"}), P("x"));
  const auto drawn = [&](std::int64_t seed) {
    const auto key = mw::random::key(seed);
    const auto x = mw::device_put(name == "sort" ? mw::random::normal(key, {elements}) : mw::random::uniform(key, {elements}), rows);
    const auto wanted = half ? x.astype(mw::bfloat16) : x;
    mw::block_until_ready(wanted);
    return wanted;
  };
  const auto a = drawn(1);
  if (name == "sort") return task_of([=] { return mw::sort(a); });
  if (name == "exp") return task_of([=] { return mw::exp(a); });
  if (name == "tanh") return task_of([=] { return mw::tanh(a); });
  if (name == "log") return task_of([=] { return mw::log(a); });
  if (name == "add" || half) return task_of([=, b = drawn(2)] { return a + b; });
  throw mw::Error("there is no operation " + name);
}

Task task(const std::string& name, std::int64_t mebibytes) {
  if (name == "small") return small_task();
  return name.starts_with("matmul") ? product_task(name, mebibytes) : stream_task(name, mebibytes);
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto [round, calls] = task(argc > 1 ? argv[1] : "add", argc > 2 ? std::atoll(argv[2]) : 256);
  round();
  mw::print("@ ready\n");
  std::fflush(stdout);
  while (bench::asked()) {
    mw::print("@ {:.9f}\n", bench::span_of(round) / calls);
    std::fflush(stdout);
  }
}
