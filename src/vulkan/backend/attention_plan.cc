// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/attention_plan.h"

#include <algorithm>

#include "kernels/attention.h"

namespace aster::vulkan {
namespace {

using kernels::kPagePositions;

// If blocks give fewer workgroups than this, which keeps a large GPU busy, their pages are divided
// among workgroups.
constexpr uint32_t kWantedGroups = 512;
// It takes less time to merge fewer pages in the same kernel than in a second one.
constexpr uint32_t kFewPages = 4;
// Limit of the memory for results of pages.
constexpr uint64_t kMostResultBytes = uint64_t{64} << 20;

uint32_t PageOf(uint32_t position) { return position / kPagePositions; }

// The first page that the row at `position` or any later one sees.
uint32_t FirstPage(const AttentionShape& shape, uint32_t position) {
  if (shape.window == 0 || shape.sinks > 0 || position + 1 < shape.window) return 0;
  return PageOf(position + 1 - shape.window);
}

VisiblePositions VisibleTo(const AttentionShape& shape, uint32_t position) {
  const kernels::VisibleRows rows = kernels::VisibleTo(position, shape.window, shape.sinks);
  return {static_cast<uint32_t>(rows.sink_end), static_cast<uint32_t>(rows.begin),
          static_cast<uint32_t>(rows.end)};
}

void PlanSpan(const AttentionShape& shape, const compute::PageSpan& span, AttentionPlan& plan) {
  const uint32_t first_page = FirstPage(shape, span.position);
  const uint32_t end_page = PageOf(span.position + span.count - 1) + 1;
  plan.runs.push_back({plan.table_entries, first_page, end_page - first_page});
  plan.writes.push_back({span.first_row, span.count, span.position,
                         plan.table_entries + PageOf(span.position) - first_page});
  plan.longest_write = std::max(plan.longest_write, span.count);
  for (uint32_t i = 0; i < span.count; ++i)
    plan.visible[span.first_row + i] = VisibleTo(shape, span.LastVisibleOf(i));
  const uint32_t rows = span.count * shape.group;
  for (uint32_t row = 0; row < rows; row += shape.block_rows) {
    const uint32_t count = std::min(shape.block_rows, rows - row);
    const uint32_t first = FirstPage(shape, span.position + row / shape.group);
    const uint32_t end = PageOf(span.LastVisibleOf((row + count - 1) / shape.group)) + 1;
    plan.blocks.push_back({.first_row = span.first_row * shape.group + row,
                           .rows = count,
                           .first_page = first,
                           .pages = end - first,
                           .table = plan.table_entries + first - first_page,
                           .result = 0});
  }
  plan.table_entries += end_page - first_page;
}

// Divides blocks into parts. The results of a block's pages follow each other, whichever part
// writes them.
void PlanParts(const AttentionShape& shape, AttentionPlan& plan) {
  const auto groups = static_cast<uint32_t>(plan.blocks.size()) * shape.kv_heads;
  uint32_t most_pages = 0;
  uint64_t results = 0;
  for (const AttentionBlock& block : plan.blocks) {
    most_pages = std::max(most_pages, block.pages);
    results += uint64_t{block.pages} * shape.kv_heads * block.rows;
  }
  const uint64_t result_bytes = results * AttentionResultFloats(shape.layout) * sizeof(float);
  if (groups == 0 || groups >= kWantedGroups || most_pages <= kFewPages ||
      result_bytes > kMostResultBytes)
    return;
  const uint32_t parts_of_block = DivideRoundingUp(kWantedGroups, groups);
  const uint32_t pages_of_part = DivideRoundingUp(most_pages, parts_of_block);
  for (AttentionBlock& block : plan.blocks) {
    block.result = static_cast<uint32_t>(plan.results);
    for (uint32_t page = 0; page < block.pages; page += pages_of_part) {
      AttentionBlock part = block;
      part.first_page += page;
      part.table += page;
      part.pages = std::min(pages_of_part, block.pages - page);
      part.result += page * shape.kv_heads * block.rows;
      plan.parts.push_back(part);
    }
    plan.results += uint64_t{block.pages} * shape.kv_heads * block.rows;
  }
}

}  // namespace

AttentionPlan PlanAttention(const AttentionShape& shape, std::span<const compute::PageSpan> spans) {
  AttentionPlan plan;
  uint32_t rows = 0;
  for (const compute::PageSpan& span : spans) rows = std::max(rows, span.first_row + span.count);
  plan.visible.resize(rows);
  for (const compute::PageSpan& span : spans) {
    if (span.count > 0) PlanSpan(shape, span, plan);
  }
  PlanParts(shape, plan);
  return plan;
}

}  // namespace aster::vulkan
