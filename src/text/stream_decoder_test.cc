// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "text/random_text_for_test.h"
#include "text/small_vocab_for_test.h"
#include "text/tokenizer.h"

namespace aster::text {
namespace {

std::unique_ptr<Tokenizer> TokenizerOf(Vocab vocab) {
  auto tokenizer = Tokenizer::Make(std::move(vocab));
  CHECK_NOTE(tokenizer.ok(), tokenizer.ok() ? "" : tokenizer.error().message());
  return *std::move(tokenizer);
}

// One byte at a time, to test every way to cut a character.
TokenId ByteToken(const Tokenizer& tokenizer, uint8_t byte) {
  const auto c = static_cast<char>(byte);
  return tokenizer.vocab().Find(LettersOfBytes({&c, 1}));
}

std::vector<std::string> Stream(const Tokenizer& tokenizer, std::string_view bytes) {
  StreamDecoder decoder(tokenizer, {});
  std::vector<std::string> pieces;
  for (const char byte : bytes) {
    std::string piece;
    EXPECT_TRUE(decoder.Push(ByteToken(tokenizer, static_cast<uint8_t>(byte)), piece).ok());
    pieces.push_back(piece);
  }
  std::string rest;
  decoder.Finish(rest);
  pieces.push_back(rest);
  return pieces;
}

using Pieces = std::vector<std::string>;

TEST(StreamDecoderTest, WritesACharacterWithItsLastByte) {
  const auto tokenizer = TokenizerOf(MakeByteLevelVocab());
  EXPECT_EQ(Stream(*tokenizer, "a\u00e9b"), (Pieces{"a", "", "\u00e9", "b", ""}));
  EXPECT_EQ(Stream(*tokenizer, "🦙"), (Pieces{"", "", "", "🦙", ""}));
}

TEST(StreamDecoderTest, KeepsNothingBackThatCannotBecomeACharacter) {
  const auto tokenizer = TokenizerOf(MakeByteLevelVocab());
  EXPECT_EQ(Stream(*tokenizer, "\xFF\x80"), (Pieces{"\xFF", "\x80", ""}));
  EXPECT_EQ(Stream(*tokenizer, "\xC0\x80"), (Pieces{"\xC0", "\x80", ""}));
  EXPECT_EQ(Stream(*tokenizer, "\xE2\x82x"), (Pieces{"", "", "\xE2\x82x", ""}));
  EXPECT_EQ(Stream(*tokenizer, "\xE0\x80"), (Pieces{"", "\xE0\x80", ""})) << "overlong";
  EXPECT_EQ(Stream(*tokenizer, "\xED\xA0"), (Pieces{"", "\xED\xA0", ""})) << "a surrogate";
  EXPECT_EQ(Stream(*tokenizer, "\xF4\x90"), (Pieces{"", "\xF4\x90", ""})) << "beyond Unicode";
  EXPECT_EQ(Stream(*tokenizer, "\xF0\x9F\xF0\x9F\xA6\x99"),
            (Pieces{"", "", "\xF0\x9F", "", "", "🦙", ""}));
  EXPECT_EQ(Stream(*tokenizer, "\xF0\x9F\xA6"), (Pieces{"", "", "", "\xF0\x9F\xA6"}));
}

TEST(StreamDecoderTest, IsDecodeInPieces) {
  for (const auto& vocab :
       {MakeByteLevelVocab(), MakeSentencePieceVocab(), MakeSentencePieceBpeVocab()}) {
    const auto tokenizer = TokenizerOf(vocab);
    Random random(3);
    for (int round = 0; round < 500; ++round) {
      std::vector<TokenId> ids(random.NextBelow(40));
      for (TokenId& id : ids) {
        id = static_cast<TokenId>(random.NextBelow(static_cast<uint64_t>(vocab.size())));
      }
      for (const bool skip_control : {false, true}) {
        StreamDecoder decoder(*tokenizer, {.skip_control = skip_control});
        std::string streamed;
        for (const TokenId id : ids) ASSERT_TRUE(decoder.Push(id, streamed).ok());
        decoder.Finish(streamed);
        const auto decoded = tokenizer->Decode(ids, {.skip_control = skip_control});
        ASSERT_TRUE(decoded.ok());
        ASSERT_EQ(streamed, *decoded);
      }
    }
  }
}

TEST(StreamDecoderTest, EveryPieceOfATextIsWholeCharacters) {
  for (const auto& vocab :
       {MakeByteLevelVocab(), MakeSentencePieceVocab(), MakeSentencePieceBpeVocab()}) {
    const auto tokenizer = TokenizerOf(vocab);
    RandomText random(4);
    for (int round = 0; round < 1000; ++round) {
      const std::string text = random.Next();
      const auto ids = tokenizer->Encode(text, {});
      ASSERT_TRUE(ids.ok());
      StreamDecoder decoder(*tokenizer, {});
      std::string whole;
      std::string bytes;
      for (const TokenId id : *ids) {
        std::string piece;
        ASSERT_TRUE(decoder.Push(id, piece).ok());
        ASSERT_TRUE(IsValidUtf8(piece)) << text;
        whole += piece;
        bytes += *tokenizer->TokenBytes(id);
        // The held back bytes are less than a character.
        const size_t added_space = vocab.add_space_prefix && bytes.starts_with(' ') ? 1 : 0;
        ASSERT_LT(bytes.size() - added_space - whole.size(), 4U);
        if (IsValidUtf8(bytes) && !vocab.add_space_prefix) {
          ASSERT_EQ(whole, bytes);
        }
      }
      std::string rest;
      decoder.Finish(rest);
      ASSERT_EQ(rest, "");
    }
  }
}

TEST(StreamDecoderTest, DropsTheSpaceThatBeginsAText) {
  const auto tokenizer = TokenizerOf(MakeSentencePieceVocab());
  const auto ids = *tokenizer->Encode("the fox", {});
  for (const bool begins_text : {true, false}) {
    StreamDecoder decoder(*tokenizer, {.begins_text = begins_text});
    std::string text;
    for (const TokenId id : ids) ASSERT_TRUE(decoder.Push(id, text).ok());
    EXPECT_EQ(text, begins_text ? "the fox" : " the fox");
  }
}

TEST(StreamDecoderTest, RefusesTokensThatDoNotExist) {
  const auto tokenizer = TokenizerOf(MakeByteLevelVocab());
  StreamDecoder decoder(*tokenizer, {});
  std::string text;
  EXPECT_EQ(decoder.Push(-1, text).error().code(), Code::kOutOfRange);
  EXPECT_EQ(decoder.Push(tokenizer->vocab().size(), text).error().code(), Code::kOutOfRange);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace aster::text
