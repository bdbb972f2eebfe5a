# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# A folder under src/ is one module: x.cc files make the library aster_<folder>, x_test.cc files make the
# test program <folder>_test, x_fuzz.cc files make one fuzzer each. Adding a file needs no edit here.

include(GoogleTest)

# aster_module(NAME [COLD] [DEEP] [DEPS target…] [PRIVATE_DEPS target…] [TEST_DEPS target…])
# DEEP: the files of its sub-folders are parts of it too, except those in main/.
# Several files are compiled as one, because most of the time goes into headers of others; in the debug build each by
# itself, so that a file which forgets to include what it uses is found.
# COLD: little time is spent there when it runs, so that it is optimised little.
function(aster_module name)
  cmake_parse_arguments(arg "COLD;DEEP" "" "DEPS;PRIVATE_DEPS;TEST_DEPS" ${ARGN})
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
  set(cold "$<$<CONFIG:Release>:-O1>")
  if(ASTER_SANITIZE)
    set(cold -O0)
    target_precompile_headers(aster_${name} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/precompiled.h")
  endif()
  if(arg_COLD)
    target_compile_options(aster_${name} PRIVATE ${cold})
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set_target_properties(aster_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()

  if(ASTER_TESTS AND tests)
    if(NOT TARGET GTest::gtest_main)
      find_package(GTest REQUIRED)
    endif()
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE aster_${name} ${arg_TEST_DEPS} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE
      ASTER_SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared" ASTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    # Compiling them takes longer than running them.
    if(CMAKE_CROSSCOMPILING)
      target_compile_options(${name}_test PRIVATE -O1)
    elseif(ASTER_SANITIZE)
      target_compile_options(${name}_test PRIVATE -O0)
      # What the tests compare with computes as much as what they test.
      list(FILTER tests INCLUDE REGEX "_for_test\\.cc$")
      set_source_files_properties(${tests} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
      target_precompile_headers(${name}_test PRIVATE "${CMAKE_SOURCE_DIR}/cmake/precompiled_test.h")
    endif()
    aster_unit_tests(${name})
  endif()

  if(ASTER_FUZZERS)
    foreach(source ${fuzzers})
      aster_fuzzer(${source} aster_${name})
    endforeach()
  endif()
endfunction()

# Each test by itself; but where a program takes long to start (with sanitizers, in qemu, and where the module sets
# ASTER_TEST_RUNS_NAME), a few runs of it share the tests: NAME/1_of_4 and so on. The output of a run that fails names
# the test.
function(aster_unit_tests name)
  set(runs ${ASTER_TEST_RUNS_${name}})
  if(NOT runs AND (ASTER_SANITIZE OR CMAKE_CROSSCOMPILING))
    set(runs 4)
  endif()
  if(NOT runs)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS unit TIMEOUT 300)
    return()
  endif()
  foreach(run RANGE 1 ${runs})
    math(EXPR index "${run} - 1")
    set(test "${name}/${run}_of_${runs}")
    add_test(NAME ${test} COMMAND ${name}_test ${ASTER_TEST_FILTER_${name}})
    set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 1500
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${runs};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# A fuzzer runs a fixed number of executions as a test; run it by hand for as long as you like.
# Seeds come from tests/fuzz/corpus/<fuzzer>/ where that folder exists.
function(aster_fuzzer source library)
  get_filename_component(fuzzer ${source} NAME_WE)
  add_executable(${fuzzer} ${source})
  target_link_libraries(${fuzzer} PRIVATE ${library})
  target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
  # Seeds are given file by file: a folder would be filled with what the fuzzer finds.
  file(GLOB seeds CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${fuzzer}/*")
  list(JOIN seeds "," seeds)
  if(seeds)
    set(seeds "-seed_inputs=${seeds}")
  endif()
  add_test(NAME fuzz/${fuzzer} COMMAND ${fuzzer}
    -runs=${ASTER_FUZZ_RUNS} -max_total_time=${ASTER_FUZZ_SECONDS}
    -seed=1 -max_len=65536 -rss_limit_mb=1024 -timeout=20 -print_final_stats=1 ${seeds})
  set_tests_properties(fuzz/${fuzzer} PROPERTIES LABELS fuzz TIMEOUT 900)
endfunction()
