// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A vocabulary for synthetic models, of any size: any text can be encoded and decoded, and all
// tokens are letters. Must not know tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace aster::model {

// A byte-level BPE vocabulary: every byte, then words of two to four letters with the merges that
// build them, then the special tokens.
struct SynthVocab {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;  // as in tokenizer.ggml.token_type
  std::vector<std::string> merges;
  uint32_t start_id = 0;  // "<|start|>" opens a message
  uint32_t end_id = 0;    // "<|end|>" closes it, and the text
};

inline constexpr uint32_t kMinSynthVocab = 256 + 2;
inline constexpr uint32_t kMaxSynthVocab = 400'000;

// The same size gives the same vocabulary everywhere.
Result<SynthVocab> MakeSynthVocab(uint32_t size);

// Its chat template, as in files.
extern const char kSynthChatTemplate[];

}  // namespace aster::model
