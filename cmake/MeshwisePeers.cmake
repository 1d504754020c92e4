# What benchmarks compare us with, where it is there (scripts/install_peers.sh): the targets peer_scalapack, peer_fftw, peer_costa.
# Never needed; a benchmark that says `// needs: NAME` is built only then.
function(meshwise_add_peer target)
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

find_library(MESHWISE_SCALAPACK_LIBRARY NAMES scalapack-openmpi scalapack)
if(MESHWISE_SCALAPACK_LIBRARY)
  meshwise_add_peer(peer_scalapack ${MESHWISE_SCALAPACK_LIBRARY})
endif()

find_path(MESHWISE_FFTW_INCLUDE_DIR NAMES fftw3-mpi.h)
find_library(MESHWISE_FFTW_LIBRARY NAMES fftw3)
find_library(MESHWISE_FFTW_MPI_LIBRARY NAMES fftw3_mpi)
if(MESHWISE_FFTW_INCLUDE_DIR AND MESHWISE_FFTW_LIBRARY AND MESHWISE_FFTW_MPI_LIBRARY)
  meshwise_add_peer(peer_fftw ${MESHWISE_FFTW_MPI_LIBRARY} ${MESHWISE_FFTW_LIBRARY})
  target_include_directories(peer_fftw SYSTEM INTERFACE ${MESHWISE_FFTW_INCLUDE_DIR})
endif()

find_package(costa CONFIG QUIET HINTS ${PROJECT_BINARY_DIR}/peers/costa)
if(TARGET costa::costa)
  meshwise_add_peer(peer_costa costa::costa)
endif()
mark_as_advanced(MESHWISE_SCALAPACK_LIBRARY MESHWISE_FFTW_INCLUDE_DIR MESHWISE_FFTW_LIBRARY MESHWISE_FFTW_MPI_LIBRARY costa_DIR)
