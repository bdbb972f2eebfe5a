// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/attention_plan.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

AttentionShape Shape(uint32_t window, uint32_t sinks) {
  return {.layout = kernels::MakePageLayout(kernels::KvType::kF16, 64, 64),
          .group = 4,
          .kv_heads = 2,
          .window = window,
          .sinks = sinks,
          .block_rows = 8};
}

TEST(AttentionPlan, BlocksBelongToOneSequenceAndCoverEveryRow) {
  const compute::PageSpan spans[] = {{nullptr, 127, 0, 3}, {nullptr, 0, 3, 5}};
  const AttentionPlan plan = PlanAttention(Shape(0, 0), spans);
  ASSERT_EQ(plan.blocks.size(), 5u);
  uint32_t next = 0;
  for (const AttentionBlock& block : plan.blocks) {
    EXPECT_EQ(block.first_row, next);
    EXPECT_LE(block.rows, 8u);
    next += block.rows;
  }
  EXPECT_EQ(next, 8u * 4);
  EXPECT_EQ(plan.blocks[1].first_row, 8u);
  EXPECT_EQ(plan.blocks[1].rows, 4u);  // the first sequence ends
  EXPECT_EQ(plan.blocks[0].pages, 2u);
  EXPECT_EQ(plan.blocks[2].pages, 1u);
  EXPECT_EQ(plan.blocks[2].table, 2u);
  EXPECT_EQ(plan.table_entries, 3u);
  EXPECT_EQ(plan.visible[2].end, 130u);
  EXPECT_TRUE(plan.parts.empty());
  EXPECT_EQ(plan.writes[1].table, 2u);
  EXPECT_EQ(plan.longest_write, 5u);
}

TEST(AttentionPlan, PagesBeforeTheWindowAreLeftOut) {
  const compute::PageSpan spans[] = {{nullptr, 1000, 0, 1}};
  const AttentionPlan without = PlanAttention(Shape(200, 0), spans);
  EXPECT_EQ(without.runs[0].first_page, 6u);  // position 801 is in it
  EXPECT_EQ(without.runs[0].pages, 2u);
  EXPECT_EQ(without.writes[0].table, 1u);
  const AttentionPlan with = PlanAttention(Shape(200, 4), spans);
  EXPECT_EQ(with.runs[0].first_page, 0u);
  EXPECT_EQ(with.runs[0].pages, 8u);
}

TEST(AttentionPlan, FewRowsShareOutTheirPages) {
  const compute::PageSpan spans[] = {{nullptr, 1279, 0, 1}, {nullptr, 10, 1, 1}};
  const AttentionPlan plan = PlanAttention(Shape(0, 0), spans);
  ASSERT_EQ(plan.blocks.size(), 2u);
  ASSERT_EQ(plan.parts.size(), 11u);
  EXPECT_EQ(plan.parts[3].first_page, 3u);
  EXPECT_EQ(plan.parts[3].pages, 1u);
  EXPECT_EQ(plan.parts[3].result, 3u * 2 * 4);
  EXPECT_EQ(plan.blocks[1].result, 10u * 2 * 4);
  EXPECT_EQ(plan.parts[10].result, 10u * 2 * 4);
  EXPECT_EQ(plan.results, 11u * 2 * 4);
}

}  // namespace
}  // namespace aster::vulkan
