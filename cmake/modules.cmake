# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# A folder under src/ is one module: x.cc files make the library aster_<folder>, x_test.cc files make the
# test program <folder>_test, x_fuzz.cc files make one fuzzer each. Adding a file needs no edit here.

include(GoogleTest)

configure_file(
  "${CMAKE_SOURCE_DIR}/src/base/folders_for_test.h.in" "${CMAKE_BINARY_DIR}/folders/base/folders_for_test.h" @ONLY)

# Options for COLD modules and for tests, which take longer to compile than to run.
set(ASTER_COLD_OPTIONS "$<$<CONFIG:Release>:-O1>")
set(ASTER_TEST_OPTIONS "$<$<CONFIG:Release>:-O1>")
if(ASTER_SANITIZE)
  set(ASTER_COLD_OPTIONS -O0)
  set(ASTER_TEST_OPTIONS -O0)
endif()
# COLD modules and tests link this after everything else, because a later -fsanitize= would cancel -fno-sanitize=. The
# checks of every pointer take a fifth of the time of compiling them, and half of what the compiler writes.
add_library(aster_unchecked_pointers INTERFACE)
if(ASTER_SANITIZE MATCHES undefined)
  target_compile_options(aster_unchecked_pointers INTERFACE -fno-sanitize=null,alignment)
endif()
# Counters that guide fuzzers, in modules that have one: a call per comparison would take a third of a kernel's time.
set(ASTER_FUZZED_OPTIONS -fsanitize=fuzzer-no-link)

# aster_module(NAME [COLD|HOT] [DEEP] [OWN_HEADERS] [DEPS target…] [PRIVATE_DEPS target…] [TEST_DEPS target…])
# DEEP: the module has the files of its sub-folders, too, except those in main/.
# COLD: little time is spent in the module, so it is optimised little.
# HOT: so much time is spent in it that it is fully optimised with sanitizers, too.
# OWN_HEADERS: its options differ from those of the others, so headers are precompiled for it alone.
# Several files are compiled as one, because headers from outside take most of the time. The debug build compiles each
# file by itself, which finds files that do not include what they use.
function(aster_module name)
  cmake_parse_arguments(arg "COLD;HOT;DEEP;OWN_HEADERS" "" "DEPS;PRIVATE_DEPS;TEST_DEPS" ${ARGN})
  if(arg_DEEP)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/main/")
  else()
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  endif()
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz)\\.cc$")

  add_library(aster_${name} STATIC ${sources})
  target_link_libraries(aster_${name} PUBLIC aster_options ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  set(options "")
  if(arg_COLD)
    set(options ${ASTER_COLD_OPTIONS})
    target_link_libraries(aster_${name} PRIVATE aster_unchecked_pointers)
  endif()
  if(ASTER_FUZZERS AND fuzzers)
    list(APPEND options ${ASTER_FUZZED_OPTIONS})
  endif()
  target_compile_options(aster_${name} PRIVATE ${options})
  if(arg_HOT AND ASTER_SANITIZE)
    target_compile_options(aster_${name} PRIVATE -O2)
  endif()
  aster_fast_to_compile(aster_${name} precompiled.h ${arg_OWN_HEADERS} ${options})

  if(ASTER_TESTS AND tests)
    if(NOT TARGET GTest::gtest_main)
      find_package(GTest REQUIRED)
    endif()
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      aster_${name} ${arg_TEST_DEPS} GTest::gmock GTest::gtest_main aster_unchecked_pointers)
    target_include_directories(${name}_test PRIVATE "${CMAKE_BINARY_DIR}/folders")
    target_compile_options(${name}_test PRIVATE ${ASTER_TEST_OPTIONS})
    aster_fast_to_compile(${name}_test precompiled_test.h ${arg_OWN_HEADERS} ${ASTER_TEST_OPTIONS})
    # The references that tests compare with compute as much as what is tested.
    list(FILTER tests INCLUDE REGEX "_for_test\\.cc$")
    set_source_files_properties(${tests} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(ASTER_SANITIZE)
      set_source_files_properties(${tests} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
    endif()
    aster_unit_tests(${name})
  endif()

  if(ASTER_FUZZERS)
    foreach(source ${fuzzers})
      aster_fuzzer(${source} aster_${name} ${arg_OWN_HEADERS})
    endforeach()
  endif()
endfunction()

# aster_fast_to_compile(TARGET HEADER OWN_HEADERS [option…]): compiles several of the target's files as one, and
# precompiles a header of cmake/ once for all targets that have the same options. The release build precompiles only the
# header of tests, so that files which do not include what they use are found; the debug build does neither.
# With little optimisation, what files have in common takes longer to compile than the rest: 24 are compiled at once,
# which takes 1.4 GB of memory. Otherwise 8.
function(aster_fast_to_compile target header own_headers)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  set(files 8)
  if("${ARGN}" MATCHES "-O[01]")
    set(files 24)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  if(NOT ASTER_SANITIZE AND header STREQUAL "precompiled.h")
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # without it ccache does nothing
    list(APPEND ARGN -fpch-preprocess)
  endif()
  if(own_headers)
    target_precompile_headers(${target} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/${header}")
    return()
  endif()
  string(MAKE_C_IDENTIFIER "aster_${header}_${ARGN}" shared)
  if(NOT TARGET ${shared})
    add_library(${shared} OBJECT "${CMAKE_SOURCE_DIR}/cmake/precompiled.cc")
    target_link_libraries(${shared} PRIVATE aster_options fmt::fmt)
    if(header STREQUAL "precompiled_test.h")
      target_link_libraries(${shared} PRIVATE GTest::gmock)
    endif()
    if("${ARGN}" MATCHES "-O0")
      target_link_libraries(${shared} PRIVATE aster_unchecked_pointers)
    endif()
    target_compile_options(${shared} PRIVATE ${ARGN})
    target_precompile_headers(${shared} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/${header}")
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# Each test runs by itself; but if a program takes long to start (with sanitizers, in qemu, or if the module sets
# ASTER_TEST_RUNS_NAME), a few runs of it share the tests: NAME/1_of_4 and so on. The output of a failed run names the
# test. A suite that needs something that takes long to make (ASTER_TEST_SUITE_NAME) has a run of its own, so that this
# is made once. ASTER_TEST_COST_NAME: about the seconds of a run that is to begin early.
function(aster_unit_tests name)
  set(runs ${ASTER_TEST_RUNS_${name}})
  if(NOT runs AND (ASTER_SANITIZE OR CMAKE_CROSSCOMPILING))
    set(runs 4)
  endif()
  if(NOT runs)
    # NO_PRETTY_VALUES: what follows NAME/ is what --gtest_filter= takes.
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
      PROPERTIES LABELS unit TIMEOUT 600)
    return()
  endif()
  set(filter ${ASTER_TEST_FILTER_${name}})
  set(cost 0)
  if(ASTER_TEST_COST_${name})
    set(cost ${ASTER_TEST_COST_${name}})
  endif()
  set(suite ${ASTER_TEST_SUITE_${name}})
  if(suite)
    set(filter "--gtest_filter=-${suite}.*")
    add_test(NAME ${name}/${suite} COMMAND ${name}_test "--gtest_filter=${suite}.*")
    set_tests_properties(${name}/${suite} PROPERTIES LABELS unit TIMEOUT 3000 COST 200)
  endif()
  foreach(run RANGE 1 ${runs})
    math(EXPR index "${run} - 1")
    set(test "${name}/${run}_of_${runs}")
    add_test(NAME ${test} COMMAND ${name}_test ${filter})
    set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 3000 COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${runs};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# A fuzzer runs a fixed number of executions as a test; run it by hand for any time. Seeds come from
# tests/fuzz/corpus/<fuzzer>/ if that folder exists.
function(aster_fuzzer source library own_headers)
  get_filename_component(fuzzer ${source} NAME_WE)
  add_executable(${fuzzer} ${source})
  target_link_libraries(${fuzzer} PRIVATE ${library})
  target_compile_options(${fuzzer} PRIVATE ${ASTER_FUZZED_OPTIONS})
  if(NOT own_headers)
    aster_fast_to_compile(${fuzzer} precompiled.h OFF ${ASTER_FUZZED_OPTIONS})
  endif()
  target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
  # Seeds are given file by file: libFuzzer would write its own findings into a folder.
  file(GLOB seeds CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${fuzzer}/*")
  list(JOIN seeds "," seeds)
  if(seeds)
    set(seeds "-seed_inputs=${seeds}")
  endif()
  add_test(NAME fuzz/${fuzzer} COMMAND ${fuzzer}
    -runs=${ASTER_FUZZ_RUNS} -max_total_time=${ASTER_FUZZ_SECONDS}
    -seed=1 -max_len=65536 -rss_limit_mb=1024 -timeout=20 -print_final_stats=1 ${seeds})
  set_tests_properties(fuzz/${fuzzer} PROPERTIES LABELS fuzz TIMEOUT 1800)
endfunction()
