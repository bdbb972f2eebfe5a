# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
# Compiles every shader of the program to SPIR-V, and writes them as arrays of words for the library.

set(shader_folder "${CMAKE_CURRENT_SOURCE_DIR}/shaders")
set(shader_output "${CMAKE_CURRENT_BINARY_DIR}/shaders")
file(MAKE_DIRECTORY "${shader_output}")
set(shader_names "")
set(shader_words "")
set(shader_lines "")  # name, source and definitions of each

# aster_shader(NAME SOURCE [DEFINITION…]): compiles shaders/SOURCE.comp with -D for every definition; the program finds
# it as NAME.
function(aster_shader name source)
  set(input "${shader_folder}/${source}.comp")
  set(output "${shader_output}/${name}.inc")
  list(TRANSFORM ARGN PREPEND "-D" OUTPUT_VARIABLE definitions)
  list(JOIN ARGN " " plain_definitions)
  add_custom_command(OUTPUT "${output}"
    COMMAND "${GLSLC}" --target-env=vulkan1.2 -Werror -mfmt=num ${definitions}
      -MD -MF "${output}.d" -MT "${output}" "${input}" -o "${output}"
    DEPENDS "${input}" DEPFILE "${output}.d" VERBATIM)
  set(shader_names ${shader_names} ${name} PARENT_SCOPE)
  set(shader_words ${shader_words} "${output}" PARENT_SCOPE)
  set(shader_lines ${shader_lines} "${name} ${source} ${plain_definitions}" PARENT_SCOPE)
endfunction()

# aster_words(COMPILED OUTPUT): writes the words of a shader that is kept compiled as text.
function(aster_words compiled output)
  file(READ "${compiled}" bytes HEX)
  string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1,\n" words "${bytes}")
  file(CONFIGURE OUTPUT "${output}" CONTENT "${words}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${compiled}")
endfunction()

aster_shader(arithmetic arithmetic)

# Weight types have the numbers and names of weights.glsl. Products are compiled with and without the instruction for
# dot products of bytes.
set(weight_types q8_0 q4_0 mxfp4 q2_k q4_k q5_k q6_k iq2_xxs iq4_nl q5_1 levels)
foreach(type ${weight_types})
  list(FIND weight_types ${type} number)
  foreach(source product_few product_many)
    aster_shader(${source}_${type} ${source} WEIGHTS=${number})
    aster_shader(${source}_${type}_dot ${source} WEIGHTS=${number} DOT_PRODUCT)
  endforeach()
endforeach()
# Not every glslc supports cooperative matrices, so these products are kept compiled (tools/compile-matrix-shaders).
# Tests compile products with emulated matrices. There are none for Q5_1.
set(matrix_names matrix_elements)
set(emulated_lines "")
foreach(type ${weight_types})
  if(type STREQUAL q5_1)
    continue()
  endif()
  list(FIND weight_types ${type} number)
  foreach(rows 64 128)
    set(name product_matrix_${type}_${rows})
    list(APPEND matrix_names ${name})
    if(type MATCHES "^(q8_0|q4_k|q6_k)$")  # one of each kind
      list(APPEND emulated_lines "${name} product_matrix WEIGHTS=${number} ROWS=${rows}u EMULATED")
    endif()
  endforeach()
endforeach()
foreach(name ${matrix_names})
  string(REPLACE product_matrix_ "" file ${name})
  aster_words("${shader_folder}/matrix/${file}.spv" "${shader_output}/${name}.inc")
  list(APPEND shader_names ${name})
  list(APPEND shader_words "${shader_output}/${name}.inc")
endforeach()
aster_shader(product_f32 product_floats WEIGHTS=0)
aster_shader(product_f16 product_floats WEIGHTS=1)
aster_shader(product_bf16 product_floats WEIGHTS=2)

# The types have the numbers of KvType in src/kernels/pages.h.
set(kv_types f16 bf16 q8)
foreach(type ${kv_types})
  list(FIND kv_types ${type} number)
  foreach(rows 1 2 4 8 16 32)
    if(NOT "${type}_${rows}" STREQUAL f16_32)  # attend_tiles.comp
      aster_shader(attend_${type}_${rows} attend KV_TYPE=${number} ROWS=${rows})
    endif()
  endforeach()
  foreach(rows 1 2)
    aster_shader(attend_${type}_${rows}_emulated attend KV_TYPE=${number} ROWS=${rows} EMULATED)
  endforeach()
endforeach()
foreach(rows 1 2 4 8 16 32)
  aster_shader(attend_q8i_${rows} attend KV_TYPE=3 ROWS=${rows})
  aster_shader(attend_q8i_${rows}_dot attend KV_TYPE=3 ROWS=${rows} DOT_PRODUCT)
endforeach()
foreach(rows 1 2)
  aster_shader(attend_q8i_${rows}_emulated attend KV_TYPE=3 ROWS=${rows} EMULATED)
endforeach()
aster_shader(attend_tiles attend_tiles)
aster_shader(attend_tiles_emulated attend_tiles EMULATED)
foreach(rows 1 2 4 8)
  aster_shader(attend_few_f16_${rows} attend_few ROWS=${rows})
endforeach()
foreach(rows 1 2)
  aster_shader(attend_few_f16_${rows}_emulated attend_few ROWS=${rows} EMULATED)
endforeach()
aster_shader(write_rows_f16 write_rows KV_TYPE=0)
aster_shader(write_rows_bf16 write_rows KV_TYPE=1)
aster_shader(write_rows_q8 write_rows_q8 KV_TYPE=2)
aster_shader(write_rows_q8i write_rows_q8 KV_TYPE=3)

# Rows as they are, with a norm before, and of two halves.
foreach(name prepare_per_32 prepare_per_256)
  aster_shader(${name} ${name} SOURCE=0)
  aster_shader(${name}_norm ${name} SOURCE=1)
  aster_shader(${name}_gate ${name} SOURCE=2)
endforeach()

foreach(name prepare_floats gather_prepared elementwise rms_norm softmax argmax rope
    hadamard convert fixed weighted_sum own_sums choose_experts add_by_expert group_experts gather_rows merge_pages
    stream_weights streams encode_latent decode_latent write_latent write_inputs pool rank_rows
    select_rows best_of_blocks attend_latent copy_rows gate_values delta_inputs delta_convolve delta_states delta_marks)
  aster_shader(${name} ${name})
endforeach()
aster_shader(delta_states_emulated delta_states EMULATED)

# A source file with the words of all shaders.
set(arrays "")
set(table "")
foreach(name ${shader_names})
  string(APPEND arrays "const uint32_t k_${name}[] = {\n#include \"${shader_output}/${name}.inc\"\n};\n")
  string(APPEND table "    {\"${name}\", k_${name}},\n")
endforeach()
file(CONFIGURE OUTPUT "${shader_output}/shaders.cc" CONTENT [[
#include "vulkan/driver/shaders.h"

namespace aster::vulkan {
namespace {

@arrays@
struct Shader {
  std::string_view name;
  std::span<const uint32_t> words;
};
const Shader kShaders[] = {
@table@};

}  // namespace

std::span<const uint32_t> BuiltInShader(std::string_view name) {
  for (const Shader& shader : kShaders) {
    if (shader.name == name) return shader.words;
  }
  return {};
}

}  // namespace aster::vulkan
]] @ONLY)
target_sources(aster_vulkan PRIVATE "${shader_output}/shaders.cc" ${shader_words})
set_source_files_properties("${shader_output}/shaders.cc" PROPERTIES
  SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON OBJECT_DEPENDS "${shader_words}")

# For tests: shaders that emulate matrices, and shaders with one mistake each for the test of the self-check
# (check/self_check_mutations_test.cc), which sanitizer builds do not run.
if(ASTER_TESTS)
  set(mutations_option "")
  if(ASTER_SANITIZE)
    set(mutations_option --emulated-only)
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  list(JOIN emulated_lines "\n" emulated_lines)
  file(CONFIGURE OUTPUT "${shader_output}/emulated.txt" CONTENT "${emulated_lines}\n" @ONLY)
  list(JOIN shader_lines "\n" shader_lines)
  file(CONFIGURE OUTPUT "${shader_output}/shaders.txt" CONTENT "${shader_lines}\n${emulated_lines}\n" @ONLY)
  set(mutations "${CMAKE_CURRENT_SOURCE_DIR}/check/mutations.py")
  file(GLOB shader_sources CONFIGURE_DEPENDS "${shader_folder}/*")
  add_custom_command(OUTPUT "${shader_output}/mutated_shaders.cc"
    COMMAND Python3::Interpreter "${mutations}" ${mutations_option} "${GLSLC}" "${shader_folder}"
      "${shader_output}/shaders.txt" "${shader_output}/emulated.txt" "${shader_output}/mutated_shaders.cc"
    DEPENDS "${mutations}" "${shader_output}/shaders.txt" "${shader_output}/emulated.txt" ${shader_sources} VERBATIM)
  target_sources(vulkan_test PRIVATE "${shader_output}/mutated_shaders.cc")
  set_source_files_properties("${shader_output}/mutated_shaders.cc" PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endif()
