// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The tokenizer: from text to a model's tokens and back. Knows nothing of conversations (chat/) nor
// of files (vocab_reader.h).
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
  // Put the tokens that begin and end a text around it, where the model wants them.
  bool add_special = false;
  // Recognise control tokens in the text. Not for what users write: they could end their turn.
  // User-defined tokens are always recognised.
  bool parse_special = false;
};

struct DecodeOptions {
  // Leave out what Encode added with add_special: one token at either end.
  bool remove_added = false;
  // Leave out all control tokens.
  bool skip_control = false;
};

// Longer texts are refused.
inline constexpr size_t kMaxTextBytes = size_t{1} << 28;

// Any number of threads may use one at the same time.
class Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> Make(Vocab vocab);

  // Any bytes are a text. Byte-level and SentencePiece vocabularies that have all bytes give back
  // what was encoded, except that SentencePiece cannot tell U+2581 from a space; bytes that a
  // vocabulary lacks become its unknown token or are left out.
  Result<std::vector<TokenId>> Encode(std::string_view text, const EncodeOptions& options) const;

  // The bytes of the tokens together. Control tokens are spelled out.
  Result<std::string> Decode(std::span<const TokenId> ids, const DecodeOptions& options) const;

  // The bytes of one token, which need not be whole characters. With a leading space where
  // SentencePiece has one. Lives as long as the tokenizer.
  Result<std::string_view> TokenBytes(TokenId id) const;

  // Bytes that are lost in encoding.
  const std::bitset<256>& missing_bytes() const { return encoder_->model().missing_bytes(); }

  // Without its merges, which the encoder has taken.
  const Vocab& vocab() const { return vocab_; }

 private:
  friend class StreamDecoder;
  class ScratchLease;

  explicit Tokenizer(Vocab vocab);

  void AppendEncoded(std::string_view text, bool parse_special, EncodeScratch& scratch,
                     std::vector<TokenId>& ids) const;
  // What a decoder writes for a token; after_special says whether it is the first behind a special
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

// Turns tokens into text one by one, as a model produces them. Never writes half a character, and
// never keeps a whole one back; bytes that cannot become a character are written as they are. What
// it writes is, together, what Decode would give. Not for concurrent use.
class StreamDecoder {
 public:
  struct Options {
    bool skip_control = false;
    // Whether the first token begins a text, so that the space which SentencePiece puts there is to
    // be dropped.
    bool begins_text = true;
  };

  // The tokenizer must outlive the decoder.
  StreamDecoder(const Tokenizer& tokenizer, Options options)
      : tokenizer_(tokenizer), options_(options), after_special_(options.begins_text) {}

  // Appends what can be shown now.
  Status Push(TokenId id, std::string& out);
  // Appends the bytes of a character that never became whole.
  void Finish(std::string& out);

 private:
  const Tokenizer& tokenizer_;
  const Options options_;
  bool after_special_;
  std::string pending_;  // at most three bytes, which may become a character
};

}  // namespace aster::text
