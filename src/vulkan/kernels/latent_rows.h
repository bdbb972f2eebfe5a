// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of latent attention on a device: packing in the formats of kernels/latent.h, writing into
// pages, and making them of several tokens' inputs. Each packed row begins at a word; in pages rows
// have no gaps. Must not know models or owners of pages.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/latent.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

uint32_t RowBytes(const kernels::LatentFormat& format);
// Of a packed row.
uint32_t RowWords(const kernels::LatentFormat& format);

// kernels::EncodeLatentRow.
struct EncodeJob {
  kernels::LatentFormat format;
  Address x;  // [rows] of format.dim floats, stride floats apart
  uint32_t stride;
  uint32_t rows;
  Address packed;  // [rows][RowWords]
};
Status RecordEncodeLatent(Kernels& kernels, Commands& commands, const EncodeJob& job);

// LatentTable::decode.
struct DecodeJob {
  kernels::LatentFormat format;
  Address packed;
  uint32_t rows;
  Address y;
  uint32_t stride;
};
Status RecordDecodeLatent(Kernels& kernels, Commands& commands, const DecodeJob& job);

// An entry of `runs`: rows of one sequence, one after the other.
struct RowRun {
  uint32_t first_row;  // of the source
  uint32_t rows;
  uint32_t position;  // of the first, in rows of the stream
  uint32_t table;     // entry of its page in the page table; the next pages follow
};

struct WriteLatentJob {
  kernels::LatentFormat format;
  Address packed;
  uint32_t row_step = 1;  // from a row of a run to the next, in packed rows
  Address page_table;     // uint64 addresses
  Address runs;           // [run_count] RowRun; no page is in two of them
  uint32_t run_count;     // up to kRowGroups
  uint32_t longest_run;
  uint32_t rows_of_page;
};
Status RecordWriteLatent(Kernels& kernels, Commands& commands, const WriteLatentJob& job);

// Writes tokens' values and scores, of which compressed rows are made, into pages of 128 tokens.
struct WriteInputsJob {
  Address values;  // [rows], value_stride floats apart
  uint32_t value_stride;
  Address scores;
  uint32_t score_stride;
  Address places = 0;  // [ratio][columns], added to the scores; or none
  uint32_t ratio;
  uint32_t columns;
  Address page_table;
  Address runs;
  uint32_t run_count;
  uint32_t longest_run;
};
Status RecordWriteInputs(Kernels& kernels, Commands& commands, const WriteInputsJob& job);

// An entry of `rows` of PoolJob: a row to be made of these tokens.
struct PooledRow {
  uint32_t first;   // position of the first token
  uint32_t before;  // tokens of the row before
  uint32_t count;   // all tokens
  uint32_t table;   // entry of the first token's page
  uint32_t place;   // in the result
};

// LatentTable::pool. With twice as many columns as elements, tokens of the row before use the first
// half of their columns, the others the second.
struct PoolJob {
  Address page_table;
  Address rows;        // [row_count] PooledRow
  uint32_t row_count;  // up to kRowGroups
  uint32_t dim;
  uint32_t columns;  // dim, or twice that
  Address result;    // by place, result_stride floats apart, of [dim]
  uint32_t result_stride;
};
Status RecordPool(Kernels& kernels, Commands& commands, const PoolJob& job);

}  // namespace aster::vulkan
