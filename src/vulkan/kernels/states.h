// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Gated delta nets on a device, step by step: the bits of kernels/delta_net.h for all heads and any
// number of sequences at once, with the pages of docs/delta-net.md. Between the convolution and the
// states, other kernels norm and scale queries and keys. Must not know models.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/pages.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// An entry of `courses`: the tokens of one sequence in a batch. States are known at the begin of
// the page of the first one, and maybe at another position within that page, which is in the page's
// mark. They are computed again from there on.
struct StateCourse {
  uint32_t page_begin;  // of the page of the first token
  uint32_t position;    // of that token
  uint32_t end;         // after the last token
  uint32_t first_row;   // of the batch
  uint32_t first_slot;  // of all tokens from page_begin on, in keys and values
  uint32_t inputs;      // entry of the page of inputs before the first page; the next follow
  uint32_t states;      // the same, of states
  uint32_t hashes;      // entry of the hash of the first page_begin + 1 tokens; the next follow
  uint32_t keeps;  // 1: the states before the batch are kept in the first page, which stays open
};

// The courses of a batch.
struct StateCourses {
  Address courses;  // [count] StateCourse
  Address table;    // uint64 addresses of pages
  Address
      hashes;  // of 16 bytes: of the tokens up to every position between page_begin and position
  uint32_t count;
  uint32_t longest;  // tokens from page_begin on

  uint32_t most_pages() const { return DivideRoundingUp(longest, kernels::kPagePositions); }
};

struct DeltaSizes {
  uint32_t key_heads;
  uint32_t value_heads;
  uint32_t key_dim;    // multiples of 16
  uint32_t value_dim;  // the same
  bool in_turn;        // value head i uses key head i % key_heads; else neighbours share one

  uint32_t key_channels() const { return 2 * key_heads * key_dim; }
  uint32_t value_channels() const { return value_heads * value_dim; }
  uint32_t channels() const { return key_channels() + value_channels(); }
};

// Writes the tokens' inputs.
struct DeltaInputsJob {
  DeltaSizes sizes;
  Address mixed;  // [rows] of channels, mixed_stride floats apart
  uint32_t mixed_stride;
  Address times;  // [rows] of value_heads
  uint32_t time_stride;
  Address betas;
  uint32_t beta_stride;
  Address time_bias;  // [value_heads]
  Address rates;      // the same
  Address rows_out;   // [rows] uint64 addresses to which each row is written
  uint32_t rows;      // up to kRowGroups
};
Status RecordDeltaInputs(Kernels& kernels, Commands& commands, const DeltaInputsJob& job);

// DeltaTable::convolve of inputs in pages.
struct DeltaConvolutionJob {
  DeltaSizes sizes;
  StateCourses courses;  // longest up to kRowGroups
  Address weights;       // [taps][channels]
  uint32_t taps;
  Address keys;    // [slots][key_channels]
  Address values;  // [slots][value_channels]
};
Status RecordDeltaConvolution(Kernels& kernels, Commands& commands, const DeltaConvolutionJob& job);

// DeltaTable::run, from states in pages to states in pages, for the tokens in one page of each
// course that reaches it. The next page continues from the states at the end of this one.
struct DeltaStatesJob {
  DeltaSizes sizes;
  StateCourses courses;
  Address keys;  // of length 1, queries scaled
  Address values;
  Address result;  // [rows] of value_channels
  uint32_t result_stride;
  uint32_t page;  // 0: the first
};
Status RecordDeltaStates(Kernels& kernels, Commands& commands, const DeltaStatesJob& job);

// Record it last: writes the marks, which have the position of an open page's states.
Status RecordDeltaMarks(Kernels& kernels, Commands& commands, const DeltaSizes& sizes,
                        const StateCourses& courses);

}  // namespace aster::vulkan
