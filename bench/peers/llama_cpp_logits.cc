// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Does with llama.cpp (or ik_llama.cpp) what `aster logits MODEL --ids IDS --out OUT` does, for
// bench/truth.py. This file is not part of the build; with a checkout and a static build of the
// peer in $L:
//
//   g++ -O2 -std=c++17 -I$L/include -I$L/ggml/include bench/peers/llama_cpp_logits.cc
//     $(find $L/build -name 'lib*.a') $(find $L/build -name 'lib*.a') -fopenmp -lpthread -ldl
//     -o llama_cpp_logits
#include <llama.h>  // tidy: allow(third-party) it is what this is for
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

// ik_llama.cpp uses the index of GLM 5 only if `dsa` is set, and adds the first position to every
// choice of it unless DSA_SINK is 0. llama.cpp has no such member.
template <typename Params>
auto UseIndex(Params& params, int /*best*/) -> decltype(params.dsa, void()) {
  params.dsa = true;
  setenv("DSA_SINK", "0", /*overwrite=*/0);
}
template <typename Params>
void UseIndex(Params& /*params*/, long /*otherwise*/) {}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) Fail("usage: llama_cpp_logits MODEL IDS OUT");
  std::ifstream ids(argv[2]);
  std::vector<llama_token> tokens;
  for (llama_token id; ids >> id;) tokens.push_back(id);
  const auto count = static_cast<int32_t>(tokens.size());

  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) Fail("the model cannot be loaded");
  llama_context_params params = llama_context_default_params();
  params.n_ctx = count;
  params.n_batch = count;
  params.n_ubatch = count;
  params.n_threads = params.n_threads_batch = 1;
  UseIndex(params, 0);
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) Fail("there is no context of this length");

  llama_batch batch = llama_batch_init(count, 0, 1);
  for (int32_t i = 0; i < count; ++i) {
    batch.token[i] = tokens[i];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  batch.n_tokens = count;
  if (llama_decode(context, batch) != 0) Fail("the tokens cannot be computed");

  const int32_t vocab_size = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::ofstream out(argv[3], std::ios::binary);
  for (int32_t i = 0; i < count; ++i) {
    out.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, i)),
              std::streamsize{4} * vocab_size);
  }
  return out.flush() ? 0 : 1;
}
