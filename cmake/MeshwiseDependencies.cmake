# Everything comes from the system; nothing is downloaded.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
set(MPI_CXX_SKIP_MPICXX ON)  # without the dead C++ bindings mpi.h compiles in 0.03 s, with them in 0.7 s
find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
if(MESHWISE_BOOST_MPI)
  find_package(Boost 1.74 REQUIRED COMPONENTS mpi serialization)
endif()
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
if(MESHWISE_COMMAND)
  find_package(CLI11 REQUIRED)
endif()
set(BLA_VENDOR OpenBLAS)
find_package(BLAS REQUIRED)

# With a serial HDF5 beside the parallel one CMake takes the serial one unless it is told.
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 COMPONENTS C)
if(NOT HDF5_FOUND OR NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "meshwise needs the parallel build of HDF5 for Open MPI, and only "
    "a serial one or none was found: install the package libhdf5-openmpi-dev (apt-get install libhdf5-openmpi-dev).")
endif()

# ISA-L has no CMake files of its own in Debian.
find_path(ISAL_INCLUDE_DIR isa-l/crc.h)
find_library(ISAL_LIBRARY isal)
if(NOT ISAL_INCLUDE_DIR OR NOT ISAL_LIBRARY)
  message(FATAL_ERROR "meshwise needs ISA-L for checksums: install the package libisal-dev (apt-get install libisal-dev).")
endif()

# glibc has vector functions (all that we use, from 2.35 on); where it has not, the scalar ones serve.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES mvec)
check_cxx_source_compiles("
  #include <emmintrin.h>
  extern \"C\" __m128d _ZGVbN2v_atanh(__m128d);
  int main(int argc, char**) { return _mm_cvtsd_si32(_ZGVbN2v_atanh(_mm_set1_pd(argc))); }" MESHWISE_HAS_LIBMVEC)
unset(CMAKE_REQUIRED_LIBRARIES)
