// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Does with ggml what bench/arm_instructions.cc does, for bench/arm_instructions.py. Its
// instruction sets are `repacked` (weights as ggml packs them for this processor, if it does) and
// `plain`. Rows are floats, which ggml prepares itself, so only the functions of products are to be
// counted: --functions 'gemm|gemv|vec_dot|mul_mat'. This file is not part of the build; with a
// checkout and a static build of ggml for 64-bit ARM in $L
// (-DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod+fp16+i8mm):
//
//   aarch64-linux-gnu-g++ -O2 -std=c++20 -static -I$L/include bench/peers/ggml_instructions.cc
//     $(find $L/build -name 'lib*.a') $(find $L/build -name 'lib*.a') -lpthread -ldl -o ggml
#include <ggml-backend.h>  // tidy: allow(third-party) it is what this is for
#include <ggml-cpu.h>      // tidy: allow(third-party) it is what this is for
#include <ggml.h>          // tidy: allow(third-party) it is what this is for

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(2);
}

int64_t NumberOf(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

ggml_type TypeNamed(std::string_view name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    const char* theirs = ggml_type_name(type);  // its case differs: q4_K is Q4_K here
    if (theirs == nullptr) continue;
    if (std::ranges::equal(std::string_view(theirs), name,
                           [](char a, char b) { return std::toupper(a) == std::toupper(b); })) {
      return type;
    }
  }
  Fail("no such type");
}

// The buffer type in which weights are packed for this processor.
ggml_backend_buffer_type_t Repacked() {
  ggml_backend_dev_t device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
  auto* extra =
      reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(ggml_backend_reg_get_proc_address(
          ggml_backend_cpu_reg(), "ggml_backend_dev_get_extra_bufts"));
  for (ggml_backend_buffer_type_t* type = extra(device); type != nullptr && *type != nullptr;
       ++type) {
    if (std::string_view(ggml_backend_buft_name(*type)) == "CPU_REPACK") return *type;
  }
  Fail("ggml repacks nothing here");
}

void Multiply(bool repacked, ggml_type type, int64_t outputs, int64_t columns, int64_t rows,
              int64_t times) {
  ggml_backend_t cpu = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(cpu, 1);
  ggml_context* context = ggml_init({1 << 20, nullptr, true});
  ggml_context* others = ggml_init({1 << 20, nullptr, true});
  ggml_tensor* weights = ggml_new_tensor_2d(context, type, columns, outputs);
  ggml_tensor* activations = ggml_new_tensor_2d(others, GGML_TYPE_F32, columns, rows);
  ggml_tensor* product = ggml_mul_mat(others, weights, activations);
  if (ggml_backend_alloc_ctx_tensors_from_buft(
          context, repacked ? Repacked() : ggml_backend_cpu_buffer_type()) == nullptr) {
    Fail("no memory");
  }
  ggml_backend_alloc_ctx_tensors(others, cpu);
  const std::vector<char> zeros(std::max(ggml_nbytes(weights), ggml_nbytes(activations)));
  ggml_backend_tensor_set(weights, zeros.data(), 0, ggml_nbytes(weights));
  ggml_backend_tensor_set(activations, zeros.data(), 0, ggml_nbytes(activations));
  ggml_cgraph* graph = ggml_new_graph(others);
  ggml_build_forward_expand(graph, product);
  for (; times > 0; --times) ggml_backend_graph_compute(cpu, graph);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) Fail("ggml_instructions repacked|plain TYPE OUTPUTS COLUMNS ROWS TIMES");
  Multiply(std::string_view(arguments[1]) == "repacked", TypeNamed(arguments[2]),
           NumberOf(arguments[3]), NumberOf(arguments[4]), NumberOf(arguments[5]),
           NumberOf(arguments[6]));
  return 0;
}
