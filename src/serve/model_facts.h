// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a server reports about a model, besides its name. Must not know files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aster::serve {

struct ModelFacts {
  std::string architecture;  // as files call it: "llama"
  std::string type;          // the format of most of its weights: "Q4_K"
  uint64_t parameters = 0;
  uint64_t bytes = 0;  // of its files
  uint64_t layers = 0;
  uint64_t embedding = 0;              // the width
  uint64_t trained_context = 0;        // tokens
  int64_t modified_s = 0;              // of its first file
  std::string fingerprint;             // of its content, in hex; empty: unknown
  std::string fingerprint_of_answers;  // and of the arithmetic; empty: unknown
  std::string chat_template;
  std::string bos;  // texts of tokens
  std::string eos;
  size_t slots = 1;  // answers computed at once
};

}  // namespace aster::serve
