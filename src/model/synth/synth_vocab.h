// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A vocabulary for synthetic models: real enough that any text can be encoded and decoded, of any
// size, and made of nothing but letters. Must not know tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::model {

// A byte-level BPE vocabulary: every byte, then words of two to four letters that merges build,
// then the specials.
struct SynthVocab {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;  // as tokenizer.ggml.token_type numbers them
  std::vector<std::string> merges;
  uint32_t start_id = 0;  // "<|start|>" opens a message
  uint32_t end_id = 0;    // "<|end|>" closes it, and the text
};

inline constexpr uint32_t kMinSynthVocab = 256 + 2;
inline constexpr uint32_t kMaxSynthVocab = 400'000;

// The same vocabulary for the same size, everywhere.
Result<SynthVocab> MakeSynthVocab(uint32_t size);

// A chat template for it, in the form that files carry.
extern const char kSynthChatTemplate[];

}  // namespace aster::model
