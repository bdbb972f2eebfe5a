// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How attention of a batch is divided into workgroups: which rows see which pages, and which of
// them a dispatch has. The same for every layer of a batch, except for the pages' addresses. Must
// not know devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/commands.h"
#include "kernels/pages.h"
#include "vulkan/kernels/attention.h"

namespace aster::vulkan {

// What a plan depends on.
struct AttentionShape {
  kernels::PageLayout layout;
  uint32_t group;  // query heads that share a key-value head
  uint32_t kv_heads;
  uint32_t window;  // 0: all
  uint32_t sinks;
  uint32_t block_rows;   // the most rows of a block
  bool has_cap = false;  // of scores
};

// The pages of a sequence that its rows see or write.
struct PageRun {
  uint32_t table;       // entry of the first of them in the table of addresses
  uint32_t first_page;  // its number
  uint32_t pages;
};

struct AttentionPlan {
  std::vector<PageRun> runs;  // [spans]
  uint32_t table_entries = 0;
  std::vector<VisiblePositions> visible;  // [rows]
  std::vector<WriteSpan> writes;          // [spans]
  uint32_t longest_write = 0;
  std::vector<AttentionBlock> blocks;  // each with all of its pages
  std::vector<AttentionBlock> parts;   // each with some of them; empty if blocks are enough
  uint64_t results = 0;                // of the pages of all parts
};

AttentionPlan PlanAttention(const AttentionShape& shape, std::span<const compute::PageSpan> spans);

}  // namespace aster::vulkan
