# meshwise_add_room(NAME [PACKAGE_TARGET...]): src/NAME/*.cpp, and those of its kernels/ and checkpoint/, as the
# object library meshwise_NAME. A room without sources yet is skipped.
function(meshwise_add_room room)
  file(GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/${room}/*.cpp ${PROJECT_SOURCE_DIR}/src/${room}/kernels/*.cpp
    ${PROJECT_SOURCE_DIR}/src/${room}/checkpoint/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(meshwise_${room} OBJECT ${sources})
  set_target_properties(meshwise_${room} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Private headers live beside the sources and are included as "room/name.hpp".
  target_include_directories(meshwise_${room} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(meshwise_${room} PRIVATE meshwise_settings fmt::fmt ${ARGN})
  # Kernels, and the conversions of array/convert.cpp that feed them. Nobody reads errno or floating-point flags: without those, square
  # roots and comparisons vectorise, and no value changes.
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "/kernels/|/array/convert.cpp$")
  if(kernels)
    set_source_files_properties(${kernels} PROPERTIES
      COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>;-fno-math-errno;-fno-trapping-math")
  endif()
  # One source an instruction set, chosen by function pointer at run time.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    foreach(source IN LISTS kernels)
      if(source MATCHES "_avx2.cpp$")
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -mavx2)
      elseif(source MATCHES "_avx512.cpp$")
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -mavx512f -mavx512bw -mavx512vl)
      endif()
    endforeach()
  endif()
endfunction()

# All rooms as the one library that users link. Static unless BUILD_SHARED_LIBS says otherwise.
function(meshwise_add_library)
  set(objects)
  foreach(room IN LISTS MESHWISE_ROOMS)
    if(TARGET meshwise_${room})
      list(APPEND objects $<TARGET_OBJECTS:meshwise_${room}>)
    endif()
  endforeach()
  add_library(meshwise ${objects})
  add_library(meshwise::meshwise ALIAS meshwise)
  set_target_properties(meshwise PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION})
  target_compile_features(meshwise PUBLIC cxx_std_20)
  target_include_directories(meshwise PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  # Public headers use {fmt}; runtime/interop_mpi.hpp uses MPI. HDF5 and BLAS go in by path, so that a
  # project that uses meshwise needs neither package's CMake files (nor the language C for HDF5's).
  target_link_libraries(meshwise
    PUBLIC fmt::fmt MPI::MPI_CXX
    PRIVATE Threads::Threads ${HDF5_C_LIBRARIES} ${BLAS_LIBRARIES} ${ISAL_LIBRARY})
  if(MESHWISE_HAS_LIBMVEC)
    target_link_libraries(meshwise PRIVATE mvec)
  endif()
  if(MESHWISE_BOOST_MPI)
    target_link_libraries(meshwise PRIVATE Boost::mpi Boost::serialization)
  endif()
  if(MESHWISE_SANITIZE)
    target_link_options(meshwise PUBLIC $<BUILD_INTERFACE:-fsanitize=${MESHWISE_SANITIZE}>)
  endif()
endfunction()

# The command meshwise, src/tools/command/*.cpp; in bin/, because `meshwise` is the library's name to the build.
function(meshwise_add_command)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tools/command/*.cpp)
  add_executable(meshwise_command ${sources})
  set_target_properties(meshwise_command PROPERTIES OUTPUT_NAME meshwise RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  target_include_directories(meshwise_command PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(meshwise_command PRIVATE meshwise_settings meshwise CLI11::CLI11 nlohmann_json::nlohmann_json)
endfunction()
