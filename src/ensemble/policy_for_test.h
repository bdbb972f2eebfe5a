// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Questions to built-in models with some policy, and to one of them alone; for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ensemble/ensemble.h"
#include "ensemble/explanation.h"
#include "ensemble/late_for_test.h"
#include "ensemble/members_for_test.h"
#include "respond/run.h"

namespace aster::ensemble {

inline constexpr const char* kListing = "What does this program print?\nx = 5\nn = x * 8\nprint(n)";
// A question that pulsar can answer and nova cannot.
inline constexpr const char* kLoop =
    "Run this program:\nc = 10\nfor i in range(3):\n    c = c + 1\nn = c + 2\ny = n - 5\nprint(n)";
inline constexpr const char* kSum = "12 + 7 = ?";
inline constexpr const char* kTale = "Tell me about the baker of the village.";

class PolicyTest : public testing::Test {
 protected:
  explicit PolicyTest(Policy policy) : options_{.policy = policy, .wait_ns = 1'000'000'000} {}

  void SetUp() override { all_.emplace(Open({"nova", "pulsar"})); }

  OpenMembers Open(std::vector<std::string> names) {
    return models_.Open(std::move(names), clock_);
  }
  static Question About(const std::string& text, float temperature = 0) {
    Question question;
    question.conversation.messages.push_back({{"role", "user"}, {"content", text}});
    question.settings.sampling.temperature = temperature;
    question.settings.sampling.seed = 5;
    question.settings.max_tokens = 150;
    return question;
  }
  Answer WrittenText(std::vector<Member> members, const Question& question,
                     const OnPiece& on_piece = nullptr) {
    Ensemble ensemble(std::move(members), clock_, options_);
    return AnswerOne(ensemble, question, nullptr, on_piece).value();
  }
  // By one model, without an ensemble.
  static respond::Answered ByModelAlone(const Member& member, const Question& question) {
    class NullListener final : public respond::Listener {
      void OnPiece(const respond::Piece&) override {}
      void OnEnd(const respond::End&) override {}
    } silent;
    engine::Sequence sequence = member.generator->NewSequence();
    const auto prompt = respond::MakePrompt(member.model, question.conversation).value();
    return respond::Run(*member.generator, sequence, member.model, question.settings, prompt,
                        silent)
        .value();
  }
  static void ExpectSame(const Answer& answer, const respond::Answered& alone) {
    EXPECT_EQ(answer.answered.generated.text, alone.generated.text);
    EXPECT_EQ(answer.answered.generated.tokens, alone.generated.tokens);
    EXPECT_EQ(answer.answered.reply.content, alone.reply.content);
    EXPECT_EQ(answer.answered.generated.finish.reason, alone.generated.finish.reason);
    EXPECT_EQ(answer.answered.generated.finish.stop_string, alone.generated.finish.stop_string);
  }

  void ExpectTheSameModelTwiceIsThatModel() {
    const OpenMembers twice = Open({"nova", "nova"});
    for (const char* const text : {kListing, kTale}) {
      for (const float temperature : {0.0F, 1.5F}) {
        const Question question = About(text, temperature);
        ExpectSame(WrittenText(twice.members(), question),
                   ByModelAlone(twice.members()[0], question));
      }
    }
  }
  void ExpectAMemberOfAllTheWeightIsThatModel() {
    for (const float temperature : {0.0F, 1.5F}) {
      for (size_t i = 0; i < 2; ++i) {
        const Question question = About(kTale, temperature);
        std::vector<Member> members = all_->members();
        members[1 - i].weight = 0;
        ExpectSame(WrittenText(members, question), ByModelAlone(members[i], question));
      }
    }
  }
  void ExpectLimitsAndStopStringsAreTheModels() {
    const OpenMembers twice = Open({"nova", "nova"});
    const auto expect_same = [&](const Question& question) {
      ExpectSame(WrittenText(twice.members(), question),
                 ByModelAlone(twice.members()[0], question));
    };
    for (const uint64_t most : {1, 2, 7, 30}) {
      Question question = About(kTale, 1);
      question.settings.max_tokens = most;
      expect_same(question);
    }
    for (const char* const stop : {"e", " the", ". "}) {
      Question question = About(kTale);
      question.settings.stops = {stop};
      expect_same(question);
    }
    // Members take over from each other where one has no room, or would have ended.
    const auto expect_same_text = [&](const Question& question) {
      const auto answer = WrittenText(twice.members(), question).answered.generated;
      const auto alone = ByModelAlone(twice.members()[0], question).generated;
      EXPECT_EQ(answer.text, alone.text);
      EXPECT_EQ(answer.tokens, alone.tokens);
    };
    Question question = About(kTale);
    question.settings.context_limit = 60;
    expect_same_text(question);
    question.settings.context_limit = 0;
    question.settings.ignores_end = true;
    expect_same_text(question);
  }
  void ExpectTheOrderOfArrivalChangesNothing() {
    for (const char* const text : {kListing, kTale}) {
      const Question question = About(text);
      const auto expected = BitsOf(WrittenText(all_->members(), question));
      for (const auto& [first, second] : std::vector<std::pair<int, int>>{{7, 0}, {0, 7}}) {
        std::vector<Member> members = all_->members();
        Late late_first(*members[0].generator), late_second(*members[1].generator);
        late_first.lateness = first;
        late_second.lateness = second;
        members[0].generator = &late_first;
        members[1].generator = &late_second;
        EXPECT_EQ(BitsOf(WrittenText(members, question)), expected);
      }
      std::vector<Member> members = all_->members();
      for (Member& member : members) {
        member.is_elsewhere = true;
        EXPECT_EQ(BitsOf(WrittenText(members, question)), expected);
      }
    }
  }
  void ExpectOtherQuestionsBesideItChangeNothing() {
    const std::vector<std::string> texts = {kListing, kSum, kTale};
    std::vector<std::vector<std::pair<std::string, double>>> expected;
    for (const std::string& text : texts)
      expected.push_back(BitsOf(WrittenText(all_->members(), About(text))));
    Ensemble ensemble(all_->members(), clock_, options_);
    size_t answered = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      ensemble.Ask(About(texts[i]), [&, i](Result<Answer> answer) {
        EXPECT_EQ(BitsOf(answer.value()), expected[i]);
        ++answered;
      });
    }
    while (!ensemble.idle()) ensemble.Step();
    EXPECT_EQ(answered, texts.size());
  }

  // The second member has memory for 128 tokens: the others continue without it, the answer says
  // so, and the next question asks it again.
  void ExpectAMemberWithoutMemoryIsLeftOut() {
    const OpenMembers small = models_.Open({"pulsar", "pulsar"}, clock_, "512KiB");
    std::vector<Member> members = all_->members();
    members[1] = small.members()[0];
    Ensemble ensemble(members, clock_, options_);
    Question question = About(kTale);
    question.settings.ignores_end = true;
    const Answer answer = AnswerOne(ensemble, question).value();
    EXPECT_EQ(answer.answered.generated.finish.reason, engine::FinishReason::kLength);
    ASSERT_TRUE(answer.parts[1].absence);
    EXPECT_EQ(answer.parts[1].absence->code(), Code::kResourceExhausted);
    EXPECT_THAT(Explain(answer), testing::HasSubstr("absent  pulsar: the KV cache"));
    EXPECT_EQ(BitsOf(AnswerOne(ensemble, About(kSum)).value()),
              BitsOf(WrittenText(all_->members(), About(kSum))));
  }

  void ExpectACancelledQuestionHasNoAnswer() {
    Ensemble ensemble(all_->members(), clock_, options_);
    int steps = 0;
    const auto answer = AnswerOne(ensemble, About(kTale), [&] { return ++steps > 6; });
    EXPECT_EQ(answer.error().code(), Code::kCancelled);
  }
  // Two turns in which members agree: the second continues the KV rows of the first.
  void ExpectNoTokenIsComputedTwice(std::vector<Member> members, const char* first_text) {
    Ensemble ensemble(std::move(members), clock_, options_);
    Question question = About(first_text);
    const Answer first = AnswerOne(ensemble, question).value();
    auto& messages = question.conversation.messages;
    messages.push_back({{"role", "assistant"}, {"content", first.answered.generated.text}});
    messages.push_back({{"role", "user"}, {"content", "45 x 8 = ?"}});
    const Answer second = AnswerOne(ensemble, question).value();
    for (size_t i = 0; i < first.parts.size(); ++i) {
      const Part& before = first.parts[i];
      const Part& part = second.parts[i];
      // A token of an answer is written or rated.
      EXPECT_LE(before.computed_tokens,
                before.counts.prompt + before.counts.generated + before.rated_tokens);
      EXPECT_LE(before.computed_tokens + part.computed_tokens,
                part.counts.prompt + part.counts.generated + part.rated_tokens);
      EXPECT_GT(part.counts.cached, before.counts.prompt);
    }
  }

  // The others' answer if one member is stalled. They wait for it.
  Answer WithStalled(size_t stalled, const Question& question) {
    std::vector<Member> members = all_->members();
    Late late(*members[stalled].generator);
    members[stalled].generator = &late;
    late.is_stalled = true;
    Ensemble ensemble(members, clock_, options_);
    std::optional<Answer> answer;
    ensemble.Ask(question, [&](Result<Answer> given) { answer = std::move(given).value(); });
    for (int step = 0; step < 200; ++step) ensemble.Step();
    EXPECT_FALSE(answer);
    clock_.AdvanceBy(options_.wait_ns);
    for (int step = 0; step < 400; ++step) ensemble.Step();
    late.is_stalled = false;  // so that its requests can end
    CHECK(answer);
    EXPECT_THAT(answer->parts[stalled].absence->message(),
                testing::HasSubstr("not done 1.0 s after"));
    return *std::move(answer);
  }

  // All decisions, as bits.
  static std::vector<std::pair<std::string, double>> BitsOf(const Answer& answer) {
    std::vector<std::pair<std::string, double>> bits = {{answer.answered.generated.text, 0}};
    const auto add = [&](const std::vector<Candidate>& candidates, size_t chosen) {
      bits.emplace_back("", static_cast<double>(chosen));
      for (const Candidate& candidate : candidates) {
        bits.emplace_back(candidate.text, candidate.bits_per_byte);
        for (const double each : candidate.member_bits) bits.emplace_back("", each);
      }
    };
    add(answer.candidates, answer.chosen);
    for (const DecidedSpan& span : answer.spans) add(span.candidates, span.chosen);
    return bits;
  }

  const EnsembleOptions options_;
  VirtualClock clock_;
  MembersForTest models_;
  std::optional<OpenMembers> all_;
};

}  // namespace aster::ensemble
