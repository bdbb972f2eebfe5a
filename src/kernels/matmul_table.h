// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What every instruction set provides for matrix products: a table of functions. Plain data, so
// that kernel sources may include this. Callers use matmul.h and activations.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/weight_type.h"

namespace aster::kernels {

// One product: every output row is a row of activations times the transposed matrix.
struct MatmulJob {
  const void* weights;  // packed (pack.h)
  size_t rows;          // of the matrix: outputs
  size_t columns;       // of the matrix: inputs

  const void* activations;  // prepared (activations.h)
  size_t activation_rows;   // rows that were prepared together
  size_t first_row;         // the first of those to multiply
  size_t batch;             // how many of them

  float* out;               // [.., rows]
  size_t out_stride;        // floats from row to row
  const uint32_t* to_rows;  // [batch] rows of `out`; null: row i for the i-th
};

// Computes the outputs of panels `panel_begin` to `panel_end`; neither these nor the batch are
// empty.
using MatmulFunction = void (*)(const MatmulJob& job, size_t panel_begin, size_t panel_end);

// The place of one prepared row (activation_layout.h).
struct PreparedRow {
  uint8_t* pieces;
  uint8_t* words;
  size_t group_rows;
};

// Writes one row of `columns` values in a format.
using PrepareFunction = void (*)(const float* row, size_t columns, const PreparedRow& out);

struct MatmulTable {
  MatmulFunction products[kWeightTypeCount];        // by WeightType
  PrepareFunction prepare[kActivationFormatCount];  // by ActivationFormat
};

// How many bytes ahead weights are prefetched, about as much as a core has in flight at its full
// bandwidth; 0 if this machine reads fastest without prefetching.
extern const size_t kStreamAhead;

extern const MatmulTable kMatmulRef;
extern const MatmulTable kMatmulAvx2;
extern const MatmulTable kMatmulAvxVnni;
extern const MatmulTable kMatmulAvx512;
extern const MatmulTable kMatmulAmx;
extern const MatmulTable kMatmulNeon;
extern const MatmulTable kMatmulI8mm;

}  // namespace aster::kernels
