// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/synth_vocab.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace aster::model {

const char kSynthChatTemplate[] =
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% "
    "endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}";

namespace {

constexpr int32_t kNormalType = 1;
constexpr int32_t kControlType = 3;

// Byte-level vocabularies write each byte as a printable character: itself if it is one, otherwise
// the next free one from U+0100 on.
std::vector<std::string> ByteNames() {
  std::vector<std::string> names;
  uint32_t next_free = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
    AppendUtf8(names.emplace_back(), printable ? byte : next_free++);
  }
  return names;
}

// Adds words to a vocabulary until it is full.
class Builder {
 public:
  Builder(SynthVocab& vocab, size_t size) : vocab_(vocab), size_(size) {}

  bool full() const { return vocab_.tokens.size() >= size_; }

  void AddToken(std::string token, int32_t type) {
    vocab_.tokens.push_back(std::move(token));
    vocab_.types.push_back(type);
  }

  // Every `left` followed by every `right`, while there is room.
  std::vector<std::string> AddWords(const std::vector<std::string>& lefts,
                                    const std::vector<std::string>& rights) {
    std::vector<std::string> words;
    for (const std::string& left : lefts) {
      for (const std::string& right : rights) {
        if (full()) return words;
        words.push_back(left + right);
        vocab_.merges.push_back(fmt::format("{} {}", left, right));
        AddToken(words.back(), kNormalType);
      }
    }
    return words;
  }

 private:
  SynthVocab& vocab_;
  const size_t size_;
};

}  // namespace

Result<SynthVocab> MakeSynthVocab(uint32_t size) {
  if (size < kMinSynthVocab || size > kMaxSynthVocab) {
    return InvalidArgument(
        fmt::format("a vocabulary of {} tokens cannot be made; between {} and {} can", size,
                    kMinSynthVocab, kMaxSynthVocab));
  }
  SynthVocab vocab;
  Builder builder(vocab, size - 2);
  const std::vector<std::string> bytes = ByteNames();
  for (const std::string& name : bytes) builder.AddToken(name, kNormalType);

  std::vector<std::string> letters;
  for (const char letter : std::string_view("etaoinshrdlcumwfgypbvkjxqz"))
    letters.emplace_back(1, letter);
  const auto endings = builder.AddWords(letters, letters);
  const auto beginnings = builder.AddWords({bytes[' ']}, letters);
  builder.AddWords(beginnings, letters);
  builder.AddWords(beginnings, endings);
  builder.AddWords(endings, letters);
  builder.AddWords(endings, endings);
  if (!builder.full()) return InvalidArgument(fmt::format("no words left for {} tokens", size));

  vocab.start_id = size - 2;
  vocab.end_id = size - 1;
  builder.AddToken("<|start|>", kControlType);
  builder.AddToken("<|end|>", kControlType);
  return vocab;
}

}  // namespace aster::model
