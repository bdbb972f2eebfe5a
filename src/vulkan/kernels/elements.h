// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Operations of kernels/ops.h on each element by itself, and sums in fixed point. Must not know
// what rows are for. An output may be the same memory as an input.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vulkan/kernels/kernels.h"

namespace aster::vulkan {

// elementwise.comp has the same numbers.
enum class ElementOperation : uint8_t {
  // Of a.
  kExp,
  kSigmoid,
  kSilu,
  kSoftplus,
  kSqrtSoftplus,
  kScale,  // a * factor
  // Of a and b.
  kAdd,
  kMultiply,
  kAddScaled,  // b + a * factor
  kSwiglu,     // silu(min(a, factor)) * b within ± factor
  kSwigluOai,  // a * sigmoid(1.702 a) * (b + 1), both within the same
  kGeglu,      // as kSwiglu, with gelu
  // Of a.
  kSoftcap,  // factor * tanh(a / factor)
  // Of a and b.
  kGateBySigmoid,  // a * sigmoid(b)
};

struct ElementJob {
  ElementOperation operation;
  Address a;
  Address b = 0;          // if the operation has one
  uint32_t b_count = 1;   // of a row of b: `count`, or a bias's length
  uint32_t b_share = 0;   // elements of a that use the same row of b; 0: all
  uint32_t b_stride = 0;  // from one row of b to the next; 0: without gaps
  Address y;
  uint32_t count;
  float factor = 0.0f;
};
Status RecordElements(Kernels& kernels, Commands& commands, const ElementJob& job);

// convert.comp has the same numbers.
enum class Conversion : uint8_t { kToF16, kToBf16, kFromF16, kFromBf16 };

// Converts `count` numbers; those of 16 bits are two in a word, a single last one with zeros.
Status RecordConversion(Kernels& kernels, Commands& commands, Conversion conversion, Address x,
                        uint32_t count, Address y);

// sums[count] of int64: OpsTable::fixed_accumulate, fixed_add and fixed_finish.
Status RecordFixedAccumulate(Kernels& kernels, Commands& commands, Address sums, Address y,
                             uint32_t count, float weight);
Status RecordFixedAdd(Kernels& kernels, Commands& commands, Address sums, Address more,
                      uint32_t count);
Status RecordFixedFinish(Kernels& kernels, Commands& commands, Address sums, uint32_t count,
                         Address y);

// For every row, the sum in fixed point over its terms of terms[place] * weight: the outputs of a
// token's experts.
struct WeightedSumJob {
  Address terms;       // [..][width] floats
  Address places = 0;  // [rows][terms_of_row] uint32: rows of `terms`; none: one after the other
  Address weights;     // [rows][terms_of_row] floats
  Address more = 0;    // [rows][width] floats, one more term for each row; or none
  Address more_scores = 0;  // [rows], the weights of `more` are their sigmoids; none: one
  uint32_t rows;
  uint32_t width;
  uint32_t terms_of_row;  // at most 63
  Address result;         // [rows][width] floats
};
Status RecordWeightedSum(Kernels& kernels, Commands& commands, const WeightedSumJob& job);

// For every row, the sum in fixed point over those of its terms that are computed here, not
// finished.
inline constexpr uint32_t kElsewhere = 0xffffffff;
struct OwnSumsJob {
  Address terms;     // [..][width] floats
  Address places;    // [rows][terms_of_row + 1] uint32: rows of `terms`, then one of `more`; or
                     // kElsewhere
  Address weights;   // [rows][terms_of_row] floats
  Address more = 0;  // [..][width] floats, of which a row has one at the most; or none
  Address more_scores = 0;  // [rows], the weights of `more` are their sigmoids; none: one
  uint32_t rows;
  uint32_t width;
  uint32_t terms_of_row;  // at most 62
  Address result;         // [rows][width] int64
};
Status RecordOwnSums(Kernels& kernels, Commands& commands, const OwnSumsJob& job);

}  // namespace aster::vulkan
