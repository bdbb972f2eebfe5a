// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model file's data about its tokens: checked but not yet prepared for use. The tokenizer is made
// from it (tokenizer.h), the reader of model files fills it (vocab_reader.h). Must not know files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::text {

using TokenId = int32_t;
inline constexpr TokenId kNoToken = -1;

// As in tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,      // for text that cannot be encoded
  kControl = 3,      // recognised in a text only if the caller parses special tokens
  kUserDefined = 4,  // always recognised in a text, before anything else
  kUnused = 5,
  kByte = 6,  // <0x00> to <0xFF>
};

// Whether such tokens can be recognised in a text, and are not only made by merges.
constexpr bool IsMatchedInText(TokenType type) {
  return type == TokenType::kUnknown || type == TokenType::kControl ||
         type == TokenType::kUserDefined;
}

enum class VocabKind : uint8_t {
  kByteLevelBpe,   // "gpt2": merges of bytes within the pieces of a pre-tokenizer
  kSentencePiece,  // "llama": merges of characters by score, bytes for characters without a token
  kSentencePieceBpe,  // "gemma4": merges of characters by rank, bytes for characters without a
                      // token
};

// Tokens with a role; kNoToken if a vocabulary has none.
struct SpecialTokens {
  TokenId bos = kNoToken;  // begins a text
  TokenId eos = kNoToken;  // ends a text
  TokenId eot = kNoToken;  // ends a turn of a conversation
  TokenId eom = kNoToken;  // ends a message within a turn
  TokenId unk = kNoToken;  // unknown
  TokenId sep = kNoToken;  // separator
  TokenId pad = kNoToken;  // padding
  TokenId mask = kNoToken;
  // Fill-in-the-middle: before the gap, after it, the gap; padding, repository, file.
  TokenId fim_prefix = kNoToken;
  TokenId fim_suffix = kNoToken;
  TokenId fim_middle = kNoToken;
  TokenId fim_pad = kNoToken;
  TokenId fim_repo = kNoToken;
  TokenId fim_file = kNoToken;
};

struct Vocab {
  VocabKind kind = VocabKind::kByteLevelBpe;
  std::string pretokenizer;         // its name; for byte-level BPE
  std::vector<std::string> tokens;  // [tokens] as in the file
  std::vector<TokenType> types;     // [tokens]
  std::vector<float> scores;        // [tokens]; for SentencePiece
  std::vector<std::string> merges;  // "left right", best first; for both kinds of BPE

  SpecialTokens special;
  bool add_bos = false;
  bool add_eos = false;
  // SentencePiece adds a space before a text and after every special token.
  bool add_space_prefix = false;

  // Tokens that remove the white space after or before them. Ascending.
  std::vector<TokenId> strips_right;
  std::vector<TokenId> strips_left;
  // Tokens that end generation. Ascending.
  std::vector<TokenId> end_of_generation;
  // Harmless oddities of the file; sentences for users.
  std::vector<std::string> notes;

  TokenId size() const { return static_cast<TokenId>(tokens.size()); }
  bool Contains(TokenId id) const { return id >= 0 && id < size(); }
  bool IsEndOfGeneration(TokenId id) const;
  // The token with this text, or kNoToken. Linear search.
  TokenId Find(std::string_view text) const;
};

// Limits far above any real vocabulary; larger ones are refused.
inline constexpr size_t kMaxTokens = size_t{1} << 24;
inline constexpr size_t kMaxTokenBytes = size_t{1} << 16;
inline constexpr size_t kMaxSpecialTokenBytes = 512;

// Checks everything that a tokenizer relies on: equal sizes, ids in range, no special token twice.
Status Validate(const Vocab& vocab);

// Finds missing roles by the spelling of tokens, as some files need it; makes those tokens control
// tokens; and lists the tokens that end generation.
void AssignRoles(Vocab& vocab);

}  // namespace aster::text
