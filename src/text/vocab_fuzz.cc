// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Malformed vocabularies: those that are not refused must encode and decode.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "text/tokenizer.h"

namespace aster::text {
namespace {

// Reads numbers and words from the input, while there is any.
class Input {
 public:
  explicit Input(Bytes bytes) : bytes_(bytes) {}

  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::string Word() {
    const size_t size = std::min<size_t>(Byte() % 16, bytes_.size());
    const std::string word(AsText(bytes_.first(size)));
    bytes_ = bytes_.subspan(size);
    return word;
  }
  bool empty() const { return bytes_.empty(); }
  std::string_view Rest() const { return AsText(bytes_); }

 private:
  Bytes bytes_;
};

Vocab ReadVocabulary(Input& input) {
  constexpr std::string_view kPretokenizers[] = {"gpt-2", "llama-bpe", "deepseek-v3", "unheard-of"};
  Vocab vocab;
  vocab.kind = static_cast<VocabKind>(input.Byte() % 3);
  vocab.pretokenizer = kPretokenizers[input.Byte() % std::size(kPretokenizers)];
  for (size_t left = input.Byte(); left > 0 && !input.empty(); --left) {
    vocab.tokens.push_back(input.Word());
    vocab.types.push_back(static_cast<TokenType>(input.Byte() % 7));
    vocab.scores.push_back(static_cast<float>(input.Byte() % 8));
  }
  for (size_t left = input.Byte(); left > 0 && !input.empty(); --left) {
    vocab.merges.push_back(input.Word());
  }
  vocab.special.bos = static_cast<TokenId>(input.Byte()) - 1;
  vocab.special.eos = static_cast<TokenId>(input.Byte()) - 1;
  vocab.special.unk = static_cast<TokenId>(input.Byte()) - 1;
  const uint8_t flags = input.Byte();
  vocab.add_bos = (flags & 1) != 0;
  vocab.add_eos = (flags & 2) != 0;
  vocab.add_space_prefix = (flags & 4) != 0;
  if ((flags & 8) != 0) AssignRoles(vocab);
  return vocab;
}

}  // namespace
}  // namespace aster::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster::text;  // tidy: allow(using-namespace) short names here only
  Input input({data, size});
  auto tokenizer = Tokenizer::Make(ReadVocabulary(input));
  if (!tokenizer.ok()) return 0;
  for (const bool special : {false, true}) {
    const auto ids =
        (*tokenizer)->Encode(input.Rest(), {.add_special = special, .parse_special = special});
    CHECK(ids.ok());
    const auto decoded = (*tokenizer)->Decode(*ids, {.remove_added = special});
    CHECK(decoded.ok());
    StreamDecoder decoder(**tokenizer, {});
    std::string streamed;
    for (const TokenId id : *ids) CHECK(decoder.Push(id, streamed).ok());
    decoder.Finish(streamed);
    CHECK(special || streamed == *decoded);
  }
  return 0;
}
