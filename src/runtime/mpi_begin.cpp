// Boost.MPI stays in this file: it starts MPI, and it broadcasts the settings. Distributions build it for one MPI; with another the library does without
// (-DMESHWISE_BOOST_MPI=OFF).
#include "runtime/mpi_begin.hpp"

#include <memory>

#include "meshwise/base/error.hpp"
#include "runtime/settings.hpp"

#ifdef MESHWISE_BOOST_MPI
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#else
#include <string_view>

#include "runtime/runtime.hpp"
#endif

namespace meshwise::detail {
namespace {

#ifdef MESHWISE_BOOST_MPI

namespace bmpi = boost::mpi;
using OwnMpi = bmpi::environment;

std::unique_ptr<OwnMpi> start(int* argc, char*** argv) {
  constexpr auto level = bmpi::threading::multiple;
  return argc ? std::make_unique<OwnMpi>(*argc, *argv, level, false) : std::make_unique<OwnMpi>(level, false);
}

#else

struct OwnMpi {
  OwnMpi(int* argc, char*** argv) {
    int level = 0;
    check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level), "beginning MPI");
  }
  OwnMpi(const OwnMpi&) = delete;
  OwnMpi& operator=(const OwnMpi&) = delete;
  ~OwnMpi() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Finalize();
  }
};

std::unique_ptr<OwnMpi> start(int* argc, char*** argv) { return std::make_unique<OwnMpi>(argc, argv); }

#endif

std::unique_ptr<OwnMpi>& mpi_of_ours() {
  static auto* const immortal = new std::unique_ptr<OwnMpi>;
  return *immortal;
}

}  // namespace

void begin_mpi(int* argc, char*** argv) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized) throw Error("Environment: MPI has been finalized already. Make the Environment before MPI_Finalize.");
  if (!initialized) mpi_of_ours() = start(argc, argv);
}

bool mpi_is_ours() { return mpi_of_ours() != nullptr; }

void finalize_mpi() { mpi_of_ours().reset(); }

// Only rank 0 reads its environment: mpirun forwards these variables to no other host, and ranks that read different ones would part ways.
std::map<std::string, std::string> settings_of_first(MPI_Comm base) {
#ifdef MESHWISE_BOOST_MPI
  const bmpi::communicator world(base, bmpi::comm_attach);
  auto variables = world.rank() == 0 ? own_variables() : std::map<std::string, std::string>();
  bmpi::broadcast(world, variables, 0);
  return variables;
#else
  int rank = 0;
  check_mpi(MPI_Comm_rank(base, &rank), "sharing the settings");
  std::string text;  // NAME=VALUE, each closed by a zero
  if (rank == 0)
    for (const auto& [name, value] : own_variables()) text += name + '=' + value + '\0';
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, base), "sharing the settings");
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, 0, base), "sharing the settings");
  std::map<std::string, std::string> variables;
  for (std::string_view rest = text; !rest.empty();) {
    const auto entry = rest.substr(0, rest.find('\0'));
    const auto equals = entry.find('=');
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    rest.remove_prefix(entry.size() + 1);
  }
  return variables;
#endif
}

}  // namespace meshwise::detail
