// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// For truth.py: the logits that the tests' evaluation in double precision computes for a file of
// any family (src/model/reference/reference_for_test.h, which shares no code with the forward
// pass).
//
//   reference_logits MODEL IDS OUT
//
// IDS is a text file of token ids. OUT gets float64, a row of the vocabulary per token. The
// evaluation dequantises every tensor again for every token: use a file of F32.
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "gguf/model_files.h"
#include "model/files/support.h"
#include "model/memory/memory.h"
#include "model/reference/reference_deepseek41_for_test.h"
#include "model/reference/reference_deepseek4_for_test.h"
#include "model/reference/reference_for_test.h"

namespace aster::model {
namespace {

int Fail(std::string_view file, std::string_view why) {
  fmt::print(stderr, "{}: {}\n", file, why);
  return 1;
}

std::vector<double> LogitsOf(const gguf::ModelFiles& files, const Shape& shape,
                             std::span<const int32_t> tokens) {
  const MemoryOptions memory = Narrowed({}, shape);
  if (shape.arch == Arch::kDeepSeek4) return DeepSeek4ReferenceLogits(files, shape, memory, tokens);
  if (shape.arch == Arch::kDeepSeek41)
    return DeepSeek41ReferenceLogits(files, shape, memory, tokens);
  return ReferenceLogits(files, shape, tokens);
}

// What the evaluation does not compute correctly for this shape; empty if nothing.
std::string_view Obstacle(const Shape& shape) {
  const bool is_llama_like = shape.arch == Arch::kLlama || shape.arch == Arch::kMistral3;
  if (is_llama_like && shape.rope_factors) return "it does not evaluate frequency factors";
  if (shape.arch == Arch::kPhi3 && !shape.rope_factors)
    return "of Phi it evaluates files with frequency factors";
  // Gemma rounds the root of the width to 16 bits before it scales rows; the evaluation does not.
  const bool is_even_power =
      std::has_single_bit(shape.embedding) && std::countr_zero(shape.embedding) % 2 == 0;
  if (shape.is_gemma() && !is_even_power)
    return "of Gemma it evaluates widths whose root is exact: 256, 1024, 4096";
  return "";
}

int Main(const std::string& model, const std::string& ids, const std::string& out_path) {
  std::ifstream in(ids);
  std::vector<int32_t> tokens;
  for (int32_t id; in >> id;) tokens.push_back(id);
  if (tokens.empty()) return Fail(ids, "there are no token ids; separate them by spaces");
  const auto files = gguf::ModelFiles::Open(model);
  if (!files.ok()) return Fail(model, files.error().message());
  const Support support = CheckSupport(*files);
  if (!support.ok()) return Fail(model, support.obstacles.front());
  const Shape& shape = *support.shape;
  if (const auto obstacle = Obstacle(shape); !obstacle.empty()) return Fail(model, obstacle);
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= shape.vocab_size)
      return Fail(ids, fmt::format("the model has no token {}", token));
  }
  const std::vector<double> logits = LogitsOf(*files, shape, tokens);
  std::ofstream out(out_path, std::ios::binary);
  const auto bytes = std::as_bytes(std::span(logits));
  out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  return out.flush() ? 0 : Fail(out_path, "it cannot be written");
}

}  // namespace
}  // namespace aster::model

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: reference_logits MODEL IDS OUT\n");
    return 2;
  }
  return aster::model::Main(argv[1], argv[2], argv[3]);
}
