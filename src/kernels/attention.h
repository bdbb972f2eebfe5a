// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention over pages of keys and values, by online softmax (as FlashAttention). Every page gives
// each query a result (maximum, sum of weights, weighted values), and page results are merged in
// ascending order, so that the bits do not depend on the number of queries in a call, on threads,
// or on when a row was written. docs/attention.md states every formula; ref/attention.cc is the
// plain form. Must not know models, positions' meaning, masks by name, threads or owners of memory.
// Plain data: sources of one instruction set include this.
// | A call serves one key/value head: its rows are the queries of all heads that share it, for any
// number of tokens. Callers divide work by key/value head, by rows, and, if rows are few, by pages
// (attend_pages and merge_pages). Threads are in the compute float mode. Nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"
#include "kernels/pages.h"

namespace aster::kernels {

// The positions that a query sees: [0, sink_end) and [begin, end).
struct VisibleRows {
  int64_t sink_end;
  int64_t begin;
  int64_t end;
};

// The visible rows of the query at `position` under the usual masks: itself and earlier positions;
// of these the last `window` positions (including itself; 0 for all) and the first `sinks`.
VisibleRows VisibleTo(int64_t position, int64_t window, int64_t sinks);

// Rows in a model's order: row r belongs to token r / heads and head r % heads, and starts at token
// * token_stride + head * head_stride floats.
struct RowGrid {
  size_t rows;
  size_t heads;
  size_t token_stride;
  size_t head_stride;
};

// Queries are prepared in groups of this many rows: [groups][key_dim][kQueryGroup] floats. For
// kQ8Int: [groups][words][kQueryGroup], four signed bytes of a row to a word, padded with zeros;
// then for each 32 bytes the float scale; then for each 32 the integer -128 times their sum.
inline constexpr int kQueryGroup = 12;

// kQ8Int: the largest weight of a page is rounded to this number: two planes of seven bits.
inline constexpr int kIntWeight = 16383;
inline constexpr int kIntPlaneBits = 7;

struct AttentionJob {
  const PageLayout* layout;
  const uint8_t* const* pages;  // [page_count], of one layer and head, ascending and consecutive;
  size_t page_count;            // null is allowed for a page that no row of the job sees
  int64_t first_page;           // number of pages[0], which holds positions from first_page * 128

  const float* queries;        // prepared
  const VisibleRows* visible;  // [rows]
  size_t rows;
  float cap = 0.0f;  // soft cap of scores, in units of log 2; 0: none
};

// Results of rows over the pages so far, or of one page.
struct AttentionState {
  float* max;     // [rows], of scores in units of log 2
  float* sum;     // [rows]
  float* values;  // [rows][value_stride]
};

struct AttentionTable {
  // Writes `count` rows of floats (`key_stride` and `value_stride` floats apart) into a page, from
  // position `first` of the page.
  void (*write_rows)(const PageLayout& layout, int first, int count, const float* keys,
                     size_t key_stride, const float* values, size_t value_stride, uint8_t* page);

  // queries = AttentionJob::queries, from rows of key_dim floats times `factor` (QueryFactor).
  // Writes QueryFloats(layout, rows) floats.
  void (*prepare_queries)(const PageLayout& layout, const float* q, const RowGrid& grid,
                          float factor, float* queries);

  // Merges the job's pages, in ascending order, into `state` (ResetAttention before the first).
  void (*attend)(const AttentionJob& job, const AttentionState& state);

  // Writes each page's own result instead: page i of the job to rows [i * rows, (i + 1) * rows) of
  // `results`.
  void (*attend_pages)(const AttentionJob& job, const AttentionState& results);

  // Merges `page_count` such results into `state`: the same bits as attend.
  void (*merge_pages)(const PageLayout& layout, const AttentionState& results, size_t page_count,
                      size_t rows, const AttentionState& state);

  // out = values / sum, by rows of value_dim floats; zero if a row sees nothing. sinks[heads], if
  // not null, are logits of a further weight per head, which counts in the sum only.
  void (*finish)(const PageLayout& layout, const AttentionState& state, const float* sinks,
                 const RowGrid& grid, float* out);
};

// Scores are in units of log 2: the factor of queries is scale / ln 2, rounded to float. The cap of
// scores has the same factor.
float QueryFactor(float scale);

// Floats (and words) of prepared queries.
size_t QueryFloats(const PageLayout& layout, size_t rows);

// Resets to the state before the first page.
void ResetAttention(const PageLayout& layout, size_t rows, const AttentionState& state);

// For an instruction set that this machine has (isa_choice.h).
const AttentionTable& Attention(Isa isa);

extern const AttentionTable kAttentionRef;
extern const AttentionTable kAttentionAvx2;
extern const AttentionTable kAttentionAvxVnni;
extern const AttentionTable kAttentionAvx512;
extern const AttentionTable kAttentionNeon;

}  // namespace aster::kernels
