// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/text_encoder.h"

#include <algorithm>

#include "base/check.h"
#include "text/unicode.h"

namespace aster::text {
namespace {

// The memory that is kept between calls.
constexpr size_t kKeptBytes = size_t{1} << 18;

constexpr char32_t kSpaceLetterCode = 0x2581;

// A set of pairs of characters with false positives: it may report a pair that was never added.
class NeighborSet {
 public:
  void AddAllOf(std::string_view text) {
    char32_t left = 0;
    for (size_t at = 0; at < text.size();) {
      Character right = FirstCharacter(text.substr(at));
      if (right.code == kSpaceLetterCode) right.code = ' ';
      if (at > 0) bits_[BitOf(left, right.code)] = true;
      left = right.code;
      at += right.size_bytes;
    }
  }
  bool MayContain(char32_t left, char32_t right) const { return bits_[BitOf(left, right)]; }

 private:
  static constexpr size_t kBits = size_t{1} << 20;

  // ASCII pairs have separate bits.
  static size_t BitOf(char32_t left, char32_t right) {
    if (left < 128 && right < 128) return left * 128 + right;
    const uint64_t pair = uint64_t{left} << 32 | right;
    return static_cast<size_t>((pair * 0x9E3779B97F4A7C15U) >> 44);
  }
  static_assert(kBits == size_t{1} << (64 - 44));

  std::vector<bool> bits_ = std::vector<bool>(kBits);
};

class ByteLevelEncoder final : public TextEncoder {
 public:
  explicit ByteLevelEncoder(const Vocab& vocab)
      : TextEncoder(vocab), pretokenizer_(FindPretokenizer(vocab.pretokenizer)) {
    CHECK(pretokenizer_ != nullptr);
  }

  void Encode(std::string_view text, bool /*space_before*/, EncodeScratch& scratch,
              std::vector<TokenId>& ids) const override {
    Split(*pretokenizer_, text, [&](std::string_view piece) { EncodePiece(piece, scratch, ids); });
  }

 private:
  void EncodeNewPiece(std::string_view piece, EncodeScratch& scratch,
                      std::vector<TokenId>& ids) const override {
    if (pretokenizer_->whole_pieces_first) {
      const TokenId id = model().TokenOf(piece);
      if (id != kNoToken) return ids.push_back(id);
    }
    scratch.symbols.clear();
    for (const char byte : piece) {
      scratch.symbols.push_back(model().SymbolOfByte(static_cast<uint8_t>(byte)));
    }
    model().Encode(scratch.workspace, scratch.symbols, ids);
  }

  const Pretokenizer* const pretokenizer_;
};

// Here merges run over the whole text. But where two neighbouring characters are in no token, no
// merge can join them: the text may be cut there without changing anything, almost everywhere
// between words.
class CharacterEncoder final : public TextEncoder {
 public:
  explicit CharacterEncoder(const Vocab& vocab)
      : TextEncoder(vocab),
        newlines_apart_(vocab.kind == VocabKind::kSentencePieceBpe),
        space_(model().SymbolOf(kSpaceLetter)) {
    for (Symbol symbol = 0; symbol < model().symbols().size(); ++symbol) {
      neighbors_.AddAllOf(model().symbols()[symbol]);
    }
  }

  void Encode(std::string_view text, bool space_before, EncodeScratch& scratch,
              std::vector<TokenId>& ids) const override {
    if (text.empty()) return;
    size_t begin = 0;
    if (space_before) {
      begin = MayCut(' ', CharacterAt(text, 0).code) ? 0 : EndOfPiece(text, 0);
      scratch.text.assign(1, ' ').append(text.substr(0, begin));
      EncodePiece(scratch.text, scratch, ids);
    }
    while (begin < text.size()) {
      const size_t end = EndOfPiece(text, begin);
      EncodePiece(text.substr(begin, end - begin), scratch, ids);
      begin = end;
    }
  }

 private:
  // A space counts as its letter.
  static Character CharacterAt(std::string_view text, size_t position) {
    Character character = FirstCharacter(text.substr(position));
    if (character.code == kSpaceLetterCode) character.code = ' ';
    return character;
  }

  bool MayCut(char32_t left, char32_t right) const {
    if (newlines_apart_ && (left == '\n') != (right == '\n')) return true;
    return !neighbors_.MayContain(left, right);
  }

  size_t EndOfPiece(std::string_view text, size_t begin) const {
    Character left = CharacterAt(text, begin);
    size_t end = begin + left.size_bytes;
    while (end < text.size()) {
      const Character right = CharacterAt(text, end);
      if (MayCut(left.code, right.code)) break;
      end += right.size_bytes;
      left = right;
    }
    return end;
  }

  void EncodeNewPiece(std::string_view piece, EncodeScratch& scratch,
                      std::vector<TokenId>& ids) const override {
    if (newlines_apart_ && piece.front() == '\n') {
      const TokenId id = model().TokenOf(piece);
      if (id != kNoToken) return ids.push_back(id);
    }
    scratch.symbols.clear();
    for (size_t at = 0; at < piece.size();) {
      at += AppendSymbolsOf(piece.substr(at), scratch.symbols);
    }
    model().Encode(scratch.workspace, scratch.symbols, ids);
  }

  // Appends the symbols of the first character; returns its size.
  size_t AppendSymbolsOf(std::string_view text, std::vector<Symbol>& symbols) const {
    const size_t size = FirstCharacter(text).size_bytes;
    const std::string_view character = text.substr(0, size);
    const Symbol symbol = character == " " ? space_ : model().SymbolOf(character);
    if (symbol != kNoSymbol) {
      symbols.push_back(symbol);
    } else {
      for (const char byte : character) {
        symbols.push_back(MergeModel::UnmergeableByte(static_cast<uint8_t>(byte)));
      }
    }
    return size;
  }

  const bool newlines_apart_;
  const Symbol space_;
  NeighborSet neighbors_;
};

}  // namespace

void EncodeScratch::Trim() {
  workspace.Trim();
  if (symbols.capacity() * sizeof(Symbol) > kKeptBytes) std::vector<Symbol>().swap(symbols);
  if (text.capacity() > kKeptBytes) std::string().swap(text);
}

std::unique_ptr<TextEncoder> TextEncoder::Make(const Vocab& vocab) {
  if (vocab.kind == VocabKind::kByteLevelBpe) return std::make_unique<ByteLevelEncoder>(vocab);
  return std::make_unique<CharacterEncoder>(vocab);
}

void TextEncoder::EncodePiece(std::string_view piece, EncodeScratch& scratch,
                              std::vector<TokenId>& ids) const {
  if (piece.size() > PieceCache::kMaxPieceBytes) return EncodeNewPiece(piece, scratch, ids);
  if (const auto known = scratch.cache.Find(piece)) {
    ids.insert(ids.end(), known->begin(), known->end());
    return;
  }
  const size_t before = ids.size();
  EncodeNewPiece(piece, scratch, ids);
  scratch.cache.Insert(piece, std::span(ids).subspan(before));
}

}  // namespace aster::text
