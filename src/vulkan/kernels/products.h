// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Activations prepared on a device, and products of packed weights with them: the bytes and bits of
// kernels/activations.h and kernels/matmul.h. Must not know what matrices are for.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/weight_type.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/kernels.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {

struct PrepareJob {
  kernels::ActivationFormat format;
  Address rows_in;   // floats
  uint32_t stride;   // floats from row to row
  uint32_t rows;     // up to kRowGroups
  uint32_t columns;  // for kInt8Per256 a multiple of 256
  Address prepared;  // ActivationBytes()
};
Status RecordPrepare(Kernels& kernels, Commands& commands, const PrepareJob& job);

// Whether rows of the format can be prepared in one kernel with a norm or a gate.
bool CanPrepareFrom(kernels::ActivationFormat format);
// Norms rows, whose result must be other memory, and prepares them. For few rows, as each workgroup
// computes the norm itself.
Status RecordPrepareNormed(Kernels& kernels, Commands& commands, kernels::ActivationFormat format,
                           const RmsNormJob& norm, Address prepared);

// Joins gate and up of a feed-forward network, in place of the gates.
struct GateJob {
  ElementOperation operation;  // one of those with a gate
  Address gates;               // [rows][columns]
  Address ups;                 // likewise
  uint32_t rows;
  uint32_t columns;
  float limit;
};
Status RecordPrepareGated(Kernels& kernels, Commands& commands, kernels::ActivationFormat format,
                          const GateJob& gate, Address prepared);

// Row i of `to` becomes row indices[i] of `from`; as kernels::GatherActivations.
struct GatherPreparedJob {
  kernels::ActivationFormat format;
  Address from;
  uint32_t from_rows;  // prepared together
  uint32_t columns;
  Address indices;  // [to_rows] uint32, each below from_rows
  uint32_t to_rows;
  Address to;
};
Status RecordGatherPrepared(Kernels& kernels, Commands& commands, const GatherPreparedJob& job);

// As kernels::MatmulJob.
struct ProductJob {
  kernels::WeightType type;
  Address weights;   // packed (kernels/pack.h)
  uint32_t outputs;  // rows of the matrix
  uint32_t columns;
  Address activations;       // prepared
  uint32_t activation_rows;  // how many rows were prepared together
  uint32_t first_row;        // the first of those to multiply
  uint32_t rows;             // how many
  Address result;            // [rows][out_stride] floats
  uint32_t out_stride;
  // [rows][sum_stride] floats to which the result is also added, or none. Only if CanAddProduct.
  Address sum = 0;
  uint32_t sum_stride = 0;
};
bool CanAddProduct(kernels::WeightType type, uint32_t rows);
Status RecordProduct(Kernels& kernels, Commands& commands, const ProductJob& job);

}  // namespace aster::vulkan
