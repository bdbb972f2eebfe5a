// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cstdint>

#include "text/tokenizer.h"

namespace aster::text {
namespace {

struct ByteRange {
  uint8_t first;
  uint8_t last;
};

// Bytes of the character that such a first byte begins; 1 where it begins none.
size_t CharacterBytes(uint8_t lead) {
  if (lead < 0xC2 || lead > 0xF4) return 1;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// What may follow the first byte: less than any continuation byte where the character would
// otherwise be overlong, a surrogate or beyond Unicode.
ByteRange SecondByteRange(uint8_t lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

bool IsBeginningOfCharacter(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (text.size() >= CharacterBytes(byte(0))) return false;
  if (text.size() < 2) return true;
  const ByteRange second = SecondByteRange(byte(0));
  if (byte(1) < second.first || byte(1) > second.last) return false;
  return text.size() < 3 || (byte(2) & 0xC0) == 0x80;
}

}  // namespace

size_t IncompleteSuffixBytes(std::string_view text) {
  for (size_t size = std::min<size_t>(3, text.size()); size > 0; --size) {
    if (IsBeginningOfCharacter(text.substr(text.size() - size))) return size;
  }
  return 0;
}

Status StreamDecoder::Push(TokenId id, std::string& out) {
  TRY(tokenizer_.CheckId(id));
  pending_ += tokenizer_.DecodedBytes(id, options_.skip_control, after_special_);
  const size_t ready = pending_.size() - IncompleteSuffixBytes(pending_);
  out.append(pending_, 0, ready);
  pending_.erase(0, ready);
  return Ok();
}

void StreamDecoder::Finish(std::string& out) {
  out += pending_;
  pending_.clear();
  after_special_ = options_.begins_text;
}

}  // namespace aster::text
