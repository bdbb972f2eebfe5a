// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Does with llama.cpp, or with ik_llama.cpp (-DIK), what bench/resident_rates.cc does, for
// bench/in_turns.py. This file is not part of the build; with a checkout and a static build of the
// peer in $L:
//
//   g++ -O2 -std=c++20 -I$L/include -I$L/ggml/include bench/peers/llama_cpp_rates.cc
//     $(find $L/build -name 'lib*.a') $(find $L/build -name 'lib*.a') -fopenmp -lpthread -ldl
//     -o llama_cpp_rates
//
// ASTER_BENCH_CONTEXT: positions, by default 20480. REPACK=1: ik_llama.cpp repacks at load.
#include <llama.h>  // tidy: allow(third-party) it is what this is for
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "../rate_case.h"  // tidy: allow(include-path) beside it, and without ours

namespace {

#ifdef IK
#define MEMORY context_
#define COPY llama_kv_cache_seq_cp
#define REMOVE llama_kv_cache_seq_rm
#else
#define MEMORY llama_get_memory(context_)
#define COPY llama_memory_seq_cp
#define REMOVE llama_memory_seq_rm
#endif

constexpr int kChunk = 512;
constexpr int kSequences = 34;

[[noreturn]] void Fail(const char* what) {
  std::cerr << what << "\n";
  std::exit(1);
}

size_t NumberIn(std::string_view text) {
  size_t number = 0;
  if (!rates::TakeNumber(text, 0, number)) Fail("not a number");
  return number;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Resident {
 public:
  Resident(const char* path, int threads) {
    llama_model_params model = llama_model_default_params();
    model.n_gpu_layers = 0;
    llama_context_params context = llama_context_default_params();
    const char* const positions = std::getenv("ASTER_BENCH_CONTEXT");
    context.n_ctx = positions == nullptr ? 20480 : static_cast<uint32_t>(NumberIn(positions));
    context.n_batch = 2048;
    context.n_ubatch = kChunk;
    context.n_seq_max = kSequences;
    context.n_threads = context.n_threads_batch = threads;
#ifdef IK
    model.repack_tensors = std::getenv("REPACK") != nullptr;
    context.flash_attn = true;
#else
    context.kv_unified = true;
    context.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
#endif
    model_ = llama_model_load_from_file(path, model);
    if (model_ == nullptr) Fail("no model");
    context_ = llama_init_from_model(model_, context);
    if (context_ == nullptr) Fail("no context");
#ifdef IK
    const int words = llama_n_vocab(model_);
#else
    const int words = llama_vocab_n_tokens(llama_model_get_vocab(model_));
#endif
    uint32_t random = 5;
    for (llama_token& token : tokens_) {
      random = random * 1664525 + 1013904223;
      token = static_cast<llama_token>((random >> 8) % static_cast<uint32_t>(words));
    }
    batch_ = llama_batch_init(2048, 0, 1);
  }

  double Prompt(int count, int depth) {
    Behind(depth);
    COPY(MEMORY, 0, 1, -1, -1);
    const double begin = Now();
    for (int i = 0; i < count; i += kChunk) {
      const int size = std::min(kChunk, count - i);
      for (int j = 0; j < size; ++j) Add(depth + i + j, depth + i + j, 1, i + j == count - 1);
      Run();
    }
    return count / (Now() - begin);
  }

  double Steps(int sequences, int count, int depth) {
    Behind(depth);
    for (int k = 1; k <= sequences; ++k) COPY(MEMORY, 0, k, -1, -1);
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      for (int k = 1; k <= sequences; ++k) Add(depth + i * sequences + k, depth + i, k, true);
      const double begin = Now();
      Run();
      times.push_back(Now() - begin);
    }
    std::sort(times.begin(), times.end());
    return sequences / times[times.size() / 2];
  }

 private:
  void Add(int which, int position, int sequence, bool wanted) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = tokens_[which];
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = sequence;
    batch_.logits[i] = static_cast<int8_t>(wanted);
  }

  void Run() {
    if (llama_decode(context_, batch_) != 0) Fail("llama_decode failed");
    llama_synchronize(context_);
    batch_.n_tokens = 0;
  }

  // Makes the KV cache of the first `depth` tokens in sequence 0, and empties the other sequences.
  void Behind(int depth) {
    for (int k = 1; k < kSequences; ++k) REMOVE(MEMORY, k, -1, -1);
    if (depth < held_) REMOVE(MEMORY, 0, depth == 0 ? -1 : depth, -1);
    held_ = std::min(held_, depth);
    while (held_ < depth) {
      const int size = std::min(kChunk, depth - held_);
      for (int i = 0; i < size; ++i) Add(held_ + i, held_ + i, 0, false);
      Run();
      held_ += size;
    }
  }

  llama_model* model_ = nullptr;
  llama_context* context_ = nullptr;
  llama_batch batch_{};
  std::vector<llama_token> tokens_ = std::vector<llama_token>(rates::kMaxTokens);
  int held_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: llama_cpp_rates MODEL THREADS");
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
#ifndef IK
  ggml_backend_load_all();  // back ends that are libraries beside the program
#endif
  size_t threads = 0;
  std::string_view given = argv[2];
  if (!rates::TakeNumber(given, 0, threads)) Fail("usage: llama_cpp_rates MODEL THREADS");
  Resident resident(argv[1], static_cast<int>(threads));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto parsed = rates::ParseCase(line);
    if (!parsed) Fail("no such case");
    const int count = static_cast<int>(parsed->count), depth = static_cast<int>(parsed->depth);
    const double rate = parsed->is_prompt
                            ? resident.Prompt(count, depth)
                            : resident.Steps(static_cast<int>(parsed->batch), count, depth);
    std::cout << line << " " << rate << std::endl;
  }
}
