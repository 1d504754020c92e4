// A /dev/shm of 1 or 64 MiB, as containers have it, or none (and Open MPI told to keep its own files elsewhere): the arena does not live there.
// ranks: 2 4
// variant: container ranks=4 SHM=size=64m
// variant: none ranks=4 SHM=none
// env: OMPI_MCA_btl_vader_backing_directory=/tmp
// within: 20
#include <sched.h>
#include <sys/mount.h>

#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const char* const given = std::getenv("SHM");
  const std::string shm = given != nullptr ? given : "size=1m";
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    std::puts("meshwise: skipped: no mount namespace of one's own is allowed here");
    return 0;
  }
  if (mount("small", "/dev/shm", "tmpfs", shm == "none" ? MS_RDONLY : 0, shm == "none" ? "" : shm.c_str()) != 0) return 2;
  const mw::Environment env(argc, argv);
  const auto n = mw::process_count();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const mw::NamedSharding rows(mesh, mw::P("x")), columns(mesh, mw::P(mw::none, "x"));
  const auto x = mw::device_put(mw::arange(1 << 22, mw::float64).reshape({2048, 2048}), rows);
  const auto y = mw::device_put(x, columns), z = mw::device_put(y, rows);
  bool right = mw::memory_stats().store == "arena";
  for (std::size_t k = 0; k < z.addressable_shards().size(); ++k) {
    const auto a = x.addressable_shards()[k].data().view<double>(), b = z.addressable_shards()[k].data().view<double>();
    for (std::int64_t i = 0; i < a.size(); ++i) right = right && a[i] == b[i];
  }
  return right ? 0 : 1;
}
