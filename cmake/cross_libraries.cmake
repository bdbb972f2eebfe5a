# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# The modules that are built for another processor or with another standard library, and the libraries that they need.
# Their headers and sources are the same for every processor, so no packages for that one are needed. The headers are
# linked into a folder of their own, so that no other system header is found.

set(ASTER_CROSS_MODULES base gguf quant kernels kv compute model)
# Of the model's tests only those that compare bits with results of other processors, without models that take long to
# write in qemu and whose operations others have, too; kernels_test has products of every type.
string(CONCAT ASTER_TEST_FILTER_model "--gtest_filter=Known/SameBits*-*IQ2_XXS:*/deepseek32*:*/glm4moe*:*/mimo2*"
  ":*/minimaxm2*:*/qwen35Q*")

set(headers "${CMAKE_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${headers}")
foreach(name fmt spdlog xxhash.h)
  file(CREATE_LINK "/usr/include/${name}" "${headers}/${name}" SYMBOLIC)
endforeach()

function(aster_header_library name)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} INTERFACE "${headers}")
  target_compile_definitions(${name} INTERFACE ${ARGN})
endfunction()
aster_header_library(spdlog::spdlog SPDLOG_FMT_EXTERNAL)
aster_header_library(PkgConfig::xxhash XXH_INLINE_ALL)

# fmt is compiled once: its header-only form would cost every source some seconds.
add_library(cross_fmt STATIC "${CMAKE_SOURCE_DIR}/cmake/cross_fmt.cc")
target_include_directories(cross_fmt SYSTEM PUBLIC "${headers}")
add_library(fmt::fmt ALIAS cross_fmt)

add_subdirectory(/usr/src/googletest googletest EXCLUDE_FROM_ALL)
foreach(name gtest gtest_main gmock)
  target_compile_options(${name} PRIVATE -w -O0)
  if(NOT TARGET GTest::${name})
    add_library(GTest::${name} ALIAS ${name})
  endif()
endforeach()
