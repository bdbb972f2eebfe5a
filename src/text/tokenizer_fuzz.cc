// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes, encoded with small vocabularies of every kind, come back when decoded; decoding any
// tokens in a stream gives the same as at once.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "text/small_vocab_for_test.h"
#include "text/tokenizer.h"

namespace aster::text {
namespace {

std::vector<std::unique_ptr<Tokenizer>> MakeTokenizers() {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  const auto add = [&tokenizers](Vocab vocab) {
    vocab.add_bos = vocab.special.bos != kNoToken;
    vocab.add_eos = vocab.special.eos != kNoToken;
    auto tokenizer = Tokenizer::Make(std::move(vocab));
    CHECK(tokenizer.ok());
    tokenizers.push_back(*std::move(tokenizer));
  };
  for (const std::string_view pretokenizer :
       {"gpt-2", "llama-bpe", "qwen35", "deepseek-llm", "deepseek-coder", "joyai-llm", "falcon",
        "tekken", "gpt-4o", "kimi-k2", "jais-2", "exaone-moe", "youtu", "tiny_aya", "superbpe",
        "chameleon", "viking"}) {
    add(MakeByteLevelVocab(pretokenizer));
  }
  add(MakeSentencePieceVocab());
  add(MakeSentencePieceBpeVocab());
  return tokenizers;
}

std::string Streamed(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  StreamDecoder decoder(tokenizer, {});
  std::string text;
  for (const TokenId id : ids) CHECK(decoder.Push(id, text).ok());
  decoder.Finish(text);
  return text;
}

void CheckRoundTrip(const Tokenizer& tokenizer, std::string_view text,
                    const EncodeOptions& options) {
  const auto ids = tokenizer.Encode(text, options);
  CHECK(ids.ok());
  const auto decoded = tokenizer.Decode(*ids, {.remove_added = options.add_special});
  CHECK(decoded.ok());
  // SentencePiece cannot distinguish its letter for a space from a space.
  const bool is_ambiguous = tokenizer.vocab().kind != VocabKind::kByteLevelBpe &&
                            text.find(kSpaceLetter) != std::string_view::npos;
  CHECK(is_ambiguous || *decoded == text);
}

void CheckStream(const Tokenizer& tokenizer, Bytes bytes) {
  std::vector<TokenId> ids;
  for (const uint8_t byte : bytes) ids.push_back((byte * 3) % tokenizer.vocab().size());
  const auto decoded = tokenizer.Decode(ids, {});
  CHECK(decoded.ok() && Streamed(tokenizer, ids) == *decoded);
}

}  // namespace
}  // namespace aster::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster::text;  // tidy: allow(using-namespace) short names here only
  static const std::vector<std::unique_ptr<Tokenizer>> tokenizers = MakeTokenizers();
  if (size < 2) return 0;
  const Tokenizer& tokenizer = *tokenizers[data[0] % tokenizers.size()];
  const EncodeOptions options = {.add_special = (data[1] & 1) != 0,
                                 .parse_special = (data[1] & 2) != 0};
  const aster::Bytes input(data + 2, size - 2);
  CheckRoundTrip(tokenizer, aster::AsText(input), options);
  CheckStream(tokenizer, input);
  return 0;
}
