// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/drafters/mtp_block.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "model/forward/runner_for_test.h"
#include "model/reference/reference_deepseek4_for_test.h"
#include "model/reference/reference_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

// Relative difference between logits and the reference.
double Distance(std::span<const float> logits, const std::vector<double>& reference) {
  if (logits.size() != reference.size()) return 1;
  double difference = 0, size = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    difference += (logits[i] - reference[i]) * (logits[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  return std::sqrt(difference / size);
}

// A model with its MTP block, and the streams of every token of a text.
class Mtp : public testing::Test {
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
  const kv::Layout layout_ = MakeMtpLayout(shape_, memory_, Hash128{1, 2}).value();
  kv::Pool pages_{uint64_t{1} << 28};
  MtpBlock mtp_{runner_.weights(), memory_, runner_.backend()};
};

TEST_F(Mtp, DraftsAgreeWithTheirDescription) {
  kv::PageTable table = NewTable();
  const std::span<const int32_t> behind = std::span(tokens_).subspan(1);
  const Output output =
      mtp_.Run(table, behind, StreamsBehind(0), RowsOf::kModel, Wanted::kAll).value();
  const std::vector<double> reference =
      DeepSeek4ReferenceDrafts(model_.files(), shape_, memory_, behind, streams_);
  EXPECT_LT(Distance(output.logits, reference), 1e-3);
}

TEST_F(Mtp, TheSameDraftsHoweverPairsCome) {
  kv::PageTable whole = NewTable(), pieces = NewTable();
  const std::span<const int32_t> behind = std::span(tokens_).subspan(1);
  ASSERT_TRUE(mtp_.Follow(whole, behind.first(150), StreamsBehind(0)).ok());
  ASSERT_TRUE(mtp_.Follow(pieces, behind.first(61), StreamsBehind(0)).ok());
  for (size_t i = 61; i < 150; ++i)
    ASSERT_TRUE(mtp_.Follow(pieces, behind.subspan(i, 1), StreamsBehind(i)).ok());
  const auto drafts = mtp_.Draft(whole, behind[150], StreamsBehind(150), 5);
  ASSERT_TRUE(drafts.ok());
  EXPECT_EQ(drafts->size(), 5u);
  EXPECT_EQ(*mtp_.Draft(pieces, behind[150], StreamsBehind(150), 5), *drafts);
  // Drafting changes nothing, and going back is only a shorter length.
  EXPECT_EQ(whole.length(), 150u);
  ASSERT_TRUE(mtp_.Follow(whole, behind.subspan(160, 30), StreamsBehind(160)).ok());
  ASSERT_EQ(whole.Truncate(150), 150u);
  EXPECT_EQ(*mtp_.Draft(whole, behind[150], StreamsBehind(150), 5), *drafts);
}

TEST_F(Mtp, TheFirstDraftIsTheMostLikelyToken) {
  kv::PageTable table = NewTable(), other = NewTable();
  const std::span<const int32_t> behind = std::span(tokens_).subspan(1);
  ASSERT_TRUE(mtp_.Follow(table, behind.first(100), StreamsBehind(0)).ok());
  ASSERT_TRUE(mtp_.Follow(other, behind.first(100), StreamsBehind(0)).ok());
  const auto drafts = mtp_.Draft(table, behind[100], StreamsBehind(100), 1).value();
  const Output output =
      mtp_.Run(other, behind.subspan(100, 1), StreamsBehind(100), RowsOf::kModel, Wanted::kLast)
          .value();
  const auto best = std::max_element(output.logits.begin(), output.logits.end());
  EXPECT_EQ(drafts, std::vector<int32_t>{static_cast<int32_t>(best - output.logits.begin())});
}

TEST_F(Mtp, TokensThatAreNoneAreRefused) {
  kv::PageTable table = NewTable();
  EXPECT_FALSE(mtp_.Draft(table, 300, StreamsBehind(0), 2).ok());
  EXPECT_FALSE(mtp_.Draft(table, -1, StreamsBehind(0), 2).ok());
}

std::vector<float> RandomRows(size_t count) {
  Random random(1);
  std::vector<float> rows(count);
  for (float& value : rows) value = random.NextNormal();
  return rows;
}

// MTP blocks of one layer with attention; inputs are rows of the model, or their own for drafts.
class MtpRow : public testing::TestWithParam<Arch> {
 protected:
  static Shape MakeShape() {
    Shape shape = SmallShape(GetParam());
    shape.mtp_layers = 1;
    return shape;
  }
  Output Run(kv::PageTable& table, size_t first, size_t count, RowsOf whose = RowsOf::kModel) {
    return mtp_
        .Run(table, std::span(tokens_).subspan(first, count),
             rows_.data() + first * shape_.embedding, whose, Wanted::kAll)
        .value();
  }
  std::vector<double> Reference(const std::string& norm) const {
    return ReferenceDrafts(model_.files(), shape_, norm, tokens_, rows_);
  }

  static constexpr size_t kCount = 24;
  const Shape shape_ = MakeShape();
  const ModelFile model_{shape_, TensorType::kF32};
  Runner runner_{model_.files(), Slice::Whole(shape_), 1};
  const std::vector<int32_t> tokens_ = RandomTokens(kCount, shape_.vocab_size);
  const std::vector<float> rows_ = RandomRows(kCount * shape_.embedding);
  const kv::Layout layout_ = MakeMtpLayout(shape_, {}, Hash128{1, 2}).value();
  kv::Pool pages_{uint64_t{1} << 28};
  MtpBlock mtp_{runner_.weights(), {}, runner_.backend()};
  kv::PageTable table_{layout_, pages_, {0, 1}};
};

TEST_P(MtpRow, DraftsAgreeWithTheirDescription) {
  const std::string own =
      GetParam() == Arch::kMimo2
          ? fmt::format("blk.{}.layer_output_norm.weight", shape_.layer_count)
          : fmt::format("blk.{}.nextn.shared_head_norm.weight", shape_.layer_count);
  EXPECT_LT(Distance(Run(table_, 0, kCount).logits, Reference("output_norm.weight")), 2e-3);
  kv::PageTable other(layout_, pages_, {0, 1});
  EXPECT_LT(Distance(Run(other, 0, kCount, RowsOf::kBlock).logits, Reference(own)), 2e-3);
}

TEST_P(MtpRow, TheSameDraftsHoweverPairsCome) {
  const Output whole = Run(table_, 0, kCount);
  const std::vector<float> logits(whole.logits.begin(), whole.logits.end());
  kv::PageTable pieces(layout_, pages_, {0, 1});
  for (size_t first = 0; first < kCount; first += 8) {
    const Output output = Run(pieces, first, 8);
    const auto expected =
        std::span(logits).subspan(first * shape_.vocab_size, 8u * shape_.vocab_size);
    EXPECT_TRUE(std::ranges::equal(output.logits, expected)) << first;
  }
}

// Computing the head does not change the rows after the last layer.
TEST_P(MtpRow, RowsOfTheModelAreTheSameBesideItsLogits) {
  const auto rows = [&](Wanted wanted) {
    kv::PageTable table = runner_.NewTable();
    const Segment segment{
        .table = &table, .tokens = tokens_, .wanted = wanted, .hidden_wanted = Wanted::kAll};
    const Output output = runner_.Run({&segment, 1}).value();
    return std::vector<float>(output.hidden.begin(), output.hidden.end());
  };
  EXPECT_EQ(rows(Wanted::kAll), rows(Wanted::kNone));
}

INSTANTIATE_TEST_SUITE_P(All, MtpRow,
                         testing::Values(Arch::kQwen3Next, Arch::kQwen35, Arch::kQwen35Moe,
                                         Arch::kGlm4Moe, Arch::kMimo2, Arch::kDeepSeek2,
                                         Arch::kDeepSeek32, Arch::kGlmDsa),
                         [](const auto& test) {
                           std::string name(ArchName(test.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace aster::model
