// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/frame_shape.h"

#include <gtest/gtest.h>

namespace aster::plan {
namespace {

constexpr double kChunk = 256;

FrameShape Of(double row_s, std::vector<FrameShape::Point> seen) {
  return FrameShape(row_s, seen, kChunk);
}

TEST(FrameShape, EachRowCostsTheSameWhereNothingWasSeen) {
  const FrameShape shape;
  EXPECT_EQ(shape.chunk_s(), 0);
  EXPECT_DOUBLE_EQ(shape.At(1, kChunk), 0);
  EXPECT_DOUBLE_EQ(shape.At(18, kChunk), 17.0 / 255);
  EXPECT_DOUBLE_EQ(shape.At(256, kChunk), 1);
}

TEST(FrameShape, BetweenWhatWasSeen) {
  const FrameShape shape = Of(10, {{16, 40}, {64, 100}, {256, 250}});
  EXPECT_DOUBLE_EQ(shape.chunk_s(), 250);
  EXPECT_DOUBLE_EQ(shape.At(1, kChunk), 0);
  EXPECT_DOUBLE_EQ(shape.At(16, kChunk), 30.0 / 240);
  EXPECT_DOUBLE_EQ(shape.At(40, kChunk), 60.0 / 240);
  EXPECT_DOUBLE_EQ(shape.At(160, kChunk), 165.0 / 240);
  EXPECT_DOUBLE_EQ(shape.At(256, kChunk), 1);
}

// Long frames use the processor better: further rows cost as much as the last ones.
TEST(FrameShape, BeyondWhatWasSeen) {
  EXPECT_DOUBLE_EQ(Of(10, {{128, 137}}).chunk_s(), 265);
  EXPECT_DOUBLE_EQ(Of(10, {{64, 73 + 32}, {128, 73 + 64 + 32}}).chunk_s(), 169 + 128);
  // At least half of the mean, as a time may be wrong, and no more than the mean.
  EXPECT_DOUBLE_EQ(Of(0, {{65, 128}, {129, 128}}).chunk_s(), 128 + 127 * 0.5);
  EXPECT_DOUBLE_EQ(Of(0, {{65, 64}, {129, 256}}).chunk_s(), 256 + 127 * 2);
  // The difference of two frames of nearly the same length says nothing.
  EXPECT_DOUBLE_EQ(Of(0, {{120, 119}, {129, 128}}).chunk_s(), 255);
  EXPECT_DOUBLE_EQ(Of(10, {{200, 100}, {512, 256}}).chunk_s(), 128);
}

TEST(FrameShape, TimesThatContradictEachOther) {
  // More rows do not take less time, and a chunk not less than a row.
  const FrameShape shape = Of(10, {{16, 60}, {64, 50}, {256, 110}});
  EXPECT_DOUBLE_EQ(shape.At(16, kChunk), 0.5);
  EXPECT_DOUBLE_EQ(shape.At(64, kChunk), 0.5);
  const FrameShape flat = Of(10, {{64, 5}, {128, 8}});
  EXPECT_DOUBLE_EQ(flat.chunk_s(), 10);
  EXPECT_DOUBLE_EQ(flat.At(256, kChunk), 1);
}

}  // namespace
}  // namespace aster::plan
