// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A span in one member's own tokens, whichever member wrote it. Must not know how it is rated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ensemble/member.h"
#include "ensemble/question.h"
#include "ensemble/span.h"
#include "text/tokenizer.h"

namespace aster::ensemble {

// The agreed text, in the member's tokens.
struct AgreedText {
  const std::string& text;
  const std::vector<int32_t>& tokens;
};

struct SpanTokens {
  // They follow the first `base` tokens of the member: if its tokens of both texts merge, some of
  // the old ones are replaced.
  size_t base = 0;
  std::vector<int32_t> tokens = {};
};

Result<SpanTokens> TokensOfSpan(const Member& member, const PreparedQuestion& question,
                                const AgreedText& agreed, const Span& span);

// Empty if a model has more tokens than its vocabulary has texts.
std::string_view BytesOf(const text::Tokenizer& tokenizer, int32_t token);
size_t ByteCount(const text::Tokenizer& tokenizer, std::span<const int32_t> tokens);

}  // namespace aster::ensemble
