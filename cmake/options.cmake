# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# Options that every target is compiled with, and the switches of the build.

# A machine that only builds the program has neither library; tools/setup --test installs both.
if(ASTER_ARITHMETIC_ALONE)
  set(GTest_FOUND ON)  # cross_libraries.cmake builds it
else()
  find_package(GTest QUIET)
  find_package(benchmark QUIET)
endif()
# Looked up at every configuration, as ./test installs libraries that were missing when ./demo configured the folder.
function(aster_where_found name found what)
  set(${name} AUTO CACHE STRING "Build ${what}: ON, OFF, or AUTO: where their library is installed")
  if(${name} STREQUAL AUTO AND found)
    set(${name} ON PARENT_SCOPE)
  elseif(${name} STREQUAL AUTO)
    set(${name} OFF PARENT_SCOPE)
  endif()
endfunction()
aster_where_found(ASTER_TESTS "${GTest_FOUND}" "the unit tests")
aster_where_found(ASTER_BENCH "${benchmark_FOUND}" "the benchmarks")
option(ASTER_FUZZERS "Build the fuzzers (needs clang)" OFF)
set(ASTER_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")
set(ASTER_FUZZ_RUNS 10000 CACHE STRING "Executions of each fuzzer when it runs as a test")
set(ASTER_FUZZ_SECONDS 5 CACHE STRING "The most that a fuzzer takes when it runs as a test; 0: no end")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

add_library(aster_options INTERFACE)
target_include_directories(aster_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
# -ffp-contract=off: the arithmetic writes every fused multiply-add itself, and the compiler must add none.
# -fno-math-errno: errno is never read after a square root, and loops with one can be vectorised.
target_compile_options(aster_options INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror
  -ffp-contract=off -fno-math-errno -fno-omit-frame-pointer
  # clang 19 considers a function deprecated that GCC 12's own headers call (std::stable_sort).
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # False alarms of GCC 12: overlaps in "a" + std::string (its bug 105651), variants that seem uninitialised, and
  # vectors of one element that seem to be moved as if they had two.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)

if(ASTER_SANITIZE)
  # The vptr check tests by a pipe whether an object is readable: without free descriptors it reports correct objects.
  # What the object-size check finds, the address sanitizer finds, too; it takes a fifth of the time of compiling.
  target_compile_options(aster_options INTERFACE
    -fsanitize=${ASTER_SANITIZE} -fno-sanitize=vptr,object-size -fno-sanitize-recover=all)
  target_link_options(aster_options INTERFACE -fsanitize=${ASTER_SANITIZE})
endif()
if(ASTER_SANITIZE MATCHES address)
  # The two million relocations, mostly of tables of counters, take a third of a program's start.
  target_link_options(aster_options INTERFACE -no-pie)
endif()

# GCC spends a tenth of its time on freeing memory that it could keep: it begins later on a machine with 4 GB a core
# (ninja compiles up to two files a core).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR mib_per_core "${memory_mib} / ${cores}")
  if(mib_per_core GREATER 3500)
    add_compile_options(--param=ggc-min-heapsize=1048576)  # KiB
  endif()
endif()

# mold takes a sixth of the time of the system's linker. Without separate-code, mold 1.10 may leave a hole before the
# data of a program whose code ends in the last bytes of a page, which the loader refuses ("cannot apply additional
# memory protection").
find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold -Wl,-z,separate-code)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # ccache compares precompiled headers by content then, and clang leaves their time of day out.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${CCACHE}")
  # __FILE__ is the same in every clone, so that clones share the compiler cache.
  add_compile_options("-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
  if(ASTER_SANITIZE)
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
