// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tokenizer: from text to a model's tokens and back. Must not know conversations (chat/), nor
// files (vocab_reader.h).
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "text/special_matcher.h"
#include "text/symbol_table.h"
#include "text/text_encoder.h"
#include "text/vocab.h"

namespace aster::text {

struct EncodeOptions {
  // Adds the model's tokens for the beginning and end of a text, if it has them.
  bool add_special = false;
  // Recognises control tokens in the text. Not for users' texts, which could then end their turn.
  // User-defined tokens are always recognised.
  bool parse_special = false;
};

struct DecodeOptions {
  // Omits the tokens that Encode adds with add_special: one token at either end.
  bool remove_added = false;
  // Omits all control tokens.
  bool skip_control = false;
};

// Longer texts are refused.
inline constexpr size_t kMaxTextBytes = size_t{1} << 28;

// Any number of threads may use one at the same time.
class Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> Make(Vocab vocab);

  // Any bytes are a text. Byte-level and SentencePiece vocabularies with all bytes are reversible,
  // except that SentencePiece cannot distinguish U+2581 from a space; bytes that a vocabulary lacks
  // become its unknown token or are omitted.
  Result<std::vector<TokenId>> Encode(std::string_view text, const EncodeOptions& options) const;

  // The bytes of all tokens. Control tokens are spelled out.
  Result<std::string> Decode(std::span<const TokenId> ids, const DecodeOptions& options) const;

  // The bytes of one token, which need not be whole characters, with SentencePiece's leading space.
  // Valid as long as the tokenizer.
  Result<std::string_view> TokenBytes(TokenId id) const;

  // Bytes that encoding loses.
  const std::bitset<256>& missing_bytes() const { return encoder_->model().missing_bytes(); }

  // Without its merges, which the encoder has moved.
  const Vocab& vocab() const { return vocab_; }

 private:
  friend class StreamDecoder;
  class ScratchLease;

  explicit Tokenizer(Vocab vocab);

  void AppendEncoded(std::string_view text, bool parse_special, EncodeScratch& scratch,
                     std::vector<TokenId>& ids) const;
  // The output of decoders for a token; after_special says whether it is the first after a special
  // token or at a text's beginning, and is updated.
  std::string_view DecodedBytes(TokenId id, bool skip_control, bool& after_special) const;
  Status CheckId(TokenId id) const;

  // Constant after construction.
  Vocab vocab_;
  std::unique_ptr<TextEncoder> encoder_;
  SpecialMatcher all_special_;
  SpecialMatcher user_defined_;
  StringPool token_bytes_;  // [tokens]

  mutable Mutex mu_;
  mutable std::vector<std::unique_ptr<EncodeScratch>> idle_ GUARDED_BY(mu_);
};

// Turns tokens into text one by one, as a model generates them. Never writes part of a character,
// and never holds a whole one back; bytes that cannot become a character are written unchanged. The
// whole output equals Decode's. Not for concurrent use.
class StreamDecoder {
 public:
  struct Options {
    bool skip_control = false;
    // Whether the first token begins a text: then SentencePiece's space there is dropped.
    bool begins_text = true;
  };

  // The tokenizer must outlive the decoder.
  StreamDecoder(const Tokenizer& tokenizer, Options options)
      : tokenizer_(tokenizer), options_(options), after_special_(options.begins_text) {}

  // Appends what can be shown now.
  Status Push(TokenId id, std::string& out);
  // Appends the bytes of an incomplete character.
  void Finish(std::string& out);

 private:
  const Tokenizer& tokenizer_;
  const Options options_;
  bool after_special_;
  std::string pending_;  // at most three bytes, which may become a character
};

}  // namespace aster::text
