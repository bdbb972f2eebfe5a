// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention over rows that are both keys and values on a device, and the ranking that chooses among
// compressed ones: the bits of kernels/latent.h, for any number of sequences at once. Must not know
// models or owners of pages.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/latent.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// An entry of `tasks`: a token with more rows of the index than it may see.
struct RankTask {
  uint32_t row;  // of the batch
  uint32_t rows;
  uint32_t first_score;
  uint32_t table;         // entry of the page of row 0
  uint32_t all_rows = 0;  // all rows of the token, if `rows` are those of some blocks
};

// Blocks that rows are chosen from.
struct RankedBlocks {
  Address chosen = 0;  // numbers as floats: [rows], stride floats apart
  uint32_t stride = 0;
  uint32_t rows = 1;  // of a block
};

// Scores of all rows of the tasks; then the `top` highest of each task, ascending.
struct RankJob {
  kernels::LatentFormat format;
  Address queries;  // [rows], query_stride floats apart, of [heads][format.dim]
  uint32_t query_stride;
  Address weights;  // [rows], weight_stride apart, of [heads]
  uint32_t weight_stride;
  uint32_t heads;
  Address page_table;
  uint32_t rows_of_page;
  Address tasks;        // [task_count] RankTask
  uint32_t task_count;  // up to kRowGroups
  uint32_t most_rows;   // of a task
  Address scores;
  uint32_t top;    // at most the rows of each task
  Address chosen;  // [rows], chosen_stride words apart
  uint32_t chosen_stride;
  RankedBlocks blocks = {};  // of tasks that have only some of all rows
};
Status RecordRankRows(Kernels& kernels, Commands& commands, const RankJob& job);
// After a barrier.
Status RecordSelectRows(Kernels& kernels, Commands& commands, const RankJob& job);

// Chooses the blocks whose best rows rank highest, after the rows were scored, and always the
// newest block.
struct BlockJob {
  Address scores;  // of rows
  // [task_count] RankTask: `rows` blocks are ranked, all before the newest; `table` is the first
  // score of their rows.
  Address tasks;
  uint32_t task_count;   // up to kRowGroups
  uint32_t most_blocks;  // of a task
  Address best;          // their scores
  uint32_t top;          // blocks that are chosen, including the newest
  RankedBlocks blocks;   // the chosen ones
};
Status RecordBestOfBlocks(Kernels& kernels, Commands& commands, const BlockJob& job);
// After a barrier.
Status RecordSelectBlocks(Kernels& kernels, Commands& commands, const BlockJob& job);

// An entry of `tokens`: the rows that a token sees.
struct LatentToken {
  uint32_t begin;             // position of the first row of its window
  uint32_t window;            // rows of its window
  uint32_t window_table;      // a page's number plus this is its entry
  uint32_t far;               // compressed rows
  uint32_t compressed_table;  // entry of the page of compressed row 0
  uint32_t is_chosen;         // it sees the compressed rows in `chosen`; else the first ones
};

struct AttendLatentJob {
  kernels::LatentFormat format;
  kernels::LatentFormat compressed_format;  // of compressed rows
  Address page_table;
  Address tokens;  // [token_count] LatentToken
  uint32_t token_count;
  Address chosen = 0;  // [tokens], chosen_stride words apart; or none
  uint32_t chosen_stride = 0;
  uint32_t compressed_rows_of_page;
  Address queries;  // [tokens][heads][format.dim]
  uint32_t heads;
  float factor;    // of queries
  Address sinks;   // [heads] logits
  Address result;  // as the queries
};
Status RecordAttendLatent(Kernels& kernels, Commands& commands, const AttendLatentJob& job);

}  // namespace aster::vulkan
