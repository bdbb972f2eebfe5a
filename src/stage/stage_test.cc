// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Work may be wrong in every way: a stage computes only segments that continue its KV cache.

#include "stage/stage.h"

#include <gtest/gtest.h>

#include <limits>

#include "kv/prefix_hash.h"
#include "plan/model_for_test.h"

namespace aster::stage {
namespace {

constexpr wire::RouteId kRoute = 5;

// A stage with all of a model's layers, and its memory.
struct Whole {
  explicit Whole(engine::LocalModel& model)
      : memory(kRoute, model),
        stage(kRoute, wire::RowEncoding::kF32, memory, model.slice(), /*index=*/0) {}

  wire::Holds Begin(const wire::Begin& begin) {
    const Status begun = memory.Begin(begin);
    wire::Holds holds = stage.HoldsOf(begin.sequence);
    if (!begun.ok()) holds.why = begun.error();
    return holds;
  }
  void End(wire::SequenceId sequence) { memory.End(sequence); }
  Result<StageOutput> Compute(wire::Work work) { return stage.Compute(std::move(work)); }
  size_t sequence_count() const { return memory.sequence_count(); }

  StageMemory memory;
  Stage stage;
};

class StageTest : public testing::Test {
 protected:
  static std::unique_ptr<engine::LocalModel> Model(const model::Slice& slice,
                                                   uint64_t kv_bytes = uint64_t{1} << 24) {
    engine::LocalModelOptions options;
    options.memory_bytes = kv_bytes;
    options.name = plan::TestModel::kFingerprint;
    return plan::TestModel::Get().Make(slice, options);
  }
  static wire::Begin BeginOf(std::span<const int32_t> tokens, wire::SequenceId sequence = 1) {
    wire::Begin begin;
    begin.route = kRoute;
    begin.sequence = sequence;
    begin.tokens.assign(tokens.begin(), tokens.end());
    return begin;
  }
  // Valid work on tokens [begin, end).
  wire::Work WorkOf(uint32_t begin, uint32_t end, wire::Wanted wanted = wire::Wanted::kToken) {
    kv::TokenHistory history(first_->layout().digest());
    history.Append(tokens_);
    wire::Work work;
    work.route = kRoute;
    wire::WorkSegment segment;
    segment.sequence = 1;
    segment.attempt = ++attempt_;
    segment.begin = begin;
    segment.tokens.assign(tokens_.begin() + begin, tokens_.begin() + end);
    segment.before = history.HashAt(begin);
    segment.after = history.HashAt(end);
    segment.wanted = wanted;
    work.segments.push_back(std::move(segment));
    return work;
  }
  static std::string WhyRefused(Whole& stage, wire::Work work) {
    auto output = stage.Compute(std::move(work));
    if (!output.ok()) return "frame: " + output.error().message();
    if (output->refused.empty()) return "";
    EXPECT_FALSE(output->next || output->done);
    return output->refused[0].why.message();
  }

  const std::vector<int32_t> tokens_ = model::RandomTokens(200, 298);
  const std::unique_ptr<engine::LocalModel> first_ = Model({0, 2, true, false});
  const std::unique_ptr<engine::LocalModel> last_ = Model({2, plan::kTestLayers, false, true});
  uint64_t attempt_ = 0;
};

TEST_F(StageTest, RowsGoOnAndATokenComesBack) {
  Whole first(*first_), last(*last_);
  EXPECT_EQ(first.Begin(BeginOf(tokens_)).length, 0u);
  EXPECT_EQ(last.Begin(BeginOf(tokens_)).length, 0u);
  auto output = first.Compute(WorkOf(0, 200)).value();
  ASSERT_TRUE(output.next && !output.done);
  EXPECT_EQ(output.next->rows.size(), 200 * 128 * sizeof(float));
  output = last.Compute(*std::move(output.next)).value();
  ASSERT_TRUE(output.done && !output.next);
  ASSERT_EQ(output.done->results.size(), 1u);
  EXPECT_EQ(output.done->results[0].end, 200u);
  EXPECT_GE(output.done->results[0].token, 0);
  EXPECT_TRUE(output.done->logits.empty());
}

TEST_F(StageTest, OnlyWhatFollowsIsComputed) {
  Whole stage(*first_);
  EXPECT_NE(WhyRefused(stage, WorkOf(0, 10)).find("never begun"), std::string::npos);
  static_cast<void>(stage.Begin(BeginOf(tokens_)));
  EXPECT_NE(WhyRefused(stage, WorkOf(10, 20)).find("the KV cache ends at 0"), std::string::npos);
  EXPECT_EQ(WhyRefused(stage, WorkOf(0, 20)), "");
  // The same place, another history.
  wire::Work other = WorkOf(20, 30);
  other.segments[0].before.low ^= 1;
  EXPECT_NE(WhyRefused(stage, other).find("20 tokens before differ"), std::string::npos);
  // The tokens do not have the given hash.
  wire::Work changed = WorkOf(20, 30);
  changed.segments[0].tokens[3] ^= 1;
  EXPECT_NE(WhyRefused(stage, changed).find("do not have the hash"), std::string::npos);
  wire::Work old = WorkOf(20, 30);
  old.segments[0].attempt = 1;
  EXPECT_NE(WhyRefused(stage, old).find("earlier attempt"), std::string::npos);
  wire::Work strange = WorkOf(20, 30);
  strange.segments[0].tokens[0] = 300;
  EXPECT_NE(WhyRefused(stage, strange).find("token 300"), std::string::npos);
  strange = WorkOf(20, 30);
  strange.segments[0].tokens[0] = -1;
  EXPECT_NE(WhyRefused(stage, strange).find("token -1"), std::string::npos);
  // None of that has changed the KV cache.
  EXPECT_EQ(WhyRefused(stage, WorkOf(20, 30)), "");
  // The sequence goes back, and forward again.
  EXPECT_EQ(WhyRefused(stage, WorkOf(5, 30)), "");
}

TEST_F(StageTest, FramesThatNoStageSendsAreErrors) {
  Whole last(*last_);
  static_cast<void>(last.Begin(BeginOf(tokens_)));
  wire::Work work = WorkOf(0, 4);
  EXPECT_NE(WhyRefused(last, work).find("0 bytes of rows as f32; 2048 bytes"), std::string::npos);
  work.rows.resize(2049);
  EXPECT_NE(WhyRefused(last, work).find("frame: "), std::string::npos);
  work.rows.resize(2048);
  work.encoding = wire::RowEncoding::kQ8;
  EXPECT_NE(WhyRefused(last, work).find("as q8"), std::string::npos);
  work.encoding = wire::RowEncoding::kF32;
  work.segments.push_back(work.segments[0]);
  EXPECT_NE(WhyRefused(last, work).find("a sequence twice"), std::string::npos);
  work.segments.resize(1);
  work.segments[0].tokens.clear();
  EXPECT_NE(WhyRefused(last, work).find("empty segment"), std::string::npos);
  work.segments.clear();
  EXPECT_NE(WhyRefused(last, work).find("0 tokens"), std::string::npos);
}

// The first stage keeps rows of rejected draft tokens until a segment begins before them.
TEST_F(StageTest, DraftsAreAcceptedAsFarAsTheyAgree) {
  Whole first(*first_), last(*last_);
  std::vector<int32_t> text = tokens_;
  const auto answer = [&](std::vector<int32_t> drafts) {
    wire::Work work = WorkOf(0, 1);
    wire::WorkSegment& segment = work.segments[0];
    kv::TokenHistory history(first_->layout().digest());
    history.Append(text);
    const uint32_t end = static_cast<uint32_t>(text.size());
    segment.begin = text.size() == tokens_.size() ? 0 : end - 1;
    segment.tokens.assign(text.begin() + segment.begin, text.end());
    segment.tokens.insert(segment.tokens.end(), drafts.begin(), drafts.end());
    segment.before = history.HashAt(segment.begin);
    segment.after = kv::ExtendPrefixHash(history.HashAt(end), drafts);
    segment.draft_count = static_cast<uint32_t>(drafts.size());
    StageOutput output = first.Compute(std::move(work)).value();
    output = last.Compute(*std::move(output.next)).value();
    std::vector<int32_t> tokens = {output.done->results.at(0).token};
    EXPECT_EQ(output.done->results[0].drafted, drafts.size());
    for (const wire::Done& done : output.accepted) {
      EXPECT_TRUE(done.results.at(0).is_accepted && done.results[0].drafted == 0);
      EXPECT_EQ(done.results[0].end, end + tokens.size());
      tokens.push_back(done.results[0].token);
    }
    text.insert(text.end(), tokens.begin(), tokens.end());
    return tokens;
  };
  const auto begin = [&] {
    text = tokens_;
    static_cast<void>(first.Begin(BeginOf(tokens_)));
    static_cast<void>(last.Begin(BeginOf(tokens_)));
  };
  begin();
  std::vector<int32_t> plain;
  for (int i = 0; i < 6; ++i) plain.push_back(answer({}).at(0));
  begin();
  EXPECT_EQ(answer({}), (std::vector<int32_t>{plain[0]}));
  EXPECT_EQ(answer({plain[1], plain[2], (plain[3] + 1) % 298}),
            (std::vector<int32_t>{plain[1], plain[2], plain[3]}));
  EXPECT_EQ(answer({(plain[4] + 1) % 298}), (std::vector<int32_t>{plain[4]}));
  EXPECT_EQ(answer({}), (std::vector<int32_t>{plain[5]}));
  // An invalid frame.
  wire::Work strange = WorkOf(0, 3);
  strange.segments[0].draft_count = 1;
  EXPECT_NE(WhyRefused(first, strange).find("of which 1 are drafts"), std::string::npos);
}

TEST_F(StageTest, RowsThatAreNoNumbersFailAloneAndCleanly) {
  Whole last(*last_);
  static_cast<void>(last.Begin(BeginOf(tokens_)));
  wire::Work work = WorkOf(0, 2);
  const std::vector<float> rows(2 * 128, std::numeric_limits<float>::quiet_NaN());
  const auto* bytes = reinterpret_cast<const uint8_t*>(rows.data());
  work.rows.assign(bytes, bytes + rows.size() * sizeof(float));
  const auto output = last.Compute(std::move(work)).value();
  ASSERT_TRUE(output.done);
  EXPECT_TRUE(output.done->results[0].has_failed);
}

TEST_F(StageTest, BeginTakesOverWhatIsEqual) {
  Whole stage(*first_);
  static_cast<void>(stage.Begin(BeginOf(tokens_)));
  EXPECT_EQ(WhyRefused(stage, WorkOf(0, 200)), "");
  EXPECT_EQ(stage.Begin(BeginOf(tokens_)).length, 200u);
  // Another sequence shares all rows but that of its last token, which it has to compute.
  const wire::Holds holds = stage.Begin(BeginOf(tokens_, 2));
  EXPECT_EQ(holds.length, 199u);
  kv::TokenHistory history(first_->layout().digest());
  history.Append(tokens_);
  EXPECT_EQ(holds.hash, history.HashAt(199));
  // A text that differs from the 150th token on.
  std::vector<int32_t> other = tokens_;
  other[150] = (other[150] + 1) % 298;
  EXPECT_EQ(stage.Begin(BeginOf(other)).length, 150u);
}

TEST_F(StageTest, SenselessBeginningsAreRefused) {
  Whole stage(*last_);
  EXPECT_NE(stage.Begin(BeginOf(std::vector<int32_t>{1, 300})).why.message(), "");
  EXPECT_NE(stage.Begin(BeginOf(std::vector<int32_t>{-1})).why.message(), "");
  wire::Begin begin = BeginOf(tokens_);
  begin.sampling.temperature = -1;
  EXPECT_NE(stage.Begin(begin).why.message(), "");
  begin.sampling = {};
  begin.sampling.biases = {{.id = 5000, .bias = 0}};
  EXPECT_NE(stage.Begin(begin).why.message(), "");
  EXPECT_EQ(stage.sequence_count(), 0u);
  for (uint64_t i = 0; i < kMaxSequences; ++i) {
    ASSERT_EQ(stage.Begin(BeginOf(std::vector<int32_t>{1}, i)).why.message(), "");
  }
  EXPECT_EQ(stage.Begin(BeginOf(std::vector<int32_t>{1}, kMaxSequences)).why.code(),
            Code::kResourceExhausted);
}

TEST_F(StageTest, WithoutMemoryItSaysSo) {
  const auto small = Model({0, 2, true, false}, 2 * 128 * 64 * 2 * 2);
  Whole stage(*small);
  static_cast<void>(stage.Begin(BeginOf(tokens_)));
  EXPECT_EQ(WhyRefused(stage, WorkOf(0, 128)), "");
  auto output = stage.Compute(WorkOf(128, 200)).value();
  ASSERT_EQ(output.refused.size(), 1u);
  EXPECT_EQ(output.refused[0].why.code(), Code::kResourceExhausted);
  EXPECT_EQ(output.refused[0].length, 128u);
}

TEST(Sampling, TravelsFieldByField) {
  const engine::SamplingOptions options{.penalty_window = 1,
                                        .repetition_penalty = 2,
                                        .frequency_penalty = 3,
                                        .presence_penalty = 4,
                                        .biases = {{5, 6}},
                                        .top_k = 7,
                                        .typical_p = 0.8F,
                                        .top_p = 0.9F,
                                        .min_p = 0.1F,
                                        .temperature = 11,
                                        .seed = 12,
                                        .logprobs = true,
                                        .top_logprobs = 13};
  EXPECT_EQ(SamplingFromWire(SamplingToWire(options), 300).value(), options);
}

}  // namespace
}  // namespace aster::stage
