// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ensemble/explanation.h"
#include "ensemble/late_for_test.h"
#include "ensemble/mixture.h"
#include "ensemble/policy_for_test.h"

namespace aster::ensemble {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EnsembleTest : public PolicyTest {
 protected:
  EnsembleTest() : PolicyTest(Policy::kChoose) {}
};

constexpr const char* kProduct = "45 x 8 = ?";
constexpr const char* kFact = "What colour is the sky?";

TEST_F(EnsembleTest, TheMoreCertainMembersAnswerIsTaken) {
  const Answer program = WrittenText(all_->members(), About(kListing));
  EXPECT_THAT(program.answered.generated.text, HasSubstr("Answer: 40"));
  EXPECT_EQ(program.author(), "pulsar");
  ASSERT_EQ(program.candidates.size(), 2u);
  EXPECT_LT(program.candidates[1].bits_per_byte, program.candidates[0].bits_per_byte);
  EXPECT_THAT(Explain(program), HasSubstr("taken   pulsar: "));
  EXPECT_THAT(Explain(program), HasSubstr("dropped nova: "));
  const Answer product = WrittenText(all_->members(), About(kProduct));
  EXPECT_THAT(product.answered.generated.text, HasSubstr("Answer: 360"));
}

TEST_F(EnsembleTest, TheSameModelTwiceIsThatModel) {
  ExpectTheSameModelTwiceIsThatModel();
  const OpenMembers twice = Open({"nova", "nova"});
  const Answer answer = WrittenText(twice.members(), About(kListing));
  EXPECT_THAT(answer.candidates.front().authors, ElementsAre(0, 1));
  // If both agree, there is nothing to rate.
  EXPECT_EQ(answer.parts[0].rated_tokens + answer.parts[1].rated_tokens, 0u);
}

TEST_F(EnsembleTest, AMemberOfAllTheWeightIsThatModel) { ExpectAMemberOfAllTheWeightIsThatModel(); }
TEST_F(EnsembleTest, TheOrderOfArrivalChangesNothing) { ExpectTheOrderOfArrivalChangesNothing(); }
TEST_F(EnsembleTest, OtherQuestionsBesideItChangeNothing) {
  ExpectOtherQuestionsBesideItChangeNothing();
}

// The rating of the text by the member alone, from the first token.
double Rated(const Member& member, const Question& question, const std::string& text, int32_t end) {
  const auto prompt = respond::MakePrompt(member.model, question.conversation).value();
  std::vector<int32_t> tokens = member.model.prompt->Encode(prompt.text + text).value();
  tokens.push_back(end);
  engine::SamplingOptions options;
  options.logprobs = true;
  engine::Sampler sampler(options, member.generator->shape().vocab_size);
  double sum = 0;
  size_t position = 0;
  EXPECT_TRUE(member.generator
                  ->LogitsOf(std::span(tokens).first(tokens.size() - 1), 64,
                             [&](std::span<const float> logits) {
                               if (++position >= prompt.tokens.size())
                                 sum += sampler.Rate(logits, tokens[position]).value().logprob;
                               return Ok();
                             })
                  .ok());
  return sum;
}

TEST_F(EnsembleTest, ARatingIsTheProbabilityOfTheWholeText) {
  const Question question = About(kListing);
  const std::vector<Member> members = all_->members();
  const Answer answer = WrittenText(members, question);
  ASSERT_EQ(answer.candidates.size(), 2u);
  std::vector<int32_t> ends;  // each member's end of the text
  for (const Member& member : members)
    ends.push_back(ByModelAlone(member, question).generated.finish.stop_token);
  for (const Candidate& candidate : answer.candidates) {
    for (size_t i = 0; i < 2; ++i) {
      const double bits = BitsPerByte(Rated(members[i], question, candidate.text, ends[i]),
                                      candidate.text.size() + 1);
      EXPECT_NEAR(candidate.member_bits[i], bits, 1e-9) << candidate.text;
    }
  }
  // Only the other member's text was computed, without the part that is the member's own.
  for (const Part& part : answer.parts) {
    EXPECT_GT(part.rated_tokens, 0u);
    EXPECT_LT(part.rated_tokens, 150u);
  }
}

TEST_F(EnsembleTest, AStalledMemberIsWaitedForAndThenLeftOut) {
  std::vector<Member> members = all_->members();
  Late late(*members[1].generator);
  members[1].generator = &late;
  late.is_stalled = true;
  Ensemble ensemble(members, clock_, {.wait_ns = 3'000'000'000});
  std::optional<Answer> answer;
  ensemble.Ask(About(kListing), [&](Result<Answer> given) { answer = std::move(given).value(); });
  for (int step = 0; step < 200; ++step) ensemble.Step();
  EXPECT_FALSE(answer);
  clock_.AdvanceBy(2'999'999'999);
  ensemble.Step();
  EXPECT_FALSE(answer);
  clock_.AdvanceBy(1);
  ensemble.Step();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->author(), "nova");
  EXPECT_THAT(answer->parts[1].absence->message(), HasSubstr("not done 3.0 s after"));
  EXPECT_EQ(ExplanationToJson(*answer)["members"][1]["answered"], false);
  // The next question asks it again.
  late.is_stalled = false;
  const Answer next = AnswerOne(ensemble, About(kListing)).value();
  EXPECT_EQ(next.author(), "pulsar");
  EXPECT_FALSE(next.parts[1].absence);
}

TEST_F(EnsembleTest, AMemberThatIsGoneIsLeftOutAndComesBack) {
  std::vector<Member> members = all_->members();
  Late late(*members[1].generator);
  members[1].generator = &late;
  late.is_broken = true;
  Ensemble ensemble(members, clock_);
  const Answer answer = AnswerOne(ensemble, About(kListing)).value();
  ExpectSame(answer, ByModelAlone(members[0], About(kListing)));
  EXPECT_THAT(Explain(answer), HasSubstr("absent  pulsar: no node is left"));
  late.is_broken = false;
  EXPECT_EQ(BitsOf(AnswerOne(ensemble, About(kListing)).value()),
            BitsOf(WrittenText(all_->members(), About(kListing))));
}

TEST_F(EnsembleTest, AMemberWithoutRoomIsLeftOut) {
  std::vector<Member> members = all_->members();
  members[1].context_limit = 4;
  Ensemble ensemble(members, clock_);
  const Answer answer = AnswerOne(ensemble, About(kFact)).value();
  EXPECT_EQ(answer.author(), "nova");
  EXPECT_EQ(answer.parts[1].absence->code(), Code::kOutOfRange);
  members[0].context_limit = 4;
  Ensemble none(members, clock_);
  EXPECT_THAT(AnswerOne(none, About(kFact)).error().message(), HasSubstr("nova: the prompt has"));
}

TEST_F(EnsembleTest, TokensOfAllMembersAreCounted) {
  const Question question = About(kListing);
  const Answer answer = WrittenText(all_->members(), question);
  const engine::RequestCounts& counts = answer.answered.generated.finish.counts;
  EXPECT_EQ(counts.generated, answer.parts[0].counts.generated + answer.parts[1].counts.generated);
  EXPECT_EQ(counts.prompt, answer.parts[0].counts.prompt + answer.parts[1].counts.prompt);
  EXPECT_GT(answer.parts[0].counts.generated, 0u);
}

TEST_F(EnsembleTest, AMemberWithoutMemoryIsLeftOut) { ExpectAMemberWithoutMemoryIsLeftOut(); }

TEST_F(EnsembleTest, ACancelledQuestionHasNoAnswer) { ExpectACancelledQuestionHasNoAnswer(); }

TEST_F(EnsembleTest, NoTokenIsComputedTwice) {
  ExpectNoTokenIsComputedTwice(all_->members(), kSum);
}

TEST_F(EnsembleTest, ThePolicyThatIsBestSaysWhy) {
  Ensemble ensemble(all_->members(), clock_, {.policy = Policy::kAuto});
  const Answer answer = AnswerOne(ensemble, About(kFact)).value();
  EXPECT_EQ(answer.policy, Policy::kChoose);
  EXPECT_THAT(Explain(answer), HasSubstr("policy  choose: whole answers are compared better"));
  Question text;
  text.text = "The baker of the village";
  text.settings.max_tokens = 4;
  const Answer goes_on = AnswerOne(ensemble, text).value();
  EXPECT_EQ(goes_on.policy, Policy::kBytes);
  EXPECT_THAT(std::string(ExplanationToJson(goes_on)["policy_reason"]),
              HasSubstr("continued best by all members together"));
}

TEST_F(EnsembleTest, AnAnswerThatCallsAToolIsRatedInItsMarkup) {
  Question question = About("Multiply 74 and 24 with the tool.");
  question.conversation.tools = nlohmann::ordered_json::parse(
      R"([{"type": "function", "function": {"name": "multiply", "description": "Multiplies.",
          "parameters": {"type": "object", "properties": {"a": {"type": "number"},
          "b": {"type": "number"}}, "required": ["a", "b"]}}}])");
  const Answer answer = WrittenText(all_->members(), question);
  ASSERT_EQ(answer.answered.reply.calls.size(), 1u);
  EXPECT_EQ(answer.answered.reply.calls[0].name, "multiply");
}

TEST(Members, ThatCannotBeAnEnsembleAreRefused) {
  const auto message = [](std::vector<double> weights) {
    std::vector<Member> members;
    for (const double weight : weights) members.push_back({.name = "m", .weight = weight});
    const Status checked = CheckMembers(members);
    return checked.ok() ? std::string() : checked.error().message();
  };
  EXPECT_THAT(message({1}), HasSubstr("two members"));
  EXPECT_THAT(message({1, -1}), HasSubstr("weight of m is -1"));
  EXPECT_THAT(message({0, 0}), HasSubstr("every weight is 0"));
  EXPECT_THAT(message({0, 2.5}), IsEmpty());
}

TEST(Members, HaveNamesOfTheirOwn) {
  EXPECT_THAT(DistinctNames({"/a/nova.gguf", "/b/pulsar.gguf", "/c/nova.gguf"}),
              ElementsAre("nova", "pulsar", "nova 2"));
}

}  // namespace
}  // namespace aster::ensemble
