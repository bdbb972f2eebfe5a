// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small vocabularies of every kind, learnt from a few sentences in the usual way: the most frequent
// pair of neighbours becomes a token, repeatedly. Only for tests and fuzzers.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_letters.h"
#include "text/unicode.h"
#include "text/vocab.h"

namespace aster::text {

inline constexpr std::string_view kTrainingText =
    "the quick brown fox jumps over the lazy dog and the other foxes  who   are     there then "
    "don't can't we're they'll aaaaaaaaaaaaaaaa abababab 1234567890 12 34 1234 12345 11111111 "
    "naïve café éééé über größer нещо на Български нещо 日本語 日本 語 我想在 我想 🦙🦙 🦙 ... !!! "
    "\n\n\n if (x == y) { return z; } // of the of the in the is in this is that of their ";

// The symbols of one word; merging reduces their number.
using SymbolTexts = std::vector<std::string>;

inline SymbolTexts JoinAll(const SymbolTexts& symbols, const std::string& left,
                           const std::string& right) {
  SymbolTexts joined;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const bool is_pair = i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
    joined.push_back(is_pair ? left + right : symbols[i]);
    if (is_pair) ++i;
  }
  return joined;
}

// Up to `count` merges of the words' symbols, best first.
inline std::vector<std::pair<std::string, std::string>> LearnMerges(std::vector<SymbolTexts> words,
                                                                    size_t count) {
  std::vector<std::pair<std::string, std::string>> merges;
  while (merges.size() < count) {
    std::map<std::pair<std::string, std::string>, size_t> uses;
    for (const SymbolTexts& word : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) ++uses[{word[i], word[i + 1]}];
    }
    auto best = uses.end();
    for (auto it = uses.begin(); it != uses.end(); ++it) {
      if (best == uses.end() || it->second > best->second) best = it;
    }
    if (best == uses.end() || best->second < 2) break;
    merges.push_back(best->first);
    for (SymbolTexts& word : words) word = JoinAll(word, best->first.first, best->first.second);
  }
  return merges;
}

inline void AddToken(Vocab& vocab, std::string_view text, TokenType type, float score = 0) {
  vocab.tokens.emplace_back(text);
  vocab.types.push_back(type);
  vocab.scores.push_back(score);
}

// Words with the spaces before them, as letters of bytes.
inline std::vector<SymbolTexts> TrainingWordsAsBytes() {
  std::vector<SymbolTexts> words;
  bool is_space = false;
  for (const char c : kTrainingText) {
    const bool starts_word = words.empty() || (c == ' ' && !is_space);
    is_space = c == ' ';
    if (starts_word) words.emplace_back();
    words.back().push_back(LettersOfBytes({&c, 1}));
  }
  return words;
}

// All bytes, merges, "<|start|>", "<|end|>" (control) and "<|tool|>", "  " (user-defined).
inline Vocab MakeByteLevelVocab(std::string_view pretokenizer = "gpt-2") {
  Vocab vocab;
  vocab.kind = VocabKind::kByteLevelBpe;
  vocab.pretokenizer = pretokenizer;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    AddToken(vocab, LettersOfBytes({&c, 1}), TokenType::kNormal);
  }
  std::map<std::string, bool> known;
  for (const auto& [left, right] : LearnMerges(TrainingWordsAsBytes(), 200)) {
    vocab.merges.push_back(left + " " + right);
    if (known.emplace(left + right, true).second) {
      AddToken(vocab, left + right, TokenType::kNormal);
    }
  }
  vocab.special.bos = vocab.size();
  AddToken(vocab, "<|start|>", TokenType::kControl);
  vocab.special.eos = vocab.size();
  AddToken(vocab, "<|end|>", TokenType::kControl);
  AddToken(vocab, "<|tool|>", TokenType::kUserDefined);
  AddToken(vocab, "     ", TokenType::kUserDefined);
  AssignRoles(vocab);
  return vocab;
}

// Characters of the whole text, with U+2581 for spaces.
inline SymbolTexts TrainingCharacters() {
  SymbolTexts characters;
  for (size_t at = 0; at < kTrainingText.size();) {
    const size_t size = FirstCharacter(kTrainingText.substr(at)).size_bytes;
    const std::string_view character = kTrainingText.substr(at, size);
    characters.emplace_back(character == " " ? "\u2581" : character);
    at += size;
  }
  return characters;
}

// The tokens that SentencePiece vocabularies begin with.
inline void AddSentencePieceBase(Vocab& vocab) {
  AddToken(vocab, "<unk>", TokenType::kUnknown);
  AddToken(vocab, "<s>", TokenType::kControl);
  AddToken(vocab, "</s>", TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    AddToken(vocab, fmt::format("<0x{:02X}>", byte), TokenType::kByte);
  }
  vocab.special = {.bos = 1, .eos = 2, .unk = 0};
}

// Pieces by score, with bytes for other characters; "<|user|>" is user-defined. Some characters of
// the text only have bytes.
inline Vocab MakeSentencePieceVocab() {
  Vocab vocab;
  vocab.kind = VocabKind::kSentencePiece;
  AddSentencePieceBase(vocab);
  vocab.add_bos = true;
  vocab.add_space_prefix = true;
  std::map<std::string, bool> known;
  float score = 0;
  for (const auto& [left, right] : LearnMerges({TrainingCharacters()}, 150)) {
    // Every third score is the same as the one before it.
    score -= vocab.size() % 3 == 0 ? 0 : 1;
    if (known.emplace(left + right, true).second) {
      AddToken(vocab, left + right, TokenType::kNormal, score);
    }
  }
  for (const std::string& character : TrainingCharacters()) {
    if (character == "ü" || character == "🦙") continue;
    if (known.emplace(character, true).second) {
      AddToken(vocab, character, TokenType::kNormal, score -= 1);
    }
  }
  AddToken(vocab, "<|user|>", TokenType::kUserDefined);
  AssignRoles(vocab);
  return vocab;
}

// The same characters with merges by rank.
inline Vocab MakeSentencePieceBpeVocab() {
  Vocab vocab;
  vocab.kind = VocabKind::kSentencePieceBpe;
  vocab.pretokenizer = "gemma4";
  AddSentencePieceBase(vocab);
  std::map<std::string, bool> known;
  for (const std::string& character : TrainingCharacters()) {
    if (known.emplace(character, true).second) AddToken(vocab, character, TokenType::kNormal);
  }
  AddToken(vocab, "\n\n", TokenType::kNormal);
  for (const auto& [left, right] : LearnMerges({TrainingCharacters()}, 150)) {
    vocab.merges.push_back(left + " " + right);
    if (known.emplace(left + right, true).second && left + right != "\n\n") {
      AddToken(vocab, left + right, TokenType::kNormal);
    }
  }
  AssignRoles(vocab);
  return vocab;
}

}  // namespace aster::text
