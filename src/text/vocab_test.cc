// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/vocab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "text/small_vocab_for_test.h"

namespace aster::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ComplaintOf(const Vocab& vocab) {
  const Status status = Validate(vocab);
  return status.ok() ? "" : status.error().message();
}

TEST(ValidateTest, SmallVocabulariesAreFine) {
  EXPECT_EQ(ComplaintOf(MakeByteLevelVocab()), "");
  EXPECT_EQ(ComplaintOf(MakeSentencePieceVocab()), "");
  EXPECT_EQ(ComplaintOf(MakeSentencePieceBpeVocab()), "");
}

TEST(ValidateTest, NamesAnUnknownPretokenizerAndTheKnownOnes) {
  const Status status = Validate(MakeByteLevelVocab("llama-99"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kUnimplemented);
  EXPECT_THAT(status.error().message(), HasSubstr("\"llama-99\""));
  EXPECT_THAT(status.error().message(), HasSubstr("llama-bpe"));
}

TEST(ValidateTest, RefusesWhatCannotBe) {
  EXPECT_THAT(ComplaintOf(Vocab()), HasSubstr("no tokens"));

  Vocab vocab = MakeByteLevelVocab();
  vocab.types.pop_back();
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("token types"));

  vocab = MakeByteLevelVocab();
  vocab.tokens[7] = vocab.tokens[3];
  vocab.types[7] = TokenType::kControl;
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("tokens 3 and 7 are the same"));

  vocab = MakeByteLevelVocab();
  vocab.special.eos = vocab.size();
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("the end of text token is"));

  vocab = MakeByteLevelVocab();
  vocab.special.bos = kNoToken;
  vocab.add_bos = true;
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("none is named"));

  vocab = MakeByteLevelVocab();
  vocab.tokens[5].assign(kMaxTokenBytes + 1, 'x');
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("token 5 is 65537 bytes long"));

  vocab = MakeSentencePieceVocab();
  vocab.scores[9] = std::nanf("");
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("score of token 9"));

  vocab = MakeSentencePieceVocab();
  vocab.scores.clear();
  EXPECT_THAT(ComplaintOf(vocab), HasSubstr("0 scores"));
}

TEST(ValidateTest, EmptyTokensMayRepeat) {
  Vocab vocab = MakeByteLevelVocab();
  AddToken(vocab, "", TokenType::kUnused);
  AddToken(vocab, "", TokenType::kUnused);
  EXPECT_EQ(ComplaintOf(vocab), "");
}

Vocab VocabOf(std::initializer_list<std::string_view> tokens) {
  Vocab vocab;
  for (const std::string_view token : tokens) AddToken(vocab, token, TokenType::kNormal);
  AssignRoles(vocab);
  return vocab;
}

TEST(AssignRolesTest, BySpelling) {
  const Vocab vocab = VocabOf({"a", "<|im_end|>", "<|fim_prefix|>", "<|file_sep|>", "</s>"});
  EXPECT_EQ(vocab.special.eot, 1);
  EXPECT_EQ(vocab.special.fim_prefix, 2);
  EXPECT_EQ(vocab.special.fim_file, 3);
  EXPECT_EQ(vocab.special.fim_middle, kNoToken);
  EXPECT_THAT(vocab.end_of_generation, ElementsAre(1, 3, 4));
  EXPECT_TRUE(vocab.IsEndOfGeneration(4));
  EXPECT_FALSE(vocab.IsEndOfGeneration(0));
  EXPECT_EQ(vocab.types[0], TokenType::kNormal);
  EXPECT_EQ(vocab.types[1], TokenType::kControl) << "or else users could end their turn";
}

TEST(AssignRolesTest, WhatTheFileSaysComesFirst) {
  Vocab vocab = VocabOf({"a", "<|im_end|>", "<|eot_id|>"});
  EXPECT_EQ(vocab.special.eot, 2);
  vocab.special.eot = 0;
  AssignRoles(vocab);
  EXPECT_EQ(vocab.special.eot, 0);
  EXPECT_THAT(vocab.end_of_generation, ElementsAre(0, 1, 2));
}

TEST(AssignRolesTest, SomeEndsEndLess) {
  EXPECT_THAT(VocabOf({"<|end|>"}).end_of_generation, ElementsAre(0));
  EXPECT_THAT(VocabOf({"<|end|>", "<|return|>", "<|call|>"}).end_of_generation, ElementsAre(1, 2));
  EXPECT_THAT(VocabOf({"</s>", "<|tool_response>"}).end_of_generation, ElementsAre(1));
  Vocab gemma = VocabOf({"</s>", "<end_of_turn>"});
  EXPECT_THAT(gemma.end_of_generation, ElementsAre(1));
  EXPECT_EQ(gemma.types[0], TokenType::kNormal);
  gemma.special.eos = 0;
  AssignRoles(gemma);
  EXPECT_THAT(gemma.end_of_generation, ElementsAre(0, 1));
}

}  // namespace
}  // namespace aster::text
