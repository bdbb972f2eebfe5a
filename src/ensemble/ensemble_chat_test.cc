// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/ensemble_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ensemble/members_for_test.h"

namespace aster::ensemble {
namespace {

using testing::HasSubstr;

constexpr const char* kQuestion = "45 x 8 = ?";
constexpr const char* kOtherSum = "7 + 6 = ?";

class Shown final : public respond::Listener {
 public:
  void OnPiece(const respond::Piece& piece) override { text += piece.text; }
  void OnEnd(const respond::End& end) override { text += end.last.text; }

  std::string text;
};

class EnsembleChatTest : public testing::Test {
 protected:
  EnsembleChatTest()
      : opened_(models_.Open({"nova", "pulsar"}, clock_)), ensemble_(opened_.members(), clock_) {}

  static respond::Settings Settings(float temperature = 0) {
    respond::Settings settings;
    settings.sampling.temperature = temperature;
    settings.sampling.seed = 5;
    settings.max_tokens = 150;
    return settings;
  }
  EnsembleChat Chat(float temperature = 0, const std::string& system = "") {
    return {ensemble_, Settings(temperature), {}, system, /*context_limit=*/2048};
  }
  // The chat's answer to a question.
  std::string Ask(EnsembleChat& chat, const std::string& text) {
    const auto answered = chat.Ask(text, shown_, never_);
    EXPECT_TRUE(answered.ok());
    return answered.ok() ? answered->generated.text : "";
  }
  // The ensemble's answer to the whole conversation.
  std::string Answered(const std::vector<std::pair<std::string, std::string>>& said,
                       uint64_t extra_seed = 0, float temperature = 0) {
    Question question{.settings = Settings(temperature)};
    question.settings.sampling.seed += extra_seed;
    for (const auto& [role, text] : said)
      question.conversation.messages.push_back({{"role", role}, {"content", text}});
    return AnswerOne(ensemble_, question).value().answered.generated.text;
  }

  VirtualClock clock_;
  MembersForTest models_;
  OpenMembers opened_;
  Ensemble ensemble_;
  Shown shown_;
  const EnsembleChat::IsCancelled never_ = nullptr;
};

TEST_F(EnsembleChatTest, TurnsAreOfOneConversation) {
  EnsembleChat chat = Chat(/*temperature=*/0, "Be brief.");
  const std::string first = Ask(chat, kQuestion);
  EXPECT_THAT(first, HasSubstr("Answer: 360"));
  const std::string second = Ask(chat, kOtherSum);
  EXPECT_EQ(shown_.text, first + second);
  EXPECT_EQ(second, Answered({{"system", "Be brief."},
                              {"user", kQuestion},
                              {"assistant", first},
                              {"user", kOtherSum}}));
  EXPECT_EQ(chat.message_count(), 4U);
  EXPECT_EQ(chat.totals().answers, 2U);
  EXPECT_GT(chat.context().tokens, 0U);
  chat.Reset();
  EXPECT_EQ(chat.context().tokens, 0U);
  EXPECT_EQ(Ask(chat, kQuestion), first);
}

TEST_F(EnsembleChatTest, UndoneTurnsLeaveNoTrace) {
  EnsembleChat chat = Chat();
  EXPECT_FALSE(chat.Undo().ok());
  Ask(chat, kQuestion);
  ASSERT_TRUE(chat.Undo().ok());
  EXPECT_EQ(Ask(chat, kOtherSum), Answered({{"user", kOtherSum}}));
}

TEST_F(EnsembleChatTest, AnotherAnswerIsAnotherDraw) {
  EnsembleChat chat = Chat(/*temperature=*/1);
  EXPECT_FALSE(chat.Regenerate(shown_, never_).ok());
  EXPECT_EQ(Ask(chat, kOtherSum),
            Answered({{"user", kOtherSum}}, /*extra_seed=*/0, /*temperature=*/1));
  const auto again = chat.Regenerate(shown_, never_);
  EXPECT_EQ(again.value().generated.text,
            Answered({{"user", kOtherSum}}, /*extra_seed=*/1, /*temperature=*/1));
  EXPECT_EQ(chat.message_count(), 2U);
}

TEST_F(EnsembleChatTest, WhatIsCancelledLeavesItAsItWas) {
  EnsembleChat chat = Chat();
  const std::string first = Ask(chat, kQuestion);
  const auto cancelled = chat.Ask(kOtherSum, shown_, [] { return true; });
  EXPECT_EQ(cancelled.error().code(), Code::kCancelled);
  EXPECT_FALSE(chat.Regenerate(shown_, [] { return true; }).ok());
  EXPECT_EQ(chat.message_count(), 2U);
  EXPECT_EQ(shown_.text, first);
}

}  // namespace
}  // namespace aster::ensemble
