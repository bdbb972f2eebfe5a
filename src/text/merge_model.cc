// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/merge_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "text/byte_letters.h"
#include "text/unicode.h"

namespace aster::text {
namespace {

// Other tokens are recognised in a text, or are bytes; merges never make them.
bool CanBeMerged(TokenType type) { return !IsMatchedInText(type) && type != TokenType::kByte; }

// The halves of "left right". The first character may be a space.
std::optional<std::pair<std::string_view, std::string_view>> HalvesOf(std::string_view merge) {
  const size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos) return std::nullopt;
  return std::pair(merge.substr(0, space), merge.substr(space + 1));
}

// UTF-8 never has these bytes, so a vocabulary need not have them.
bool IsNeverInUtf8(unsigned byte) { return byte == 0xC0 || byte == 0xC1 || byte >= 0xF5; }

}  // namespace

int ByteOfToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return -1;
  uint8_t byte = 0;
  const char* end = text.data() + 5;
  const auto [parsed, error] = std::from_chars(text.data() + 3, end, byte, 16);
  return error == std::errc() && parsed == end ? byte : -1;
}

MergeModel::MergeModel(const Vocab& vocab) {
  AddTokens(vocab);
  switch (vocab.kind) {
    case VocabKind::kByteLevelBpe:
      AddBytePairs(vocab);
      break;
    case VocabKind::kSentencePieceBpe:
      AddCharacterPairs(vocab);
      break;
    case VocabKind::kSentencePiece:
      AddScoredPairs(vocab);
      break;
  }
  CHECK(symbols_.size() < kFirstByteSymbol);
  token_of_symbol_.resize(symbols_.size(), kNoToken);
  FindByteTokens(vocab);
}

void MergeModel::AddTokens(const Vocab& vocab) {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string& text = vocab.tokens[static_cast<size_t>(id)];
    if (text.empty() || !CanBeMerged(vocab.types[static_cast<size_t>(id)])) continue;
    const bool is_letters = vocab.kind == VocabKind::kByteLevelBpe;
    const std::optional<std::string> bytes = is_letters ? BytesOfLetters(text) : text;
    // A token that is not spelled in letters cannot result from merges of bytes.
    if (!bytes) continue;
    const Symbol symbol = symbols_.Intern(*bytes);
    token_of_symbol_.resize(symbols_.size(), kNoToken);
    if (token_of_symbol_[symbol] == kNoToken) token_of_symbol_[symbol] = id;
  }
}

void MergeModel::AddMerge(std::string_view left, std::string_view right, uint32_t rank) {
  if (left.empty() || right.empty()) return;
  const Symbol result = symbols_.Intern(std::string(left).append(right));
  merges_.Add(symbols_.Intern(left), symbols_.Intern(right), {rank, result});
}

void MergeModel::AddBytePairs(const Vocab& vocab) {
  for (uint32_t rank = 0; rank < vocab.merges.size(); ++rank) {
    const auto halves = HalvesOf(vocab.merges[rank]);
    if (!halves) continue;
    const std::optional<std::string> left = BytesOfLetters(halves->first);
    const std::optional<std::string> right = BytesOfLetters(halves->second);
    if (left && right) AddMerge(*left, *right, rank);
  }
}

void MergeModel::AddCharacterPairs(const Vocab& vocab) {
  for (uint32_t rank = 0; rank < vocab.merges.size(); ++rank) {
    const auto halves = HalvesOf(vocab.merges[rank]);
    if (halves) AddMerge(halves->first, halves->second, rank);
  }
}

void MergeModel::AddScoredPairs(const Vocab& vocab) {
  std::vector<float> scores = vocab.scores;
  std::ranges::sort(scores, std::greater());
  const auto repeated = std::ranges::unique(scores);
  scores.erase(repeated.begin(), repeated.end());
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const auto index = static_cast<size_t>(id);
    if (!CanBeMerged(vocab.types[index])) continue;
    const auto rank = std::ranges::lower_bound(scores, vocab.scores[index], std::greater());
    AddScoredPairsOf(vocab.tokens[index], static_cast<uint32_t>(rank - scores.begin()));
  }
}

// Two neighbours merge if their texts together are a token, however they were made. So all ways to
// cut the token in two count, if both parts are tokens or single characters.
void MergeModel::AddScoredPairsOf(std::string_view text, uint32_t rank) {
  const auto symbol_of = [this](std::string_view part) {
    const size_t first_bytes = FirstCharacter(part).size_bytes;
    return first_bytes == part.size() ? symbols_.Intern(part) : symbols_.Find(part);
  };
  const Symbol result = symbols_.Find(text);
  for (size_t cut = 0; cut < text.size();) {
    cut += FirstCharacter(text.substr(cut)).size_bytes;
    if (cut == text.size()) return;
    const Symbol left = symbol_of(text.substr(0, cut));
    if (left == kNoSymbol) continue;
    const Symbol right = symbol_of(text.substr(cut));
    if (right != kNoSymbol) merges_.Add(left, right, {rank, result});
  }
}

TokenId MergeModel::TokenOf(std::string_view text) const {
  const Symbol symbol = symbols_.Find(text);
  return symbol == kNoSymbol ? kNoToken : token_of_symbol_[symbol];
}

// The tokens of single bytes: by letters, by tokens like <0x0A>, or the unknown token.
void MergeModel::FindByteTokens(const Vocab& vocab) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto character = static_cast<char>(byte);
    const Symbol symbol = symbols_.Find({&character, 1});
    symbol_of_byte_[byte] = symbol == kNoSymbol ? UnmergeableByte(byte) : symbol;
    const TokenId token = symbol == kNoSymbol ? kNoToken : token_of_symbol_[symbol];
    if (token != kNoToken) tokens_of_byte_[byte] = {token};
  }
  if (vocab.kind != VocabKind::kByteLevelBpe) {
    for (TokenId id = 0; id < vocab.size(); ++id) {
      const int byte = ByteOfToken(vocab.tokens[static_cast<size_t>(id)]);
      if (byte >= 0) tokens_of_byte_[static_cast<size_t>(byte)] = {id};
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) missing_bytes_[byte] = tokens_of_byte_[byte].empty();
  const bool has_unknown = vocab.kind == VocabKind::kSentencePiece && vocab.special.unk != kNoToken;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (missing_bytes_[byte] && has_unknown) tokens_of_byte_[byte] = {vocab.special.unk};
  }
  FindReplacements();
}

// Bytes that cannot be UTF-8, and that the vocabulary lacks, become U+FFFD, as in other programs.
void MergeModel::FindReplacements() {
  std::string replacement;
  AppendUtf8(replacement, kReplacementCharacter);
  std::vector<Symbol> symbols;
  for (const char byte : replacement) symbols.push_back(SymbolOfByte(static_cast<uint8_t>(byte)));
  std::vector<TokenId> ids;
  MergeWorkspace workspace;
  Encode(workspace, symbols, ids);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (IsNeverInUtf8(byte) && tokens_of_byte_[byte].empty()) tokens_of_byte_[byte] = ids;
  }
}

void MergeModel::AppendBytes(std::string_view text, std::vector<TokenId>& ids) const {
  for (const char byte : text) {
    const std::vector<TokenId>& tokens = tokens_of_byte_[static_cast<uint8_t>(byte)];
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }
}

void MergeModel::Encode(MergeWorkspace& workspace, std::vector<Symbol>& symbols,
                        std::vector<TokenId>& ids) const {
  workspace.MergeAll(merges_, symbols);
  for (const Symbol symbol : symbols) {
    if (symbol >= kFirstByteSymbol) {
      const auto byte = static_cast<char>(symbol - kFirstByteSymbol);
      AppendBytes({&byte, 1}, ids);
    } else if (token_of_symbol_[symbol] != kNoToken) {
      ids.push_back(token_of_symbol_[symbol]);
    } else {
      AppendBytes(symbols_[symbol], ids);
    }
  }
}

}  // namespace aster::text
