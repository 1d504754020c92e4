// An Environment on a communicator smaller than the world, its ranks in another order: the library's world is that communicator. In the variant there
// are two at once, one on each half of the job's ranks, each computing on its own.
// ranks: 3 4 8
// variant: halves ranks=2,4,8 PARTS=halves
// within: 20
#include <meshwise/meshwise.hpp>
#include <meshwise/runtime/interop_mpi.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

namespace {

// The parts make different numbers of calls on arrays of different shapes.
bool works(int part, const std::string& file) {
  const auto n = mw::process_count(), size = n * (16 + part) * n * 32;
  const auto mesh = support::line(n), reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const mw::NamedSharding shardings[] = {{mesh, mw::P("x")}, {mesh, mw::P(mw::none, "x")}, {reversed, mw::P("x")}};
  auto x = mw::device_put(support::numbered({n * (16 + part), n * 32}, mw::float64), shardings[0]);
  bool right = mw::memory_stats().store == (n > 1 ? "arena" : "private");
  for (int k = 1; k < 20 + 11 * part; ++k) {
    x = mw::device_put(x, shardings[k % 3]);
    right = right && support::wrong_numbers<double>(x) == 0;
  }
  right = right && mw::sum(x + 1.0).item<double>() == static_cast<double>(size) * static_cast<double>(size + 1) / 2;
  mw::io::write(file, "x", x);
  const auto read = mw::io::read(file, "x", shardings[1]);
  mw::barrier();
  if (mw::process_index() == 0) std::remove(file.c_str());
  return right && support::wrong_numbers<double>(read) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool halves = std::getenv("PARTS") != nullptr;
  const int part = halves ? rank % 2 : rank == 0 ? MPI_UNDEFINED : 0;
  const int ranks = halves ? size / 2 : size - 1, place = halves ? (size - 1 - rank) / 2 : size - 1 - rank;
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, part, -rank, &some);
  int wrong = 0;
  if (some != MPI_COMM_NULL) {
    const mw::Environment env(some);
    if (halves) MPI_Barrier(MPI_COMM_WORLD);  // both are there
    if (mw::process_count() != ranks || mw::process_index() != place) wrong = 1;
    const auto file = std::string("sub_communicator.") + (halves ? "halves." : "") + std::to_string(size) + "." + std::to_string(part) + ".h5";
    if (!works(part, file)) wrong = 2;
  }
  if (some != MPI_COMM_NULL) {
    int result = 0;
    if (MPI_Comm_compare(some, some, &result) != MPI_SUCCESS || result != MPI_IDENT) wrong = 3;  // it is still the program's
    MPI_Comm_free(&some);
  }
  int worst = 0;
  MPI_Allreduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
