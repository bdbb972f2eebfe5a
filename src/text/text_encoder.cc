// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/text_encoder.h"

#include <algorithm>

#include "base/check.h"
#include "text/unicode.h"

namespace aster::text {
namespace {

// What encoding keeps between calls.
constexpr size_t kKeptBytes = size_t{1} << 18;

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

// Merges run over the whole text here, but nearly no token has a space behind another character:
// so the text may be cut before its spaces without changing anything, except behind the characters
// that such tokens do have before a space.
class CharacterEncoder final : public TextEncoder {
 public:
  explicit CharacterEncoder(const Vocab& vocab)
      : TextEncoder(vocab),
        newlines_apart_(vocab.kind == VocabKind::kSentencePieceBpe),
        space_(model().SymbolOf(kSpaceLetter)) {
    for (Symbol symbol = 0; symbol < model().symbols().size(); ++symbol) {
      NoteCharactersBeforeSpaces(model().symbols()[symbol]);
    }
  }

  void Encode(std::string_view text, bool space_before, EncodeScratch& scratch,
              std::vector<TokenId>& ids) const override {
    if (text.empty()) return;
    size_t begin = 0;
    if (space_before) {
      begin = EndOfPiece(text, 0);
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
  void NoteCharactersBeforeSpaces(std::string_view token) {
    char32_t before = 0;
    for (size_t at = 0; at < token.size();) {
      const Character character = DecodeUtf8(token.data() + at, token.size() - at);
      if (at > 0 && character.code == kSpaceLetterCode && before != kSpaceLetterCode) {
        before_space_.insert(before);
      }
      before = character.code;
      at += character.size_bytes;
    }
  }

  size_t EndOfPiece(std::string_view text, size_t begin) const {
    if (newlines_apart_) {
      const size_t end =
          text[begin] == '\n' ? text.find_first_not_of('\n', begin) : text.find('\n', begin);
      text = text.substr(0, end);
    }
    for (size_t space = begin;;) {
      space = text.find(' ', space + 1);
      if (space == std::string_view::npos) return text.size();
      if (MayCutBetween(text, space)) return space;
    }
  }

  // Whether no merge can join the character before `position` with the space that stands there.
  bool MayCutBetween(std::string_view text, size_t position) const {
    size_t start = position - 1;
    while (start > 0 && position - start < 4 && (text[start] & 0xC0) == 0x80) --start;
    Character before = DecodeUtf8(text.data() + start, position - start);
    if (start + before.size_bytes != position) before.code = kReplacement;
    return before.code != ' ' && before.code != kSpaceLetterCode &&
           !before_space_.contains(before.code);
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

  // Of the first character; returns its size.
  size_t AppendSymbolsOf(std::string_view text, std::vector<Symbol>& symbols) const {
    const size_t size = DecodeUtf8(text.data(), text.size()).size_bytes;
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

  static constexpr char32_t kSpaceLetterCode = 0x2581;

  const bool newlines_apart_;
  const Symbol space_;
  std::unordered_set<char32_t> before_space_;
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
  const PieceCache::Place place = scratch.cache.Find(piece);
  if (place.found) {
    const auto known = std::span(place.entry->ids).first(place.entry->id_count);
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t before = ids.size();
  EncodeNewPiece(piece, scratch, ids);
  PieceCache::Remember(place, piece, std::span(ids).subspan(before));
}

}  // namespace aster::text
