// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/byte_letters.h"

namespace aster::text {
namespace {

// Keeps the scratch memory of this number of threads for later calls; two megabytes each.
constexpr size_t kMaxIdleScratch = 16;

// The text of a token.
std::string BytesOf(const Vocab& vocab, size_t id) {
  const std::string& text = vocab.tokens[id];
  const TokenType type = vocab.types[id];
  if (IsMatchedInText(type)) return text;
  if (type == TokenType::kByte || vocab.kind != VocabKind::kByteLevelBpe) {
    const int byte = ByteOfToken(text);
    if (byte >= 0) return std::string(1, static_cast<char>(byte));
  }
  if (vocab.kind == VocabKind::kByteLevelBpe) return BytesOfLetters(text).value_or(text);
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const bool is_space = text.compare(at, kSpaceLetter.size(), kSpaceLetter) == 0;
    bytes += is_space ? ' ' : text[at];
    at += is_space ? kSpaceLetter.size() : 1;
  }
  return bytes;
}

bool IsSpaceByte(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view StripLeft(std::string_view text) {
  while (!text.empty() && IsSpaceByte(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view StripRight(std::string_view text) {
  while (!text.empty() && IsSpaceByte(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

// One of the tokenizer's idle scratch memories, or a new one, for the length of a scope.
class Tokenizer::ScratchLease {
 public:
  explicit ScratchLease(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    MutexLock lock(tokenizer_.mu_);
    if (tokenizer_.idle_.empty()) return;
    scratch_ = std::move(tokenizer_.idle_.back());
    tokenizer_.idle_.pop_back();
  }
  ~ScratchLease() {
    if (scratch_ == nullptr) return;
    scratch_->Trim();
    MutexLock lock(tokenizer_.mu_);
    if (tokenizer_.idle_.size() < kMaxIdleScratch) tokenizer_.idle_.push_back(std::move(scratch_));
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;

  EncodeScratch& operator*() {
    if (scratch_ == nullptr) scratch_ = std::make_unique<EncodeScratch>();
    return *scratch_;
  }

 private:
  const Tokenizer& tokenizer_;
  std::unique_ptr<EncodeScratch> scratch_;
};

Result<std::unique_ptr<Tokenizer>> Tokenizer::Make(Vocab vocab) {
  TRY(Validate(vocab));
  return std::unique_ptr<Tokenizer>(
      new Tokenizer(std::move(vocab)));  // tidy: allow(ownership) the constructor is private
}

Tokenizer::Tokenizer(Vocab vocab) : vocab_(std::move(vocab)) {
  encoder_ = TextEncoder::Make(vocab_);
  std::vector<std::string>().swap(vocab_.merges);
  for (TokenId id = 0; id < vocab_.size(); ++id) {
    const auto index = static_cast<size_t>(id);
    token_bytes_.Add(BytesOf(vocab_, index));
    const std::string& text = vocab_.tokens[index];
    const TokenType type = vocab_.types[index];
    if (text.empty() || !IsMatchedInText(type)) continue;
    all_special_.Add(text, id);
    if (type == TokenType::kUserDefined) user_defined_.Add(text, id);
  }
}

Status Tokenizer::CheckId(TokenId id) const {
  if (vocab_.Contains(id)) return Ok();
  return OutOfRange(fmt::format("there is no token {}; the vocabulary has {}", id, vocab_.size()));
}

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument(fmt::format("a text of {} bytes is too long to encode; at most {} are",
                                       text.size(), kMaxTextBytes));
  }
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 2);
  if (options.add_special && vocab_.add_bos) ids.push_back(vocab_.special.bos);
  if (!text.empty()) {
    ScratchLease scratch(*this);
    AppendEncoded(text, options.parse_special, *scratch, ids);
  }
  if (options.add_special && vocab_.add_eos) ids.push_back(vocab_.special.eos);
  return ids;
}

void Tokenizer::AppendEncoded(std::string_view text, bool parse_special, EncodeScratch& scratch,
                              std::vector<TokenId>& ids) const {
  const SpecialMatcher& matcher = parse_special ? all_special_ : user_defined_;
  const auto append = [&](std::string_view fragment) {
    encoder_->Encode(fragment, vocab_.add_space_prefix, scratch, ids);
  };
  while (const auto match = matcher.FindMtp(text, 0)) {
    const bool strips_left = std::ranges::binary_search(vocab_.strips_left, match->id);
    const std::string_view before = text.substr(0, match->begin);
    append(strips_left ? StripRight(before) : before);
    ids.push_back(match->id);
    text.remove_prefix(match->end);
    if (std::ranges::binary_search(vocab_.strips_right, match->id)) text = StripLeft(text);
  }
  append(text);
}

Result<std::string_view> Tokenizer::TokenBytes(TokenId id) const {
  TRY(CheckId(id));
  return token_bytes_[static_cast<uint32_t>(id)];
}

std::string_view Tokenizer::DecodedBytes(TokenId id, bool skip_control, bool& after_special) const {
  const TokenType type = vocab_.types[static_cast<size_t>(id)];
  std::string_view bytes = token_bytes_[static_cast<uint32_t>(id)];
  if (IsMatchedInText(type)) {
    after_special = true;
    return skip_control && type == TokenType::kControl ? std::string_view() : bytes;
  }
  const bool has_added_space = after_special && vocab_.add_space_prefix && bytes.starts_with(' ');
  if (has_added_space) bytes.remove_prefix(1);
  after_special = false;
  return bytes;
}

Result<std::string> Tokenizer::Decode(std::span<const TokenId> ids,
                                      const DecodeOptions& options) const {
  for (const TokenId id : ids) TRY(CheckId(id));
  if (options.remove_added && vocab_.add_bos && !ids.empty() && ids.front() == vocab_.special.bos) {
    ids = ids.subspan(1);
  }
  if (options.remove_added && vocab_.add_eos && !ids.empty() && ids.back() == vocab_.special.eos) {
    ids = ids.first(ids.size() - 1);
  }
  std::string text;
  bool after_special = true;
  for (const TokenId id : ids) text += DecodedBytes(id, options.skip_control, after_special);
  return text;
}

}  // namespace aster::text
