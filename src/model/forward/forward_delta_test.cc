// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Layers that keep states compute the same however a text is cut, truncated, shared or transferred.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/hash.h"
#include "kv/transfer.h"
#include "model/files/support.h"
#include "model/forward/forward.h"
#include "model/forward/runner_for_test.h"
#include "model/reference/reference_for_test.h"

namespace aster::model {
namespace {

using gguf::TensorType;

// Two layers that keep states, and one with attention between them.
Shape SmallDelta(Arch arch = Arch::kQwen3Next) {
  Shape shape = SmallShape(arch);
  shape.embedding = 64;
  shape.head_count = 2;
  shape.kv_head_count = 1;
  shape.head_dim = 32;
  shape.feed_forward = 96;
  if (shape.experts.count > 0) {
    shape.experts.count = 4;
    shape.experts.feed_forward = 32;
  }
  shape.recurrence.key_dim = 16;
  shape.recurrence.value_dim = 32;
  return shape;
}

// A model with the expected logits of its texts.
class Delta : public testing::Test {
 protected:
  static constexpr size_t kLength = 620;

  std::vector<float> Run(kv::PageTable& table, std::span<const int32_t> some) {
    const Segment segment{.table = &table, .tokens = some, .wanted = Wanted::kAll};
    const auto logits = runner_.Run({&segment, 1}).value().logits;
    return {logits.begin(), logits.end()};
  }

  // Whether the text, continued from the table's length, has the logits of the uncut text.
  ::testing::AssertionResult GoesOn(kv::PageTable& table, size_t count) {
    const size_t begin = table.length();
    const auto logits = Run(table, std::span(tokens_).subspan(begin, count));
    if (std::ranges::equal(logits,
                           std::span(expected_).subspan(begin * shape_.vocab_size, logits.size())))
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << "from " << begin << " on, " << count << " tokens";
  }

  const Shape shape_ = SmallDelta();
  const ModelFile model_{shape_, TensorType::kF16};
  Runner runner_{model_.files(), Slice::Whole(shape_), 2};
  const std::vector<int32_t> tokens_ = RandomTokens(kLength, shape_.vocab_size);
  const std::vector<int32_t> wrong_ = RandomTokens(kLength, shape_.vocab_size, 9);
  const std::vector<float> expected_ = runner_.Logits(tokens_, kLength);
};

TEST_F(Delta, EveryCutGivesTheSame) {
  for (const size_t chunk : {1, 3, 31, 127, 128, 129, 300})
    EXPECT_EQ(runner_.Logits(tokens_, chunk), expected_) << chunk;
}

// As with draft tokens, a few tokens are removed, and others follow.
TEST_F(Delta, TokensThatAreTakenBackLeaveNothing) {
  kv::PageTable table = runner_.NewTable();
  ASSERT_TRUE(GoesOn(table, 100));
  while (table.length() + 6 < 300) {
    const uint32_t length = table.length();
    // One token that stays, four that do not.
    std::vector<int32_t> batch = {tokens_[length]};
    batch.insert(batch.end(), wrong_.begin() + length, wrong_.begin() + length + 4);
    Run(table, batch);
    ASSERT_EQ(table.Truncate(length + 1), length + 1);
    if (length % 3 == 0) {
      ASSERT_TRUE(GoesOn(table, 1 + length % 5));
    }
  }
  EXPECT_TRUE(GoesOn(table, 200));
}

TEST_F(Delta, GoingBackWithinTheSlackIsExact) {
  for (const uint32_t length : {1u, 60u, 127u, 128u, 129u, 200u, 256u, 300u, 383u, 450u}) {
    for (const uint32_t back : {1u, 5u, 33u, 64u}) {
      kv::PageTable table = runner_.NewTable();
      ASSERT_TRUE(GoesOn(table, length));
      Run(table, std::span(wrong_).first(back));
      ASSERT_EQ(table.Truncate(length), length);
      kv::PageTable fork = table.Fork();
      Run(fork, std::span(wrong_).first(40));
      // Single tokens use the states that the batch before kept.
      EXPECT_TRUE(GoesOn(table, 1)) << back << " back to " << length;
      EXPECT_TRUE(GoesOn(table, 2)) << back << " back to " << length;
      EXPECT_TRUE(GoesOn(table, 120)) << back << " back to " << length;
    }
  }
}

// Farther back the states were freed: the remaining length is shorter than asked for.
TEST_F(Delta, GoingBackFurtherBeginsAtAnEarlierLength) {
  for (const uint32_t length : {131u, 300u, 517u}) {
    for (const uint32_t back : {65u, 100u, 330u}) {
      kv::PageTable table = runner_.NewTable();
      ASSERT_TRUE(GoesOn(table, length));
      Run(table, std::span(wrong_).first(back));
      ASSERT_LE(table.Truncate(length), length);
      EXPECT_TRUE(GoesOn(table, kLength - table.length())) << back << " back to " << length;
    }
  }
}

// A sequence continues pages of another one from their last boundary.
TEST_F(Delta, SharedPagesComputeTheSame) {
  kv::PageTable first = runner_.NewTable();
  ASSERT_TRUE(GoesOn(first, kLength));
  for (const uint32_t length : {128u, 131u, 300u, 517u}) {
    kv::PageTable table = runner_.NewTable();
    table.Adopt(std::span(tokens_).first(length));
    EXPECT_EQ(table.length(), length / 128 * 128);
    // Back into the shared page, and on.
    table.Truncate(table.length() - 7);
    EXPECT_TRUE(GoesOn(table, 5));
    EXPECT_TRUE(GoesOn(table, 50));
  }
}

TEST_F(Delta, ATransferredCacheComputesTheSame) {
  for (const uint32_t length : {1u, 127u, 128u, 129u, 256u, 257u, 300u, 383u}) {
    kv::PageTable from = runner_.NewTable();
    ASSERT_TRUE(GoesOn(from, length));
    std::vector<uint8_t> chunk;
    ASSERT_TRUE(kv::Export(from, from.layers(), 0, length, [&](Bytes piece) {
                  chunk.insert(chunk.end(), piece.begin(), piece.end());
                  return Ok();
                }).ok());
    for (const uint32_t back : {0u, 1u, 64u}) {
      if (back >= length) continue;
      Runner taker(model_.files(), Slice::Whole(shape_));
      kv::PageTable table = taker.NewTable();
      ASSERT_TRUE(kv::Import(table, chunk).ok());
      const uint32_t left = table.Truncate(length - back);
      const Segment rest{
          .table = &table, .tokens = std::span(tokens_).subspan(left, 90), .wanted = Wanted::kAll};
      const auto logits = taker.Run({&rest, 1}).value().logits;
      EXPECT_TRUE(std::ranges::equal(
          logits, std::span(expected_).subspan(left * size_t{shape_.vocab_size}, logits.size())))
          << length << " transferred, " << back << " back, from " << left;
    }
  }
}

// Rows that are imported after a truncation: the kept states belong to another text.
TEST_F(Delta, StatesOfAnotherTextAreNotTakenForThoseOfThisOne) {
  kv::PageTable from = runner_.NewTable();
  ASSERT_TRUE(GoesOn(from, 170));
  std::vector<uint8_t> chunk;
  ASSERT_TRUE(kv::Export(from, from.layers(), 150, 170, [&](Bytes piece) {
                chunk.insert(chunk.end(), piece.begin(), piece.end());
                return Ok();
              }).ok());
  kv::PageTable table = runner_.NewTable();
  ASSERT_TRUE(GoesOn(table, 150));
  for (size_t i = 0; i < 12; ++i) Run(table, std::span(wrong_).subspan(i, 1));
  ASSERT_EQ(table.Truncate(150), 150u);
  ASSERT_TRUE(kv::Import(table, chunk).ok());
  ASSERT_EQ(table.length(), 170u);
  EXPECT_TRUE(GoesOn(table, 1));
  EXPECT_TRUE(GoesOn(table, 30));
}

TEST_F(Delta, CompanionsInABatchChangeNothing) {
  kv::PageTable mine = runner_.NewTable(), theirs = runner_.NewTable(), third = runner_.NewTable();
  for (size_t i = 0; i < 180; i += 30) {
    const Segment segments[] = {
        {.table = &theirs, .tokens = std::span(wrong_).subspan(i, 55), .wanted = Wanted::kNone},
        {.table = &mine, .tokens = std::span(tokens_).subspan(i, 30), .wanted = Wanted::kAll},
        {.table = &third, .tokens = std::span(wrong_).subspan(2 * i, 1), .wanted = Wanted::kNone}};
    const auto logits = runner_.Run(segments).value().logits;
    EXPECT_TRUE(std::ranges::equal(
        logits, std::span(expected_).subspan(i * shape_.vocab_size, logits.size())))
        << i;
  }
}

// The reference kernels and slices of the layers give the same bits, too.
TEST_F(Delta, EveryInstructionSetAndSliceGivesTheSame) {
  for (const kernels::Isa isa : kernels::AvailableIsas()) {
    Runner runner(model_.files(), Slice::Whole(shape_), 1, isa);
    EXPECT_EQ(runner.Logits(std::span(tokens_).first(40), 40),
              std::vector(expected_.begin(), expected_.begin() + 40 * shape_.vocab_size));
  }
  Runner lower(model_.files(), {.layer_begin = 0, .layer_end = 1, .embedding = true});
  Runner upper(model_.files(), {.layer_begin = 1, .layer_end = 3, .head = true});
  kv::PageTable below = lower.NewTable(), above = upper.NewTable();
  Segment segment{.table = &below, .tokens = std::span(tokens_).first(150), .wanted = Wanted::kAll};
  const auto hidden = lower.Run({&segment, 1}).value().hidden;
  segment.table = &above;
  segment.hidden = hidden.data();
  const auto logits = upper.Run({&segment, 1}).value().logits;
  EXPECT_TRUE(std::ranges::equal(logits, std::span(expected_).first(logits.size())));
}

// Compares a model with the reference in double precision. Uses all experts, as rounded inputs may
// lead to another choice.
void ExpectTruth(Shape shape) {
  shape.experts.used = shape.experts.count;
  const ModelFile model(shape, TensorType::kF32);
  EXPECT_EQ(CheckSupport(model.files()).shape->recurrence.one_matrix, shape.recurrence.one_matrix);
  const auto tokens = RandomTokens(40, shape.vocab_size);
  const auto logits = Runner(model.files(), Slice::Whole(shape)).Logits(tokens, 16);
  const auto reference = ReferenceLogits(model.files(), shape, tokens);
  double difference = 0, size = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    difference += (logits[i] - reference[i]) * (logits[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  // Keys, values and the states' inputs are f16.
  EXPECT_LT(std::sqrt(difference / size), 2e-3) << ArchName(shape.arch);
}

TEST(DeltaForms, AgreeWithTheTextbook) {
  for (const Arch arch : {Arch::kQwen3Next, Arch::kQwen35, Arch::kQwen35Moe})
    ExpectTruth(SmallDelta(arch));
  // Files of Qwen3-Next have two forms.
  Shape shape = SmallDelta();
  shape.recurrence.one_matrix = true;
  shape.recurrence.taps = 3;
  ExpectTruth(shape);
}

// A sequence keeps only the states at the last page boundary, whatever its length.
TEST(DeltaForms, StatesTakeTheSameAtEveryLength) {
  const Shape shape = ShapeOfPreset("qwen3-next-80b").value();
  const auto layout = MakeMemoryLayout(shape, {}, Hash128{}).value();
  EXPECT_EQ(layout.BytesFor({0, 1}, 1 << 18, 1), layout.BytesFor({0, 1}, 1 << 12, 1));
  EXPECT_EQ(layout.streams(0)[kStateStream].codec->row_bytes(), size_t{32} * 128 * 128 * 4);
  EXPECT_EQ(layout.streams(0)[kStateInputStream].codec->row_bytes(), size_t{8192} * 2 + 256);
  ASSERT_EQ(layout.streams(3).size(), 1u);
  EXPECT_EQ(layout.streams(3)[0].codec->row_bytes(), size_t{2} * 2 * 256 * 2);
}

}  // namespace
}  // namespace aster::model
