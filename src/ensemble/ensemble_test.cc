// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "ensemble/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/sanitized.h"
#include "ensemble/explanation.h"
#include "ensemble/late_for_test.h"
#include "ensemble/members_for_test.h"
#include "ensemble/mixture.h"

namespace aster::ensemble {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EnsembleTest : public testing::Test {
 protected:
  void SetUp() override { all_.emplace(Open({"nova", "pulsar"})); }

  OpenMembers Open(std::vector<std::string> names) {
    return models_.Open(std::move(names), clock_);
  }
  std::vector<Member> Weighted(double nova, double pulsar) const {
    std::vector<Member> members = all_->members();
    members[0].weight = nova;
    members[1].weight = pulsar;
    return members;
  }

  static Question Ask(const std::string& text, float temperature = 0) {
    Question question;
    question.conversation.messages.push_back({{"role", "user"}, {"content", text}});
    question.settings.sampling.temperature = temperature;
    question.settings.sampling.seed = 5;
    question.settings.max_tokens = 150;
    return question;
  }
  Answer Answered(std::vector<Member> members, const Question& question) {
    Ensemble ensemble(std::move(members), clock_, {.wait_ns = 1'000'000'000});
    return AnswerOne(ensemble, question).value();
  }
  // By one model, as without an ensemble.
  static engine::Generated Alone(const Member& member, const Question& question) {
    class Silent final : public respond::Listener {
      void OnPiece(const respond::Piece&) override {}
      void OnEnd(const respond::End&) override {}
    } silent;
    engine::Sequence sequence = member.generator->NewSequence();
    const auto prompt = respond::MakePrompt(member.model, question.conversation).value();
    return respond::Run(*member.generator, sequence, member.model, question.settings, prompt,
                        silent)
        .value()
        .generated;
  }

  VirtualClock clock_;
  MembersForTest models_;
  std::optional<OpenMembers> all_;
};

constexpr const char* kProgram = "What does this program print?\nx = 5\nn = x * 8\nprint(n)";
constexpr const char* kProduct = "45 x 8 = ?";
constexpr const char* kFact = "What colour is the sky?";

TEST_F(EnsembleTest, TheMemberThatKnowsIsTaken) {
  const Answer program = Answered(all_->members(), Ask(kProgram));
  EXPECT_THAT(program.answered.generated.text, HasSubstr("Answer: 40"));
  EXPECT_EQ(program.author(), "pulsar");
  ASSERT_EQ(program.candidates.size(), 2u);
  EXPECT_LT(program.candidates[1].bits_per_byte, program.candidates[0].bits_per_byte);
  EXPECT_THAT(Explain(program), HasSubstr("taken   pulsar: "));
  EXPECT_THAT(Explain(program), HasSubstr("dropped nova: "));
  const Answer product = Answered(all_->members(), Ask(kProduct));
  EXPECT_THAT(product.answered.generated.text, HasSubstr("Answer: 360"));
}

TEST_F(EnsembleTest, TheSameModelTwiceIsThatModel) {
  const OpenMembers twice = Open({"nova", "nova"});
  for (const float temperature : {0.0F, 1.0F}) {
    const Question question = Ask(kProgram, temperature);
    const Answer answer = Answered(twice.members(), question);
    EXPECT_EQ(answer.answered.generated.tokens, Alone(twice.members()[0], question).tokens);
    EXPECT_THAT(answer.candidates.front().authors, ElementsAre(0, 1));
    // Two that agree have nothing to rate.
    EXPECT_EQ(answer.parts[0].rated_tokens + answer.parts[1].rated_tokens, 0u);
  }
}

TEST_F(EnsembleTest, AMemberOfAllTheWeightIsThatModel) {
  for (const float temperature : {0.0F, 1.0F}) {
    const Question question = Ask(kProduct, temperature);
    for (size_t i = 0; i < 2; ++i) {
      const std::vector<Member> members = Weighted(i == 0 ? 1 : 0, i == 1 ? 1 : 0);
      const Answer answer = Answered(members, question);
      EXPECT_EQ(answer.answered.generated.tokens, Alone(members[i], question).tokens);
      EXPECT_FALSE(answer.parts[1 - i].has_answered);
    }
  }
}

// Texts, authors and ratings, as bits.
std::vector<std::pair<std::string, double>> Bits(const Answer& answer) {
  std::vector<std::pair<std::string, double>> bits = {{answer.answered.generated.text, 0}};
  for (const Candidate& candidate : answer.candidates) {
    bits.emplace_back(candidate.text, candidate.bits_per_byte);
    for (const double each : candidate.member_bits) bits.emplace_back("", each);
  }
  return bits;
}

TEST_F(EnsembleTest, TheOrderOfArrivalChangesNothing) {
  const Question question = Ask(kProgram);
  const auto expected = Bits(Answered(all_->members(), question));
  for (const auto& [first, second] : std::vector<std::pair<int, int>>{{200, 0}, {0, 200}, {9, 4}}) {
    std::vector<Member> members = all_->members();
    Late late_first(*members[0].generator), late_second(*members[1].generator);
    late_first.lateness = first;
    late_second.lateness = second;
    members[0].generator = &late_first;
    members[1].generator = &late_second;
    EXPECT_EQ(Bits(Answered(members, question)), expected);
  }
}

TEST_F(EnsembleTest, AThreadForEachMemberChangesNothing) {
  for (const float temperature : {0.0F, 1.0F}) {
    const Question question = Ask(kProgram, temperature);
    std::vector<Member> members = all_->members();
    const auto expected = Bits(Answered(members, question));
    for (Member& member : members) {
      member.is_elsewhere = true;
      EXPECT_EQ(Bits(Answered(members, question)), expected);
    }
  }
}

TEST_F(EnsembleTest, OtherQuestionsBesideItChangeNothing) {
  const std::vector<std::string> texts = {kProgram, kProduct, kFact, "Sort: 9, 4, 7"};
  std::map<std::string, std::vector<std::pair<std::string, double>>> expected;
  for (const std::string& text : texts) expected[text] = Bits(Answered(all_->members(), Ask(text)));
  Ensemble ensemble(all_->members(), clock_);
  size_t answered = 0;
  for (const std::string& text : texts) {
    ensemble.Ask(Ask(text), [&, text](Result<Answer> answer) {
      EXPECT_EQ(Bits(answer.value()), expected[text]);
      ++answered;
    });
  }
  while (!ensemble.idle()) ensemble.Step();
  EXPECT_EQ(answered, texts.size());
}

// Computed by itself, from the first token.
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
  const Question question = Ask(kProgram);
  const std::vector<Member> members = all_->members();
  const Answer answer = Answered(members, question);
  ASSERT_EQ(answer.candidates.size(), 2u);
  std::vector<int32_t> ends;  // as each member writes it
  for (const Member& member : members) ends.push_back(Alone(member, question).finish.stop_token);
  for (const Candidate& candidate : answer.candidates) {
    for (size_t i = 0; i < 2; ++i) {
      const double bits = BitsPerByte(Rated(members[i], question, candidate.text, ends[i]),
                                      candidate.text.size() + 1);
      EXPECT_NEAR(candidate.member_bits[i], bits, 1e-9) << candidate.text;
    }
  }
  // Only the other's text was computed, and not the part of it that is the member's own.
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
  ensemble.Ask(Ask(kProgram), [&](Result<Answer> given) { answer = std::move(given).value(); });
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
  const Answer next = AnswerOne(ensemble, Ask(kProgram)).value();
  EXPECT_EQ(next.author(), "pulsar");
  EXPECT_FALSE(next.parts[1].absence);
}

TEST_F(EnsembleTest, AMemberThatIsGoneIsLeftOutAndComesBack) {
  std::vector<Member> members = all_->members();
  Late late(*members[1].generator);
  members[1].generator = &late;
  late.is_broken = true;
  Ensemble ensemble(members, clock_);
  const Answer answer = AnswerOne(ensemble, Ask(kProgram)).value();
  EXPECT_EQ(answer.answered.generated.tokens, Alone(members[0], Ask(kProgram)).tokens);
  EXPECT_THAT(Explain(answer), HasSubstr("absent  pulsar: no node is left"));
  late.is_broken = false;
  EXPECT_EQ(Bits(AnswerOne(ensemble, Ask(kProgram)).value()),
            Bits(Answered(all_->members(), Ask(kProgram))));
}

TEST_F(EnsembleTest, AMemberWithoutRoomIsLeftOut) {
  std::vector<Member> members = all_->members();
  members[1].context_limit = 4;
  Ensemble ensemble(members, clock_);
  const Answer answer = AnswerOne(ensemble, Ask(kFact)).value();
  EXPECT_EQ(answer.author(), "nova");
  EXPECT_EQ(answer.parts[1].absence->code(), Code::kOutOfRange);
  members[0].context_limit = 4;
  Ensemble none(members, clock_);
  EXPECT_THAT(AnswerOne(none, Ask(kFact)).error().message(), HasSubstr("nova: the prompt has"));
}

TEST_F(EnsembleTest, TokensOfAllMembersAreCounted) {
  const Question question = Ask(kProgram);
  const Answer answer = Answered(all_->members(), question);
  const engine::RequestCounts& counts = answer.answered.generated.finish.counts;
  EXPECT_EQ(counts.generated, answer.parts[0].counts.generated + answer.parts[1].counts.generated);
  EXPECT_EQ(counts.prompt, answer.parts[0].counts.prompt + answer.parts[1].counts.prompt);
  EXPECT_GT(answer.parts[0].counts.generated, 0u);
}

TEST_F(EnsembleTest, ACancelledQuestionHasNoAnswer) {
  Ensemble ensemble(all_->members(), clock_);
  const auto answer = AnswerOne(ensemble, Ask(kProgram), [] { return true; });
  EXPECT_EQ(answer.error().code(), Code::kCancelled);
}

TEST_F(EnsembleTest, AnAnswerThatCallsAToolIsRatedInItsMarkup) {
  Question question = Ask("Multiply 74 and 24 with the tool.");
  question.conversation.tools = nlohmann::ordered_json::parse(
      R"([{"type": "function", "function": {"name": "multiply", "description": "Multiplies.",
          "parameters": {"type": "object", "properties": {"a": {"type": "number"},
          "b": {"type": "number"}}, "required": ["a", "b"]}}}])");
  const Answer answer = Answered(all_->members(), question);
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
