// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention over pages of keys and values on a device: the bits of kernels/attention.h, for all
// key/value heads and any number of sequences at once. Pages have the bytes of kernels/pages.h; the
// heads of one page stand one after the other. Must not know models or owners of pages.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "kernels/pages.h"
#include "vulkan/kernels/kernels.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {

// An entry of `blocks`: some rows of one sequence and the pages that they attend to. Row r is that
// of token r / heads and of query head r % heads of those that share a key/value head.
struct AttentionBlock {
  uint32_t first_row;
  uint32_t rows;        // 1 to AttentionJob::block_rows
  uint32_t first_page;  // its number: it holds positions from first_page * 128
  uint32_t pages;
  uint32_t table;   // entry of the first page in the page table
  uint32_t result;  // of RecordAttendPages: where the results of the first page start
};

// The positions that a token sees: [0, sink_end) and [begin, end).
struct VisiblePositions {
  uint32_t sink_end;
  uint32_t begin;
  uint32_t end;
};

// The rows that a block of this device should have: a power of two. Fewer if an fma is made of
// integers, since a driver compiles each of them separately. With a soft cap of scores, one shader
// takes blocks of any size.
uint32_t AttentionBlockRows(const kernels::PageLayout& layout, const Arithmetic& arithmetic,
                            bool has_cap = false);
// The most rows that a block may have.
uint32_t MostAttentionBlockRows(const kernels::PageLayout& layout, bool has_cap = false);

struct AttentionJob {
  const kernels::PageLayout* layout;  // of one head
  Address page_table;                 // uint64 addresses; zero where no row sees the page
  Address blocks;                     // [block_count] AttentionBlock
  uint32_t block_count;               // up to kRowGroups
  uint32_t block_rows;                // a power of two: the most rows of a block
  Address visible;                    // [tokens] VisiblePositions
  Address queries;                    // [tokens], token_stride apart, of heads head_stride apart
  uint32_t token_stride;
  uint32_t head_stride;
  uint32_t heads;     // queries of a key/value head
  uint32_t kv_heads;  // the first has the first `heads` queries, and so on
  float factor;       // of queries: kernels::QueryFactor
  float cap = 0.0f;   // soft cap of scores, in the same units; 0: none
  Address sinks = 0;  // [heads of all] logits, or none
  Address result;     // rows of value_dim floats, in the order of queries, with the next strides
  uint32_t out_token_stride;
  uint32_t out_head_stride;
};

// Attention of blocks to all of their pages, merged in ascending order and finished.
Status RecordAttend(Kernels& kernels, Commands& commands, const AttentionJob& job);

// The same in two steps, for few rows and many pages: first blocks with some of their pages each,
// whose results are written to job.result; then, after a barrier, blocks with all of them. A result
// has AttentionResultFloats(); the order is by page, then by key/value head, then by row.
Status RecordAttendPages(Kernels& kernels, Commands& commands, const AttentionJob& job);
Status RecordMergePages(Kernels& kernels, Commands& commands, const AttentionJob& job,
                        Address page_results);
uint32_t AttentionResultFloats(const kernels::PageLayout& layout);

// An entry of `spans`: some tokens of one sequence, one position after the other.
struct WriteSpan {
  uint32_t first_row;
  uint32_t rows;
  uint32_t position;  // of the first
  uint32_t table;     // entry of its page in the page table; the next pages follow
};

struct WriteRowsJob {
  const kernels::PageLayout* layout;
  Address page_table;
  Address spans;          // [span_count] WriteSpan; no page is in two of them
  uint32_t span_count;    // up to kRowGroups
  uint32_t longest_span;  // rows
  uint32_t kv_heads;
  Address keys;         // [rows], key_stride apart, of heads one after the other
  uint32_t key_stride;  // floats
  Address values;
  uint32_t value_stride;
  // RoPE that is applied to the keys in pages, but not to those in `keys`; rows are heads.
  std::optional<RopeJob> turn;
};
Status RecordWriteRows(Kernels& kernels, Commands& commands, const WriteRowsJob& job);

}  // namespace aster::vulkan
