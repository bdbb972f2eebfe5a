// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/sanitized.h"
#include "text/random_text_for_test.h"
#include "text/small_vocab_for_test.h"

namespace aster::text {
namespace {

using testing::ElementsAre;

std::unique_ptr<Tokenizer> MakeTokenizer(Vocab vocab) {
  auto tokenizer = Tokenizer::Make(std::move(vocab));
  CHECK_NOTE(tokenizer.ok(), tokenizer.ok() ? "" : tokenizer.error().message());
  return *std::move(tokenizer);
}

std::vector<std::string> Spelled(const Tokenizer& tokenizer, std::string_view text,
                                 const EncodeOptions& options = {}) {
  std::vector<std::string> tokens;
  const auto ids = tokenizer.Encode(text, options);
  for (const TokenId id : *ids) {
    tokens.push_back(tokenizer.vocab().tokens[static_cast<size_t>(id)]);
  }
  return tokens;
}

std::string Back(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options) {
  const auto ids = tokenizer.Encode(text, options);
  const auto decoded = tokenizer.Decode(*ids, {.remove_added = options.add_special});
  return *decoded;
}

// The definition of SentencePiece, without optimisations: of all neighbours that together are a
// piece, those with the best score are merged, the leftmost first.
SymbolTexts MergeByScoreSlowly(const Vocab& vocab, std::string_view text) {
  SymbolTexts symbols;
  for (size_t at = 0; at < text.size();) {
    const size_t size = FirstCharacter(text.substr(at)).size_bytes;
    const std::string_view character = text.substr(at, size);
    symbols.emplace_back(character == " " ? kSpaceLetter : character);
    at += size;
  }
  for (;;) {
    size_t best = symbols.size();
    float best_score = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const TokenId id = vocab.Find(symbols[i] + symbols[i + 1]);
      if (id == kNoToken || vocab.types[static_cast<size_t>(id)] != TokenType::kNormal) continue;
      const float score = vocab.scores[static_cast<size_t>(id)];
      if (best != symbols.size() && score <= best_score) continue;
      best = i;
      best_score = score;
    }
    if (best == symbols.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

TEST(TokenizerTest, MergesWithinPieces) {
  const auto tokenizer = MakeTokenizer(MakeByteLevelVocab());
  EXPECT_THAT(Spelled(*tokenizer, "the of the"), ElementsAre("the", "Ġof", "Ġthe"));
  EXPECT_THAT(*tokenizer->Encode("", {}), ElementsAre());
}

// As in some published files of Gemma 4.
TEST(TokenizerTest, OfEqualTokensTheFirstIsUsed) {
  for (Vocab vocab : {MakeByteLevelVocab(), MakeSentencePieceBpeVocab()}) {
    const TokenId first = vocab.Find("the");
    ASSERT_NE(first, kNoToken);
    AddToken(vocab, "the", TokenType::kNormal);
    const TokenId second = vocab.size() - 1;
    const auto tokenizer = MakeTokenizer(std::move(vocab));
    EXPECT_THAT(*tokenizer->Encode("the", {}), ElementsAre(first));
    EXPECT_EQ(*tokenizer->Decode(std::vector{second}, {}), "the");
  }
}

TEST(TokenizerTest, SpecialTokensAreTextUnlessAskedFor) {
  const auto tokenizer = MakeTokenizer(MakeByteLevelVocab());
  EXPECT_THAT(Spelled(*tokenizer, "the<|end|>the", {.parse_special = true}),
              ElementsAre("the", "<|end|>", "the"));
  const auto ids = *tokenizer->Encode("the<|end|>the", {});
  EXPECT_THAT(ids, testing::Not(testing::Contains(tokenizer->vocab().special.eos)));
  EXPECT_EQ(*tokenizer->Decode(ids, {}), "the<|end|>the");
}

TEST(TokenizerTest, UserDefinedTokensAreAlwaysRecognised) {
  const auto tokenizer = MakeTokenizer(MakeByteLevelVocab());
  EXPECT_THAT(Spelled(*tokenizer, "the<|tool|>     the"),
              ElementsAre("the", "<|tool|>", "     ", "the"));
}

TEST(TokenizerTest, BeginsAndEndsATextWhereTheModelWantsIt) {
  Vocab vocab = MakeByteLevelVocab();
  EXPECT_THAT(Spelled(*MakeTokenizer(vocab), "the", {.add_special = true}), ElementsAre("the"));
  vocab.add_bos = true;
  vocab.add_eos = true;
  const auto tokenizer = MakeTokenizer(vocab);
  EXPECT_THAT(Spelled(*tokenizer, "the", {.add_special = true}),
              ElementsAre("<|start|>", "the", "<|end|>"));
  EXPECT_THAT(Spelled(*tokenizer, "", {.add_special = true}), ElementsAre("<|start|>", "<|end|>"));
  // A token in the text stays, so there are two.
  EXPECT_THAT(Spelled(*tokenizer, "<|start|>the", {.add_special = true, .parse_special = true}),
              ElementsAre("<|start|>", "<|start|>", "the", "<|end|>"));
  EXPECT_EQ(Back(*tokenizer, "<|start|>the<|end|>", {.add_special = true, .parse_special = true}),
            "<|start|>the<|end|>");
}

TEST(TokenizerTest, DecodingCanLeaveOutControlTokens) {
  const auto tokenizer = MakeTokenizer(MakeByteLevelVocab());
  const auto ids = *tokenizer->Encode("<|start|>the<|tool|><|end|>", {.parse_special = true});
  EXPECT_EQ(*tokenizer->Decode(ids, {}), "<|start|>the<|tool|><|end|>");
  EXPECT_EQ(*tokenizer->Decode(ids, {.skip_control = true}), "the<|tool|>");
}

TEST(TokenizerTest, WholePiecesFirstWhereThePretokenizerSaysSo) {
  // "abc" is a token that no merges make.
  for (const bool whole_first : {false, true}) {
    Vocab vocab = MakeByteLevelVocab(whole_first ? "llama-bpe" : "qwen2");
    AddToken(vocab, "qvx", TokenType::kNormal);
    const auto tokenizer = MakeTokenizer(vocab);
    EXPECT_EQ(Spelled(*tokenizer, "qvx").size(), whole_first ? 1U : 3U);
    EXPECT_EQ(Back(*tokenizer, "qvx", {}), "qvx");
  }
}

TEST(TokenizerTest, SentencePieceSpaces) {
  const auto tokenizer = MakeTokenizer(MakeSentencePieceVocab());
  EXPECT_THAT(Spelled(*tokenizer, "the the"), ElementsAre("▁the", "▁the"));
  EXPECT_THAT(Spelled(*tokenizer, "the", {.add_special = true}), ElementsAre("<s>", "▁the"));
  EXPECT_THAT(Spelled(*tokenizer, "<|user|>the"), ElementsAre("<|user|>", "▁the"));
  for (const std::string_view text : {"", " ", "  ", "the", " the", "  the ", "the<|user|> of",
                                      "<|user|><|user|>", " <|user|> ", "\n", "<s>the"}) {
    for (const bool add_special : {false, true}) {
      for (const bool parse_special : {false, true}) {
        const EncodeOptions options = {.add_special = add_special, .parse_special = parse_special};
        EXPECT_EQ(Back(*tokenizer, text, options), text);
      }
    }
  }
}

TEST(TokenizerTest, SentencePieceFallsBackToBytes) {
  const auto tokenizer = MakeTokenizer(MakeSentencePieceVocab());
  EXPECT_THAT(Spelled(*tokenizer, "ü"), ElementsAre("▁", "<0xC3>", "<0xBC>"));
  EXPECT_THAT(Spelled(*tokenizer, "\xFF"), ElementsAre("▁", "<0xFF>"));
}

TEST(TokenizerTest, ControlTokensNeverComeOutOfMerges) {
  Vocab vocab = MakeSentencePieceVocab();
  AddToken(vocab, "<s", TokenType::kNormal, -0.5F);
  AddToken(vocab, ">", TokenType::kNormal, -0.5F);
  const auto tokenizer = MakeTokenizer(vocab);
  EXPECT_THAT(*tokenizer->Encode("<s>", {}), testing::Not(testing::Contains(1)));
}

TEST(TokenizerTest, SentencePieceMergesByScoreOverTheWholeText) {
  Vocab vocab = MakeSentencePieceVocab();
  AddToken(vocab, "y▁b", TokenType::kNormal, -0.5F);  // prevents that all words are cut apart
  const auto tokenizer = MakeTokenizer(vocab);
  RandomText random(5);
  for (int i = 0; i < 300; ++i) {
    std::string text = random.Next();
    const size_t begin = random.random().NextBelow(kTrainingText.size());
    text += kTrainingText.substr(begin, random.random().NextBelow(60));
    std::vector<std::string> expected;
    for (const std::string& symbol : MergeByScoreSlowly(vocab, " " + text)) {
      const TokenId id = vocab.Find(symbol);
      if (id != kNoToken && vocab.types[static_cast<size_t>(id)] == TokenType::kNormal) {
        expected.push_back(symbol);
        continue;
      }
      for (const char byte : symbol) {
        expected.push_back(fmt::format("<0x{:02X}>", static_cast<uint8_t>(byte)));
      }
    }
    if (text.find("<|user|>") == std::string::npos) {
      ASSERT_EQ(Spelled(*tokenizer, text), expected) << text;
    }
  }
}

TEST(TokenizerTest, NewlinesStandApartInGemma4) {
  const auto tokenizer = MakeTokenizer(MakeSentencePieceBpeVocab());
  EXPECT_THAT(Spelled(*tokenizer, "the\n\nthe"), ElementsAre("the", "\n\n", "the"));
  EXPECT_THAT(Spelled(*tokenizer, "\n\n\n"), testing::SizeIs(testing::Ge(1)));
}

TEST(TokenizerTest, EveryTextComesBack) {
  for (const auto& vocab :
       {MakeByteLevelVocab(), MakeByteLevelVocab("llama-bpe"), MakeByteLevelVocab("deepseek-v3"),
        MakeByteLevelVocab("gpt-4o"), MakeSentencePieceVocab(), MakeSentencePieceBpeVocab()}) {
    const auto tokenizer = MakeTokenizer(vocab);
    EXPECT_TRUE(tokenizer->missing_bytes().none());
    RandomText random(6);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = i % 3 == 0   ? random.NextBytes(80)
                               : i % 3 == 1 ? random.Next()
                                            : random.NextAnyUnicode();
      // SentencePiece cannot distinguish this from a space.
      if (vocab.kind != VocabKind::kByteLevelBpe && text.find(kSpaceLetter) != std::string::npos) {
        continue;
      }
      const EncodeOptions options = {.add_special = i % 2 == 0, .parse_special = i % 5 == 0};
      ASSERT_EQ(Back(*tokenizer, text, options), text) << vocab.pretokenizer;
    }
  }
}

TEST(TokenizerTest, BytesThatAVocabularyLacks) {
  Vocab vocab = MakeByteLevelVocab();
  vocab.tokens[0xFF] = "gone1";
  vocab.tokens[0x07] = "gone2";
  const auto tokenizer = MakeTokenizer(vocab);
  EXPECT_EQ(tokenizer->missing_bytes().count(), 2U);
  EXPECT_EQ(Back(*tokenizer, "a\x07z", {}), "az") << "no token has this byte";
  EXPECT_EQ(Back(*tokenizer, "a\xFFz", {}), "a\uFFFDz") << "the byte is not valid UTF-8";
}

TEST(TokenizerTest, RefusesTokensThatDoNotExist) {
  const auto tokenizer = MakeTokenizer(MakeByteLevelVocab());
  const TokenId ids[] = {0, 100'000};
  EXPECT_EQ(tokenizer->Decode(ids, {}).error().code(), Code::kOutOfRange);
  EXPECT_EQ(tokenizer->TokenBytes(-1).error().code(), Code::kOutOfRange);
  EXPECT_EQ(*tokenizer->TokenBytes(0x41), "A");
}

TEST(TokenizerTest, LinearInWhateverTheTextHolds) {
  for (const auto& vocab :
       {MakeByteLevelVocab("llama-bpe"), MakeSentencePieceVocab(), MakeSentencePieceBpeVocab()}) {
    const auto tokenizer = MakeTokenizer(vocab);
    for (const std::string_view unit :
         {"a", " ", "\n", "\u0301", "1", "🦙", "ab", "\xFF", "the ", "<|tool|", "     "}) {
      std::string text;
      while (text.size() < size_t{1} << (kSanitized ? 16 : 18)) text += unit;
      EXPECT_EQ(Back(*tokenizer, text, {}), text);
    }
  }
}

TEST(TokenizerTest, ManyThreadsAtOnce) {
  const auto tokenizer = MakeTokenizer(MakeByteLevelVocab("llama-bpe"));
  std::vector<std::jthread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&tokenizer, seed] {
      RandomText random(seed);
      for (int i = 0; i < 500; ++i) {
        const std::string text = random.Next();
        EXPECT_EQ(Back(*tokenizer, text, {}), text);
      }
    });
  }
}

}  // namespace
}  // namespace aster::text
