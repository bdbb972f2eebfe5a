// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/span.h"

namespace aster::ensemble {
namespace {

// From this length on, a span ends before the next word.
constexpr size_t kLongSpanTokens = 24;

bool EndsSentence(std::string_view text) {
  return text.ends_with('.') || text.ends_with('!') || text.ends_with('?');
}

}  // namespace

bool EndsWithinCharacter(std::string_view bytes) {
  for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<uint8_t>(bytes[bytes.size() - back]);
    if (byte < 0x80) return false;
    if (byte < 0xC0) continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return back < length;
  }
  return false;
}

bool SpanCutter::Push(std::string_view bytes) {
  // The token before ended a sentence, or a long span.
  const bool may_end = EndsSentence(text_) || count_ >= kLongSpanTokens;
  if (may_end && partial_.empty() && bytes.starts_with(' ')) return true;
  ++count_;
  partial_ += bytes;
  if (!EndsWithinCharacter(partial_)) {
    text_ += partial_;
    partial_.clear();
    tokens_ = count_;
    if (text_.ends_with('\n')) return true;
  }
  return count_ >= kMostSpanTokens && tokens_ > 0;
}

}  // namespace aster::ensemble
