// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/vocab.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/bytes.h"
#include "text/pretokenizer.h"

namespace aster::text {
namespace {

Status CheckTokens(const Vocab& vocab) {
  if (vocab.tokens.empty()) return InvalidArgument("the vocabulary has no tokens");
  if (vocab.tokens.size() > kMaxTokens) {
    return InvalidArgument(fmt::format("the vocabulary has {} tokens; at most {} are supported",
                                       vocab.tokens.size(), kMaxTokens));
  }
  if (vocab.types.size() != vocab.tokens.size()) {
    return InvalidArgument(
        fmt::format("{} tokens but {} token types", vocab.tokens.size(), vocab.types.size()));
  }
  std::unordered_map<std::string_view, TokenId> seen;
  seen.reserve(vocab.tokens.size());
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const auto index = static_cast<size_t>(id);
    const std::string& text = vocab.tokens[index];
    const bool is_matched = IsMatchedInText(vocab.types[index]);
    const size_t limit = is_matched ? kMaxSpecialTokenBytes : kMaxTokenBytes;
    if (text.size() > limit) {
      return InvalidArgument(fmt::format("token {} is {} bytes long; at most {} are supported", id,
                                         text.size(), limit));
    }
    if (text.empty()) continue;
    const auto [first, is_new] = seen.emplace(text, id);
    if (is_new) continue;
    // Of equal normal tokens, the first one is used.
    const TokenType of_first = vocab.types[static_cast<size_t>(first->second)];
    if (of_first == TokenType::kNormal && vocab.types[index] == TokenType::kNormal) continue;
    return InvalidArgument(fmt::format(
        "tokens {} and {} are the same, so that encoding is ambiguous", first->second, id));
  }
  return Ok();
}

Status CheckScores(const Vocab& vocab) {
  if (vocab.scores.size() != vocab.tokens.size()) {
    return InvalidArgument(
        fmt::format("{} tokens but {} scores", vocab.tokens.size(), vocab.scores.size()));
  }
  const auto bad = std::ranges::find_if(vocab.scores, [](float s) { return std::isnan(s); });
  if (bad == vocab.scores.end()) return Ok();
  return InvalidArgument(
      fmt::format("the score of token {} is not a number", bad - vocab.scores.begin()));
}

Status CheckSpecialTokens(const Vocab& vocab) {
  const SpecialTokens& special = vocab.special;
  const std::pair<std::string_view, TokenId> roles[] = {
      {"beginning of text", special.bos}, {"end of text", special.eos},
      {"end of turn", special.eot},       {"end of message", special.eom},
      {"unknown", special.unk},           {"separator", special.sep},
      {"padding", special.pad},           {"mask", special.mask},
      {"prefix", special.fim_prefix},     {"suffix", special.fim_suffix},
      {"middle", special.fim_middle},     {"middle padding", special.fim_pad},
      {"repository", special.fim_repo},   {"file", special.fim_file},
  };
  for (const auto& [role, id] : roles) {
    if (id == kNoToken || vocab.Contains(id)) continue;
    return OutOfRange(
        fmt::format("the {} token is {}, but there are only {} tokens", role, id, vocab.size()));
  }
  if (vocab.add_bos && special.bos == kNoToken) {
    return InvalidArgument("texts are to begin with a beginning-of-text token, but none is named");
  }
  if (vocab.add_eos && special.eos == kNoToken) {
    return InvalidArgument("texts are to end with an end-of-text token, but none is named");
  }
  return Ok();
}

}  // namespace

bool Vocab::IsEndOfGeneration(TokenId id) const {
  return std::ranges::binary_search(end_of_generation, id);
}

TokenId Vocab::Find(std::string_view text) const {
  const auto found = std::ranges::find(tokens, text);
  return found == tokens.end() ? kNoToken : static_cast<TokenId>(found - tokens.begin());
}

Status Validate(const Vocab& vocab) {
  TRY(CheckTokens(vocab));
  TRY(CheckSpecialTokens(vocab));
  if (vocab.kind == VocabKind::kSentencePiece) return CheckScores(vocab);
  if (vocab.merges.size() > UINT32_MAX / 2) {
    return InvalidArgument(
        fmt::format("{} merges are more than is supported", vocab.merges.size()));
  }
  if (vocab.kind == VocabKind::kByteLevelBpe && FindPretokenizer(vocab.pretokenizer) == nullptr) {
    return Unimplemented(fmt::format("the pre-tokenizer \"{}\" is not known here; known are: {}",
                                     vocab.pretokenizer, PretokenizerNames()));
  }
  return Ok();
}

}  // namespace aster::text
