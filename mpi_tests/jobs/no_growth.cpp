// A million small reshards and hand-overs leave no more memory behind than a thousand.
// ranks: 2
// variant: private ranks=2 MESHWISE_STORE=private RESHARDS=200000
// within: 120
// timeout: 150
#include <unistd.h>

#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace mw = meshwise;

namespace {
std::int64_t resident() {
  std::int64_t pages = 0, in_memory = 0;
  std::ifstream("/proc/self/statm") >> pages >> in_memory;
  return in_memory * sysconf(_SC_PAGESIZE);
}
}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto n = mw::process_count();
  const auto mesh = mw::make_mesh({n}, {"x"}), reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const mw::NamedSharding shardings[] = {{mesh, mw::P("x")}, {mesh, mw::P(mw::none, "x")}, {reversed, mw::P(mw::none, "x")}, {reversed, mw::P()}, {mesh, mw::P()}};
  auto x = mw::device_put(mw::arange(64, mw::float32).reshape({8, 8}), shardings[0]);
  std::int64_t before = 0;
#ifdef MESHWISE_SANITIZED
  const int many = 20'000;
#else
  const char* const asked = std::getenv("RESHARDS");
  const int many = asked != nullptr ? std::atoi(asked) : 1'000'000;
#endif
  for (int k = 0; k <= many; ++k) {
    x = mw::device_put(x, shardings[k % 5]);
    if (k == 2000) {
      mw::block_until_ready(x);
      before = resident();
    }
  }
  mw::block_until_ready(x);
#ifdef MESHWISE_SANITIZED
  before = resident();  // a sanitizer keeps what is freed for a while
#endif
  const auto growth = resident() - before;
  if (growth > (8 << 20)) std::printf("grew by %lld bytes\n", static_cast<long long>(growth));
  return growth > (8 << 20) ? 1 : 0;
}
