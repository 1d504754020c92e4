# How our own code is compiled. Everything hangs on the target meshwise_settings, which is never
# installed: a user of the library inherits none of it.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  # Line tables cost little and make every backtrace readable; kernels alone get -O3 (MeshwiseRooms).
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
  if(MESHWISE_SANITIZE)
    # Instrumented tests compile in a third of the time -O2 takes, and run nearly as fast.
    set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1 -DNDEBUG")
  endif()
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(MESHWISE_CCACHE ccache)
  mark_as_advanced(MESHWISE_CCACHE)
  if(MESHWISE_CCACHE)
    # The sloppiness lets ccache serve files that use the tests' precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${MESHWISE_CCACHE})
  endif()
endif()

add_library(meshwise_settings INTERFACE)
target_compile_features(meshwise_settings INTERFACE cxx_std_20)
target_include_directories(meshwise_settings INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(meshwise_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${MESHWISE_WERROR}>:-Werror>
  # A fused multiply-add rounds once: values would depend on the CPU a kernel was chosen for.
  -ffp-contract=off)

if(MESHWISE_SANITIZE)
  set(sanitize -fsanitize=${MESHWISE_SANITIZE} -fno-omit-frame-pointer)
  if(MESHWISE_SANITIZE MATCHES "undefined")
    list(APPEND sanitize -fno-sanitize-recover=undefined)
  endif()
  target_compile_options(meshwise_settings INTERFACE ${sanitize})
  target_link_options(meshwise_settings INTERFACE ${sanitize})
  target_compile_definitions(meshwise_settings INTERFACE MESHWISE_SANITIZED)
  if(MESHWISE_SANITIZE MATCHES "thread")
    # ThreadSanitizer is not up yet when an ifunc resolver runs: target_clones would crash before main.
    target_compile_definitions(meshwise_settings INTERFACE MESHWISE_NO_TARGET_CLONES)
  endif()
endif()
