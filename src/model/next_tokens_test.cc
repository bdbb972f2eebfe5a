// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/next_tokens.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/reference_deepseek4_for_test.h"
#include "model/runner_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

// A model with its MTP block, and the streams behind every token of a text.
class Next : public testing::Test {
 protected:
  void SetUp() override {
    kv::PageTable table = runner_.NewTable();
    const Segment segment{.table = &table, .tokens = tokens_, .hidden_wanted = Wanted::kAll};
    const Output output = runner_.Run({&segment, 1}).value();
    streams_.assign(output.hidden.begin(), output.hidden.end());
  }
  kv::PageTable NewTable() { return {layout_, pages_, {0, 1}}; }
  const float* StreamsBehind(size_t token) const {
    return streams_.data() + token * shape_.hidden_width();
  }

  const Shape shape_ = SmallDeepSeek4({0, 4, 128});
  const ModelFile model_{shape_, TensorType::kF32};
  const MemoryOptions memory_ = Narrowed({.plain_rows = true}, shape_);
  Runner runner_{model_.files(), Slice::Whole(shape_), 1, kernels::FastestIsa(), memory_};
  const std::vector<int32_t> tokens_ = RandomTokens(200, shape_.vocab_size);
  std::vector<float> streams_;  // [tokens, hidden_width]
  const kv::Layout layout_ = MakeNextLayout(shape_, memory_, Hash128{1, 2}).value();
  kv::Pool pages_{uint64_t{1} << 28};
  NextTokens next_{runner_.weights(), memory_, runner_.backend()};
};

TEST_F(Next, DraftsAgreeWithTheirDescription) {
  kv::PageTable table = NewTable();
  const std::span<const int32_t> behind = std::span(tokens_).subspan(1);
  const Output output = next_.Run(table, behind, StreamsBehind(0), Wanted::kAll).value();
  const std::vector<double> reference =
      DeepSeek4ReferenceDrafts(model_.files(), shape_, memory_, behind, streams_);
  ASSERT_EQ(output.logits.size(), reference.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    difference += (output.logits[i] - reference[i]) * (output.logits[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  EXPECT_LT(std::sqrt(difference / size), 1e-3);
}

TEST_F(Next, TheSameDraftsHoweverPairsCome) {
  kv::PageTable whole = NewTable(), pieces = NewTable();
  const std::span<const int32_t> behind = std::span(tokens_).subspan(1);
  ASSERT_TRUE(next_.Follow(whole, behind.first(150), StreamsBehind(0)).ok());
  ASSERT_TRUE(next_.Follow(pieces, behind.first(61), StreamsBehind(0)).ok());
  for (size_t i = 61; i < 150; ++i)
    ASSERT_TRUE(next_.Follow(pieces, behind.subspan(i, 1), StreamsBehind(i)).ok());
  const auto drafts = next_.Draft(whole, behind[150], StreamsBehind(150), 5);
  ASSERT_TRUE(drafts.ok());
  EXPECT_EQ(drafts->size(), 5u);
  EXPECT_EQ(*next_.Draft(pieces, behind[150], StreamsBehind(150), 5), *drafts);
  // Drafting leaves nothing behind, and going back is a shorter length.
  EXPECT_EQ(whole.length(), 150u);
  ASSERT_TRUE(next_.Follow(whole, behind.subspan(160, 30), StreamsBehind(160)).ok());
  ASSERT_EQ(whole.Truncate(150), 150u);
  EXPECT_EQ(*next_.Draft(whole, behind[150], StreamsBehind(150), 5), *drafts);
}

TEST_F(Next, TheFirstDraftIsTheMostLikelyToken) {
  kv::PageTable table = NewTable(), other = NewTable();
  const std::span<const int32_t> behind = std::span(tokens_).subspan(1);
  ASSERT_TRUE(next_.Follow(table, behind.first(100), StreamsBehind(0)).ok());
  ASSERT_TRUE(next_.Follow(other, behind.first(100), StreamsBehind(0)).ok());
  const auto drafts = next_.Draft(table, behind[100], StreamsBehind(100), 1).value();
  const Output output =
      next_.Run(other, behind.subspan(100, 1), StreamsBehind(100), Wanted::kLast).value();
  const auto best = std::max_element(output.logits.begin(), output.logits.end());
  EXPECT_EQ(drafts, std::vector<int32_t>{static_cast<int32_t>(best - output.logits.begin())});
}

TEST_F(Next, TokensThatAreNoneAreRefused) {
  kv::PageTable table = NewTable();
  EXPECT_FALSE(next_.Draft(table, 300, StreamsBehind(0), 2).ok());
  EXPECT_FALSE(next_.Draft(table, -1, StreamsBehind(0), 2).ok());
}

}  // namespace
}  // namespace aster::model
