// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers of nodes with draft tokens: with every drafter and every request, they are those of one
// machine without draft tokens.
#include <gtest/gtest.h>

#include <limits>

#include "conduct/cluster_for_test.h"
#include "engine/oracle_proposers.h"
#include "engine/scheduler.h"

namespace aster::conduct {
namespace {

using engine::DraftKind;

// Longer prompts are computed by the prefill path, if there is one.
constexpr uint32_t kFewTokens = 20;

// The arguments of a request's callbacks.
struct AnswerRecord {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<engine::TokenLogprob> top;
  engine::FinishReason reason = engine::FinishReason::kFailed;
  bool operator==(const AnswerRecord&) const = default;
};

// Forbids a third of the tokens, others at each position.
void Edit(std::span<const int32_t> history, std::span<float> logits) {
  for (size_t id = 0; id < logits.size(); ++id) {
    if ((id + history.size()) % 3 == 0) logits[id] = -std::numeric_limits<float>::infinity();
  }
}

struct NamedRequest {
  std::string name;
  engine::Request request;
};

std::vector<NamedRequest> Requests() {
  std::vector<NamedRequest> named(5);
  for (NamedRequest& each : named) {
    each.request.max_tokens = 40;
    each.request.context_limit = 1000;
  }
  named[0].name = "greedy";
  named[1].name = "sampled";
  named[1].request.sampling.temperature = 1;
  named[1].request.sampling.seed = 5;
  named[1].request.sampling.repetition_penalty = 1.2F;
  named[1].request.sampling.logprobs = true;
  named[1].request.sampling.top_logprobs = 3;
  named[2].name = "edited";
  named[2].request.edit_logits = Edit;
  named[3].name = "edited and sampled";
  named[3].request = named[1].request;
  named[3].request.edit_logits = Edit;
  named[4].name = "stopped";
  named[4].request.stop_tokens = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  return named;
}

AnswerRecord RunAndRecord(engine::Generator& generator, engine::Sequence& sequence,
                          engine::Request request) {
  AnswerRecord record;
  request.sequence = &sequence;
  request.on_token = [&](const engine::Delta& delta) {
    record.tokens.push_back(delta.choice.id);
    record.logprobs.push_back(delta.choice.logprob);
    record.top.insert(record.top.end(), delta.choice.top.begin(), delta.choice.top.end());
  };
  request.on_finish = [&](const engine::Finish& finish) {
    EXPECT_TRUE(finish.status.ok());
    record.reason = finish.reason;
    // Each token after the first is that of a step, or an accepted draft token.
    const engine::DraftCounts& drafts = finish.counts.drafts;
    const uint64_t counted = drafts.steps + drafts.accepted + 1;
    EXPECT_EQ(counted, drafts.drafted > 0 ? record.tokens.size() : counted);
    EXPECT_LE(drafts.accepted, drafts.drafted);
  };
  EXPECT_TRUE(generator.Submit(std::move(request)).ok());
  while (!generator.idle()) EXPECT_TRUE(generator.Step().ok());
  return record;
}

// The answer of one machine without draft tokens.
AnswerRecord Plain(const std::vector<int32_t>& prompt, const engine::Request& request) {
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  engine::Sequence sequence = scheduler.NewSequence();
  sequence.SetHistory(prompt);
  return RunAndRecord(scheduler, sequence, request);
}

struct DraftCase {
  std::string split;
  DraftKind kind;
};

class EveryDrafter : public testing::TestWithParam<DraftCase> {};

TEST_P(EveryDrafter, GivesTheSameAnswers) {
  const std::vector<int32_t> prompt = model::RandomTokens(50, 298);
  for (const uint32_t right : {100, 60, 0}) {
    engine::OracleProposers proposers(right);
    TestCluster cluster(4, uint64_t{1} << 26, stage::StageOptions{.proposers = [&](auto&) {
                          return proposers.Another();
                        }});
    ConductorOptions options;
    options.proposers = &proposers;
    options.direct_tokens = kFewTokens;
    const auto conductor = cluster.ConductDrafting(GetParam().split, options);
    ASSERT_TRUE(conductor->Open().ok());
    for (NamedRequest& named : Requests()) {
      const AnswerRecord expected = Plain(prompt, named.request);
      std::vector<int32_t> text = prompt;
      text.insert(text.end(), expected.tokens.begin(), expected.tokens.end());
      proposers.AddText(text);
      named.request.draft = {.kind = GetParam().kind, .most = 4};
      engine::Sequence sequence = conductor->NewSequence();
      sequence.SetHistory(prompt);
      EXPECT_EQ(RunAndRecord(*conductor, sequence, named.request), expected)
          << named.name << " " << right;
      EXPECT_EQ(sequence.tokens(), text);
    }
  }
}

// An answer with draft tokens leaves the same KV rows as one without, even if they were sent to the
// prefill path.
TEST_P(EveryDrafter, IsContinuedInTheNextTurn) {
  engine::OracleProposers proposers(60);
  TestCluster cluster(4, uint64_t{1} << 26,
                      stage::StageOptions{.proposers = [&](auto&) { return proposers.Another(); }});
  ConductorOptions options;
  options.proposers = &proposers;
  options.direct_tokens = kFewTokens;
  const auto conductor = cluster.ConductDrafting(GetParam().split, options);
  engine::Request request;
  request.max_tokens = 80;
  request.context_limit = 1000;
  std::vector<int32_t> text = model::RandomTokens(50, 298);
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(text);
  for (uint64_t turn = 1; turn <= 2; ++turn) {
    request.draft = {};
    const AnswerRecord expected = Plain(text, request);
    text.insert(text.end(), expected.tokens.begin(), expected.tokens.end());
    proposers.AddText(text);
    request.draft = {.kind = GetParam().kind, .most = 4};
    EXPECT_EQ(RunAndRecord(*conductor, sequence, request), expected) << turn;
    for (const int32_t token : model::RandomTokens(30, 298, turn)) {
      text.push_back(token);
      sequence.Append(token);
    }
  }
}

// Draft tokens of constrained answers are checked, too.
TEST_P(EveryDrafter, DraftsWhereTokensAreChosenHere) {
  const std::vector<int32_t> prompt = model::RandomTokens(50, 298);
  engine::OracleProposers proposers;
  TestCluster cluster(4, uint64_t{1} << 26,
                      stage::StageOptions{.proposers = [&](auto&) { return proposers.Another(); }});
  ConductorOptions options;
  options.proposers = &proposers;
  options.direct_tokens = kFewTokens;
  const auto conductor = cluster.ConductDrafting(GetParam().split, options);
  ASSERT_TRUE(conductor->Open().ok());
  // An edit that forbids few tokens: the stage with the head mostly chooses the same ones.
  engine::Request request;
  request.max_tokens = 40;
  request.edit_logits = [](std::span<const int32_t>, std::span<float> logits) {
    logits[3] = -1e9F;
  };
  std::vector<int32_t> text = prompt;
  const AnswerRecord expected = Plain(prompt, request);
  text.insert(text.end(), expected.tokens.begin(), expected.tokens.end());
  proposers.AddText(text);
  request.draft = {.kind = GetParam().kind, .most = 4};
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(prompt);
  request.sequence = &sequence;
  const auto generated = engine::Generate(*conductor, request);
  ASSERT_TRUE(generated.ok()) << generated.error().message();
  EXPECT_EQ(generated->tokens, expected.tokens);
  EXPECT_GT(generated->finish.counts.drafts.accepted, 0u);
}

// A node fails while frames of draft tokens are in flight, and others take over.
TEST_P(EveryDrafter, ContinuesOnOtherNodesWithTheSameAnswer) {
  const std::vector<int32_t> prompt = model::RandomTokens(50, 298);
  engine::OracleProposers proposers(80);
  TestCluster cluster(4, uint64_t{1} << 26,
                      stage::StageOptions{.proposers = [&](auto&) { return proposers.Another(); }});
  ConductorOptions options;
  options.proposers = &proposers;
  options.direct_tokens = kFewTokens;
  const plan::Plan other =
      plan::ParseSplit("d=0:0,c=1:out", plan::kTestLayers, plan::TestNodes(4)).value();
  const auto conductor = cluster.ConductDrafting(
      GetParam().split, options, [&](const plan::Plan&, auto, const Error&) { return other; });
  engine::Request request;
  request.max_tokens = 40;
  request.context_limit = 1000;
  const AnswerRecord expected = Plain(prompt, request);
  std::vector<int32_t> text = prompt;
  text.insert(text.end(), expected.tokens.begin(), expected.tokens.end());
  proposers.AddText(text);
  request.draft = {.kind = GetParam().kind, .most = 4};
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(prompt);
  request.sequence = &sequence;
  std::vector<int32_t> tokens;
  request.on_token = [&](const engine::Delta& delta) {
    tokens.push_back(delta.choice.id);
    if (tokens.size() == 15)
      cluster.hub().Cut(plan::TestNode(99), conductor->plan().stages.back().node.id);
  };
  ASSERT_TRUE(conductor->Submit(request).ok());
  while (!conductor->idle()) ASSERT_TRUE(conductor->Step().ok());
  EXPECT_EQ(tokens, expected.tokens);
  // A node that decodes by itself may have sent all tokens when the first ones are handled.
  const bool is_asked = GetParam().split != "0:out" || GetParam().kind == DraftKind::kModel;
  EXPECT_LE(conductor->counters().replans, 1u);
  EXPECT_GE(conductor->counters().replans, is_asked ? 1u : 0u);
}

// Draft tokens take no memory from other requests, and preempted requests give the same answers.
TEST_P(EveryDrafter, WithLittleMemoryAndOtherRequests) {
  engine::OracleProposers proposers(80);
  TestCluster cluster(4, uint64_t{640} << 10,
                      stage::StageOptions{.proposers = [&](auto&) { return proposers.Another(); }});
  ConductorOptions options;
  options.proposers = &proposers;
  options.direct_tokens = kFewTokens;
  const auto conductor = cluster.ConductDrafting(GetParam().split, options);
  ASSERT_TRUE(conductor->Open().ok());
  constexpr size_t kRequests = 6;
  std::vector<std::vector<int32_t>> expected(kRequests), tokens(kRequests);
  std::vector<engine::Sequence> sequences;
  for (size_t i = 0; i < kRequests; ++i) sequences.push_back(conductor->NewSequence());
  for (size_t i = 0; i < kRequests; ++i) {
    const std::vector<int32_t> prompt = model::RandomTokens(100 + 20 * i, 298, i + 1);
    engine::Request request;
    request.max_tokens = 20 + 5 * i;
    request.context_limit = 1000;
    request.sampling.temperature = i % 2 == 0 ? 0 : 1;
    expected[i] = Plain(prompt, request).tokens;
    std::vector<int32_t> text = prompt;
    text.insert(text.end(), expected[i].begin(), expected[i].end());
    proposers.AddText(text);
    sequences[i].SetHistory(prompt);
    request.draft = {.kind = GetParam().kind, .most = 4};
    request.sequence = &sequences[i];
    request.on_token = [&record = tokens[i]](const engine::Delta& delta) {
      record.push_back(delta.choice.id);
    };
    request.on_finish = [](const engine::Finish& finish) {
      EXPECT_TRUE(finish.status.ok()) << finish.status.error().message();
    };
    ASSERT_TRUE(conductor->Submit(std::move(request)).ok());
  }
  while (!conductor->idle()) ASSERT_TRUE(conductor->Step().ok());
  EXPECT_EQ(tokens, expected);
}

INSTANTIATE_TEST_SUITE_P(
    OfRoutes, EveryDrafter,
    testing::Values(
        DraftCase{"0:out", DraftKind::kNgram}, DraftCase{"0:out", DraftKind::kMtp},
        DraftCase{"0:out", DraftKind::kModel}, DraftCase{"0:1,2:out", DraftKind::kNgram},
        DraftCase{"0:1,2:out", DraftKind::kMtp}, DraftCase{"0:1,2:out", DraftKind::kModel},
        DraftCase{"0:0,1:1,2:2,3:out", DraftKind::kModel},
        DraftCase{"b=0:1,a=2:out", DraftKind::kMtp}, DraftCase{"a+b=0:out", DraftKind::kMtp},
        DraftCase{"a=0:1,b=2:out decode c=0:1,d=2:out", DraftKind::kModel},
        DraftCase{"a=0:1,b=2:out decode b=0:1,a=2:out", DraftKind::kMtp},
        DraftCase{"a=0:2,b=3:out decode a=0:1,c=2:out", DraftKind::kNgram},
        DraftCase{"a=0:1,b=2:out decode c", DraftKind::kModel},
        DraftCase{"a=0:1,b+c=2:out", DraftKind::kMtp}));

}  // namespace
}  // namespace aster::conduct
