// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ensemble/ensemble.h"
#include "ensemble/explanation.h"
#include "ensemble/late_for_test.h"
#include "ensemble/policy_for_test.h"
#include "ensemble/span.h"

namespace aster::ensemble {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;

// Each is certain of another line, and only pulsar's is right. nova writes some of the rest.
constexpr const char* kCertain =
    "What does this program print?\nn = 2\nc = n * 9\na = n + 8\nprint(c)";
constexpr const char* kSeveralSentences = "Tell me about the village.";

class SpansTest : public PolicyTest {
 protected:
  SpansTest() : PolicyTest(Policy::kSpans) {}
};

TEST_F(SpansTest, TheMoreCertainMemberWritesTheSpan) {
  const Answer program = WrittenText(all_->members(), About(kLoop));
  EXPECT_EQ(program.policy, Policy::kSpans);
  EXPECT_THAT(program.answered.generated.text, HasSubstr("Answer: 15"));
  EXPECT_EQ(program.author(), "pulsar");
  EXPECT_GT(program.spans.front().candidates.size(), 1u);
  EXPECT_THAT(Explain(program), HasSubstr("dropped nova: "));
  EXPECT_EQ(ExplanationToJson(program)["policy"], "spans");
  const Answer sum = WrittenText(all_->members(), About(kSum));
  EXPECT_THAT(sum.answered.generated.text, HasSubstr("19"));
}

TEST_F(SpansTest, OfCertainMembersTheOneThatStaysCertainIsTaken) {
  const Answer answer = WrittenText(all_->members(), About(kCertain));
  EXPECT_THAT(answer.answered.generated.text, HasSubstr("Answer: 18"));
  const auto raced = std::ranges::find(answer.spans, Decision::kSurest, &DecidedSpan::decision);
  ASSERT_NE(raced, answer.spans.end());
  EXPECT_EQ(answer.parts[raced->taken().authors.front()].member, "pulsar");
  EXPECT_THAT(raced->taken().text, HasSubstr(". "));  // several sentences
  EXPECT_THAT(Explain(answer), HasSubstr("dropped nova: "));
}

TEST_F(SpansTest, TheSpansAreTheAnswer) {
  const Answer answer = WrittenText(all_->members(), About(kSeveralSentences));
  std::string whole, told;
  for (const DecidedSpan& span : answer.spans) whole += span.taken().text;
  for (const AnswerPiece& piece : answer.pieces) told += piece.text;
  EXPECT_EQ(whole, answer.answered.generated.text);
  EXPECT_EQ(told, whole);
  EXPECT_GT(answer.spans.size(), 1u);
}

TEST_F(SpansTest, TheSameModelTwiceIsThatModel) {
  ExpectTheSameModelTwiceIsThatModel();
  const OpenMembers twice = Open({"nova", "nova"});
  const Answer answer = WrittenText(twice.members(), About(kTale));
  EXPECT_THAT(answer.spans, Each(Field(&DecidedSpan::decision, Decision::kAgreed)));
  // The second one writes nothing, and computes the first one's text once.
  EXPECT_EQ(answer.parts[1].counts.generated, 0u);
  EXPECT_EQ(answer.parts[1].rated_tokens, answer.answered.generated.tokens.size());
}

TEST_F(SpansTest, AMemberOfAllTheWeightIsThatModel) { ExpectAMemberOfAllTheWeightIsThatModel(); }
TEST_F(SpansTest, LimitsAndStopStringsAreTheModels) { ExpectLimitsAndStopStringsAreTheModels(); }
TEST_F(SpansTest, TheOrderOfArrivalChangesNothing) { ExpectTheOrderOfArrivalChangesNothing(); }
TEST_F(SpansTest, RemoteMembersThatWriteAheadGiveTheSameText) {
  const OpenMembers three = Open({"nova", "pulsar", "comet"});
  const auto elsewhere_of = [](std::vector<Member> members) {
    for (Member& member : members) member.is_elsewhere = true;
    return members;
  };
  std::vector<Question> questions;
  for (const char* const text : {kCertain, kLoop, kSeveralSentences}) {
    questions.push_back(About(text));
    questions.push_back(About(text, 1));
  }
  questions.push_back(About(kCertain));
  questions.back().settings.stops = {"Answer"};
  for (const uint64_t most : {3, 20, 60}) {
    questions.push_back(About(kSeveralSentences));
    questions.back().settings.max_tokens = most;
  }
  for (const Question& question : questions) {
    const Answer here = WrittenText(three.members(), question);
    // The answer does not depend on how far the others have written when one has drafted.
    for (const auto& pauses :
         std::vector<std::vector<int>>{{0, 0, 0}, {900, 0, 200}, {0, 900, 300}}) {
      std::vector<Member> members = elsewhere_of(three.members());
      std::deque<Late> late;
      for (size_t i = 0; i < members.size(); ++i) {
        late.emplace_back(*members[i].generator).pause = std::chrono::microseconds(pauses[i]);
        members[i].generator = &late.back();
      }
      const Answer elsewhere = WrittenText(std::move(members), question);
      EXPECT_EQ(BitsOf(elsewhere), BitsOf(here));
      EXPECT_EQ(elsewhere.answered.generated.tokens, here.answered.generated.tokens);
      EXPECT_EQ(elsewhere.author(), here.author());
    }
  }
}

TEST_F(SpansTest, ARemoteMemberThatWritesTheSameTextChecksNothing) {
  OpenMembers twice = Open({"nova", "nova"});
  std::vector<Member> members = twice.members();
  for (Member& member : members) member.is_elsewhere = true;
  const auto alone = ByModelAlone(members[0], About(kTale));
  for (const size_t late_one : {0, 1}) {
    // The late member begins when the other one has written all of its text.
    Late first(*twice.members()[0].generator), second(*twice.members()[1].generator);
    (late_one == 0 ? first : second).after = late_one == 0 ? &second : &first;
    members[0].generator = &first;
    members[1].generator = &second;
    const Answer answer = WrittenText(members, About(kTale));
    ExpectSame(answer, alone);
    EXPECT_THAT(answer.spans, Each(Field(&DecidedSpan::decision, Decision::kAgreed)));
    // Each token is computed once, written or rated. Stopping and checking cost one more each, per
    // span.
    const size_t tokens = alone.generated.tokens.size();
    const Part& other = answer.parts[1];
    EXPECT_GE(other.counts.generated + other.rated_tokens, tokens);
    EXPECT_LE(other.computed_tokens, other.counts.prompt + tokens + 2 * (answer.spans.size() + 1));
    if (late_one == 0) {
      EXPECT_EQ(other.rated_tokens, 0u);
    }
  }
}

TEST_F(SpansTest, AMemberAtItsContextLimitIsLeftOut) {
  std::vector<Member> members = all_->members();
  members[1].context_limit = 40;
  for (const bool is_elsewhere : {false, true}) {
    for (Member& member : members) member.is_elsewhere = is_elsewhere;
    const Answer answer = WrittenText(members, About(kSeveralSentences));
    EXPECT_GT(answer.spans.size(), 2u);
    EXPECT_NE(answer.spans.front().decision, Decision::kAlone);
    EXPECT_EQ(answer.spans.back().decision, Decision::kAlone);
    EXPECT_EQ(answer.answered.generated.finish.reason, engine::FinishReason::kStopToken);
    EXPECT_EQ(answer.parts[1].absence->code(), Code::kOutOfRange);
    EXPECT_THAT(Explain(answer), HasSubstr("absent  pulsar: "));
  }
}
TEST_F(SpansTest, OtherQuestionsBesideItChangeNothing) {
  ExpectOtherQuestionsBesideItChangeNothing();
}

TEST_F(SpansTest, AgreedTextIsSentBeforeTheEnd) {
  std::vector<std::string> told;
  const Answer answer = WrittenText(all_->members(), About(kSeveralSentences),
                                    [&](const AnswerPiece& piece) { told.push_back(piece.text); });
  EXPECT_GT(told.size(), 1u);
  EXPECT_EQ(answer.sent_pieces, told.size());
  EXPECT_LT(told.front().size(), answer.answered.generated.text.size());
}

TEST_F(SpansTest, AMemberThatIsGoneIsLeftOutAndComesBack) {
  std::vector<Member> members = all_->members();
  Late late(*members[1].generator);
  members[1].generator = &late;
  late.is_broken = true;
  Ensemble ensemble(members, clock_, options_);
  // It returns after the first words.
  const Question question = About(kTale);
  const auto answer =
      AnswerOne(ensemble, question, nullptr, [&](const AnswerPiece&) { late.is_broken = false; });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->spans.front().decision, Decision::kAlone);
  EXPECT_NE(answer->spans.back().decision, Decision::kAlone);
  EXPECT_GT(answer->parts[1].rated_tokens, 0u);
  EXPECT_GE(answer->parts[1].missed_spans, 1u);
  EXPECT_THAT(Explain(*answer), HasSubstr("absent  pulsar: no node is left"));
  // A member that stays away is left out of all spans.
  late.is_broken = true;
  const Answer alone = AnswerOne(ensemble, question).value();
  ExpectSame(alone, ByModelAlone(members[0], question));
  EXPECT_THAT(alone.spans, Each(Field(&DecidedSpan::decision, Decision::kAlone)));
}

// Returning takes longer than members are awaited: its requests must not begin again each time that
// it is given up.
TEST_F(SpansTest, AMemberThatIsSlowToComeBackIsNotWaitedForAndComesBack) {
  std::vector<Member> members = all_->members();
  Late late(*members[1].generator);
  members[1].generator = &late;
  late.is_stalled = true;
  Question question = About(kTale);
  question.settings.ignores_end = true;
  question.settings.max_tokens = 600;
  size_t told = 0;
  Ensemble ensemble(members, clock_, options_);
  std::optional<Answer> answer;
  ensemble.Ask(
      question, [&](Result<Answer> given) { answer = std::move(given).value(); },
      [&](const AnswerPiece&) {
        // After its first words the member computes again, but its first request takes twice as
        // long as members are awaited.
        if (++told != 2) return;
        late.is_stalled = false;
        late.is_warm = false;
        late.warm_up = 200;
      });
  for (int step = 0; step < 10'000 && !answer; ++step) {
    ensemble.Step();
    clock_.AdvanceBy(options_.wait_ns / 100);
  }
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->spans.front().decision, Decision::kAlone);
  EXPECT_NE(answer->spans.back().decision, Decision::kAlone);
  EXPECT_TRUE(late.is_warm);
  const Part& part = answer->parts[1];
  EXPECT_THAT(part.absence->message(), HasSubstr("not done 1.0 s after"));
  EXPECT_TRUE(part.has_answered);
  EXPECT_LT(part.missed_spans, answer->spans.size());
}

TEST_F(SpansTest, AMemberComesBackAlthoughTheLeaderHasWrittenAllOfTheAnswerAhead) {
  std::vector<Member> members = all_->members();
  Late leader(*members[0].generator), other(*members[1].generator);
  members[0].generator = &leader;
  members[0].is_elsewhere = true;
  members[1].generator = &other;
  other.is_broken = true;
  other.lateness = 3;
  Question question = About(kTale);
  question.settings.ignores_end = true;
  question.settings.max_tokens = 300;
  Ensemble ensemble(members, clock_, options_);
  // The answer is read slowly.
  const auto answer = AnswerOne(ensemble, question, nullptr, [&](const AnswerPiece&) {
    while (!leader.has_finished) std::this_thread::yield();
    other.is_broken = false;
  });
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(answer->spans.front().decision, Decision::kAlone);
  EXPECT_NE(answer->spans.back().decision, Decision::kAlone);
}

TEST_F(SpansTest, WhereNoOtherIsLeftTheOneThatComesBackIsWaitedFor) {
  std::vector<Member> members = all_->members();
  Late first(*members[0].generator), second(*members[1].generator);
  members[0].generator = &first;
  members[1].generator = &second;
  second.is_broken = true;
  size_t told = 0;
  Ensemble ensemble(members, clock_, options_);
  const auto answer = AnswerOne(ensemble, About(kTale), nullptr, [&](const AnswerPiece&) {
    // The other member is the only one, and returns slowly.
    if (++told != 2) return;
    second.is_broken = false;
    second.is_warm = false;
    second.warm_up = 50;
    first.is_broken = true;
  });
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(answer->spans.front().taken().authors, std::vector<size_t>{0});
  EXPECT_EQ(answer->spans.back().taken().authors, std::vector<size_t>{1});
}

TEST_F(SpansTest, AStalledLeaderIsWaitedForAndThenAnotherLeads) {
  const Answer answer = WithStalled(0, About(kListing));
  EXPECT_EQ(answer.author(), "pulsar");
  EXPECT_EQ(answer.parts[0].missed_spans, answer.spans.size());
}

TEST_F(SpansTest, TheLeaderIsNotLateBeforeAnotherHasWrittenASpan) {
  std::vector<Member> members = all_->members();
  Late leader(*members[0].generator), other(*members[1].generator);
  leader.is_stalled = true;
  other.is_stalled = true;
  members[0].generator = &leader;
  members[1].generator = &other;
  for (Member& member : members) member.is_elsewhere = true;
  Ensemble ensemble(members, clock_, options_);
  std::optional<Answer> answer;
  ensemble.Ask(About(kTale), [&](Result<Answer> given) { answer = std::move(given).value(); });
  for (int step = 0; step < 20; ++step) {
    ensemble.Step();
    clock_.AdvanceBy(options_.wait_ns / 10);
  }
  leader.is_stalled = false;
  other.is_stalled = false;
  while (!answer) ensemble.StepOrWait();
  for (const Part& part : answer->parts) EXPECT_FALSE(part.absence) << part.member;
  // Its time begins with the other's first span.
  leader.is_stalled = true;
  answer.reset();
  ensemble.Ask(About(kTale), [&](Result<Answer> given) { answer = std::move(given).value(); });
  while (!answer) {
    ensemble.Step();
    clock_.AdvanceBy(options_.wait_ns / 10);
  }
  leader.is_stalled = false;  // so that its requests can end
  EXPECT_THAT(answer->parts[0].absence->message(), HasSubstr("not done 1.0 s after"));
}

TEST_F(SpansTest, NoTokenIsComputedTwice) {
  ExpectNoTokenIsComputedTwice(all_->members(), kSum);
  ExpectNoTokenIsComputedTwice(Open({"nova", "nova"}).members(), kTale);
  // If a span is replaced, each member continues from where both texts differ.
  const Answer answer = WrittenText(all_->members(), About(kCertain));
  for (const Part& part : answer.parts) {
    EXPECT_GT(part.counts.generated + part.rated_tokens, answer.answered.generated.tokens.size());
    EXPECT_LE(part.computed_tokens, part.counts.prompt + part.counts.generated + part.rated_tokens);
  }
}

TEST_F(SpansTest, TokensAreOfTheMemberThatWroteTheMost) {
  const Answer answer = WrittenText(all_->members(), About(kCertain));
  const std::vector<size_t>& authors = answer.candidates.front().authors;
  ASSERT_EQ(authors.size(), 2u);
  const text::Tokenizer& tokenizer = *all_->members()[authors.front()].model.tokenizer;
  EXPECT_EQ(tokenizer.Decode(answer.answered.generated.tokens, {.skip_control = true}).value(),
            answer.answered.generated.text);
}

TEST_F(SpansTest, AMemberWithoutMemoryIsLeftOut) { ExpectAMemberWithoutMemoryIsLeftOut(); }

TEST_F(SpansTest, ACancelledQuestionHasNoAnswer) { ExpectACancelledQuestionHasNoAnswer(); }

TEST_F(SpansTest, WhatHasOneAuthorIsChosen) {
  Question question = About("Multiply 74 and 24 with the tool.");
  question.conversation.tools = nlohmann::ordered_json::parse(
      R"([{"type": "function", "function": {"name": "multiply", "description": "Multiplies.",
          "parameters": {"type": "object", "properties": {"a": {"type": "number"},
          "b": {"type": "number"}}, "required": ["a", "b"]}}}])");
  const Answer answer = WrittenText(all_->members(), question);
  EXPECT_EQ(answer.policy, Policy::kChoose);
  EXPECT_EQ(answer.answered.reply.calls.size(), 1u);
  EXPECT_THAT(Explain(answer), HasSubstr("policy  choose: tool calls, reasoning and "));
}

size_t CutOf(const std::vector<std::string>& tokens) {
  SpanCutter cutter;
  for (const std::string& token : tokens) {
    if (cutter.Push(token)) return cutter.tokens();
  }
  return 0;
}

TEST(SpanCutter, CutsBehindLinesAndSentences) {
  EXPECT_EQ(CutOf({"Yes", ",\n", "so"}), 2u);
  EXPECT_EQ(CutOf({"It", " is", " 3", ".", "5", ".", " Then"}), 6u);
  EXPECT_EQ(CutOf({"It", " is", " so", "."}), 0u);
  // A long span ends before a word; one without words, after a whole character.
  std::vector<std::string> words(30, " word");
  EXPECT_EQ(CutOf(words), 24u);
  std::vector<std::string> letters(46, "a");
  letters.insert(letters.end(), {"a", "\xC3", "\xA4"});
  EXPECT_EQ(CutOf(letters), 47u);
}

}  // namespace
}  // namespace aster::ensemble
