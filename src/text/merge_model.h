// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A vocabulary prepared for merging: its symbols, their merges and their final tokens. The three
// kinds of vocabulary differ in how it is filled and in the initial symbols of a text; the rest is
// the same. Must not know how texts are cut into pieces.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/merges.h"
#include "text/symbol_table.h"
#include "text/vocab.h"

namespace aster::text {

// SentencePiece writes spaces as U+2581.
inline constexpr std::string_view kSpaceLetter = "\xE2\x96\x81";

// The byte of a token like <0x0A>, or -1.
int ByteOfToken(std::string_view text);

// Constant after construction, so any number of threads may use it.
class MergeModel {
 public:
  // The vocabulary has passed Validate.
  explicit MergeModel(const Vocab& vocab);

  // The initial symbol of a byte, or of a character given as its bytes.
  Symbol SymbolOfByte(uint8_t byte) const { return symbol_of_byte_[byte]; }
  Symbol SymbolOf(std::string_view text) const { return symbols_.Find(text); }
  // The symbol of a byte of a character that has no symbol. It merges with nothing.
  static Symbol UnmergeableByte(uint8_t byte) { return kFirstByteSymbol + byte; }

  // The token that is exactly this text, or kNoToken.
  TokenId TokenOf(std::string_view text) const;

  // Merges the symbols of a piece of text as far as possible and appends their tokens.
  void Encode(MergeWorkspace& workspace, std::vector<Symbol>& symbols,
              std::vector<TokenId>& ids) const;

  const SymbolTable& symbols() const { return symbols_; }
  // Bytes for which there are no tokens.
  const std::bitset<256>& missing_bytes() const { return missing_bytes_; }

 private:
  static constexpr Symbol kFirstByteSymbol = kNoSymbol - 256;

  void AddBytePairs(const Vocab& vocab);
  void AddCharacterPairs(const Vocab& vocab);
  void AddScoredPairs(const Vocab& vocab);
  void AddMerge(std::string_view left, std::string_view right, uint32_t rank);
  void AddTokens(const Vocab& vocab);
  void AddScoredPairsOf(std::string_view text, uint32_t rank);
  void FindByteTokens(const Vocab& vocab);
  void FindReplacements();
  void AppendBytes(std::string_view text, std::vector<TokenId>& ids) const;

  SymbolTable symbols_;
  MergeTable merges_;
  std::vector<TokenId> token_of_symbol_;  // [symbols], kNoToken if a symbol is only a step
  std::array<Symbol, 256> symbol_of_byte_;
  // Tokens of a byte that was not merged: one token, its replacement, or nothing.
  std::array<std::vector<TokenId>, 256> tokens_of_byte_;
  std::bitset<256> missing_bytes_;
};

}  // namespace aster::text
