// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Gated delta nets on a device, step by step: the bits of kernels/delta_net.h for all heads and any
// number of sequences at once, in pages as docs/delta-net.md has them. Between the convolution and
// the states queries and keys are normed and scaled by other kernels. Must not know models.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/pages.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// The tokens of one sequence in a batch; what `courses` holds. States are known before the page of
// the first one, and within that page maybe at another position, which the page's mark says: the
// tokens from there on are taken once more.
struct StateCourse {
  uint32_t page_begin;  // of the page of the first token
  uint32_t position;    // of that token
  uint32_t end;         // behind the last
  uint32_t first_row;   // of the batch
  uint32_t first_slot;  // of all tokens from page_begin on, in keys and values
  uint32_t inputs;      // entry of the page of inputs before the first page; the next follow
  uint32_t states;      // the same, of states
  uint32_t hashes;      // entry of the hash of the first page_begin + 1 tokens; the next follow
  uint32_t keeps;  // 1: the states before the batch are kept in the first page, which stays open
};

// What all of them are given.
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
  bool in_turn;        // value heads take key heads in turn; else several in a row share one

  uint32_t key_channels() const { return 2 * key_heads * key_dim; }
  uint32_t value_channels() const { return value_heads * value_dim; }
  uint32_t channels() const { return key_channels() + value_channels(); }
};

// What tokens bring.
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
  Address rows_out;   // [rows] uint64 addresses, where each row goes
  uint32_t rows;      // up to kRowGroups
};
Status RecordDeltaInputs(Kernels& kernels, Commands& commands, const DeltaInputsJob& job);

// DeltaTable::convolve, of inputs in pages.
struct DeltaConvolutionJob {
  DeltaSizes sizes;
  StateCourses courses;  // longest up to kRowGroups
  Address weights;       // [taps][channels]
  uint32_t taps;
  Address keys;    // [slots][key_channels]
  Address values;  // [slots][value_channels]
};
Status RecordDeltaConvolution(Kernels& kernels, Commands& commands, const DeltaConvolutionJob& job);

// DeltaTable::run, from states in pages to states in pages: of the tokens in one page of each
// course that reaches it. The next page begins with what this one leaves.
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

// Afterwards: which position's states an open page holds.
Status RecordDeltaMarks(Kernels& kernels, Commands& commands, const DeltaSizes& sizes,
                        const StateCourses& courses);

}  // namespace aster::vulkan
