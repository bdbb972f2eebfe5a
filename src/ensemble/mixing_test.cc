// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/mixing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ensemble/ensemble.h"
#include "ensemble/explanation.h"
#include "ensemble/late_for_test.h"
#include "ensemble/policy_for_test.h"
#include "ensemble/shares.h"
#include "ensemble/symbols.h"

namespace aster::ensemble {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

class MixingTest : public PolicyTest {
 protected:
  MixingTest() : PolicyTest(Policy::kBytes) {}
};

TEST_F(MixingTest, TheSameModelTwiceIsThatModel) { ExpectTheSameModelTwiceIsThatModel(); }
TEST_F(MixingTest, AMemberOfAllTheWeightIsThatModel) { ExpectAMemberOfAllTheWeightIsThatModel(); }
TEST_F(MixingTest, LimitsAndStopStringsAreTheModels) { ExpectLimitsAndStopStringsAreTheModels(); }
TEST_F(MixingTest, TheOrderOfArrivalChangesNothing) { ExpectTheOrderOfArrivalChangesNothing(); }
TEST_F(MixingTest, OtherQuestionsBesideItChangeNothing) {
  ExpectOtherQuestionsBesideItChangeNothing();
}

TEST_F(MixingTest, TwoVocabulariesWriteOneText) {
  std::string told;
  const Answer answer = WrittenText(all_->members(), About(kSum),
                                    [&](const AnswerPiece& piece) { told += piece.text; });
  EXPECT_EQ(answer.policy, Policy::kBytes);
  EXPECT_THAT(answer.answered.generated.text, HasSubstr("19"));
  std::string whole;
  for (const DecidedSpan& span : answer.spans) whole += span.taken().text;
  EXPECT_EQ(whole, answer.answered.generated.text);
  EXPECT_THAT(whole, testing::StartsWith(told));
  EXPECT_EQ(ExplanationToJson(answer)["policy"], "bytes");
  for (const Part& part : answer.parts) {
    EXPECT_GT(part.counts.generated, 0u);
    EXPECT_LT(part.left_out, 0.05);
  }
  // The same seed gives the same text.
  EXPECT_EQ(BitsOf(WrittenText(all_->members(), About(kTale, 1))),
            BitsOf(WrittenText(all_->members(), About(kTale, 1))));
}

TEST_F(MixingTest, ModelsOfOneVocabularyMixTokens) {
  const OpenMembers both = Open({"nova", "comet"});
  ASSERT_TRUE(HaveOneVocabulary(Ensemble(both.members(), clock_).members()));
  const Answer answer = WrittenText(both.members(), About(kSum));
  EXPECT_FALSE(answer.answered.generated.tokens.empty());
  EXPECT_EQ(answer.parts[0].counts.generated, answer.answered.generated.tokens.size());
  EXPECT_EQ(answer.parts[1].counts.generated, answer.answered.generated.tokens.size());
}

TEST_F(MixingTest, AMemberThatIsGoneIsLeftOut) {
  std::vector<Member> members = all_->members();
  Late late(*members[1].generator);
  members[1].generator = &late;
  late.is_broken = true;
  Ensemble ensemble(members, clock_, options_);
  const Answer alone = AnswerOne(ensemble, About(kTale)).value();
  EXPECT_THAT(alone.spans, Each(Field(&DecidedSpan::decision, Decision::kAlone)));
  EXPECT_THAT(Explain(alone), HasSubstr("absent  pulsar: no node is left"));
  // The next question asks it again.
  late.is_broken = false;
  EXPECT_EQ(BitsOf(AnswerOne(ensemble, About(kTale)).value()),
            BitsOf(WrittenText(all_->members(), About(kTale))));
}

TEST_F(MixingTest, AStalledMemberIsWaitedForAndThenLeftOut) {
  EXPECT_EQ(WithStalled(1, About(kSum)).author(), "nova");
}

TEST_F(MixingTest, NoTokenIsComputedTwice) {
  ExpectNoTokenIsComputedTwice(Open({"nova", "nova"}).members(), kTale);
  ExpectNoTokenIsComputedTwice(all_->members(), kSum);
}

TEST_F(MixingTest, AMemberWithoutMemoryIsLeftOut) { ExpectAMemberWithoutMemoryIsLeftOut(); }

TEST_F(MixingTest, ACancelledQuestionHasNoAnswer) { ExpectACancelledQuestionHasNoAnswer(); }

TEST(MixScores, OfEqualMembersAreTheirs) {
  const std::vector<float> scores = {0.3F, -1.7F, 12.25F, -INFINITY, 3e-7F};
  const double total = LogTotal(scores);
  const std::vector<std::vector<float>> twice = {scores, scores, scores};
  EXPECT_EQ(MixScores(twice, std::vector{total, total, total}, std::vector{0.7, 0.1, 3.0}), scores);
}

TEST(MixScores, AreOfTheMean) {
  const std::vector<std::vector<float>> scores = {{5, 5}, {-INFINITY, 2}};
  const auto mixed =
      MixScores(scores, std::vector{LogTotal(scores[0]), LogTotal(scores[1])}, std::vector{1., 1.});
  // The probabilities are the means of 1/2 and 0, and of 1/2 and 1.
  EXPECT_NEAR(std::exp(mixed[0] - LogTotal(mixed)), 0.25, 1e-6);
  EXPECT_NEAR(std::exp(mixed[1] - LogTotal(mixed)), 0.75, 1e-6);
}

TEST(Shares, JoinWordsOfTheSameMembers) {
  Shares shares(2);
  for (const char* const symbol : {"a", "b", " ", "c", " ", "d"})
    shares.Add(symbol, {-1, -2}, -1.5, {true, std::string_view(symbol) != "d"});
  const std::vector<DecidedSpan> parts = shares.TakeParts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].taken().text, "ab c");
  EXPECT_EQ(parts[0].decision, Decision::kAgreed);
  EXPECT_EQ(parts[1].taken().text, " d");
  EXPECT_EQ(parts[1].decision, Decision::kMixed);
  EXPECT_THAT(parts[1].taken().authors, ElementsAre(0));
  EXPECT_THAT(shares.bytes_by(), ElementsAre(6, 0));
}

}  // namespace
}  // namespace aster::ensemble
