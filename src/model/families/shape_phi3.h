// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of Phi 3 and Phi 4. Must not know weights.
#pragma once

#include <string_view>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Tables of frequency factors: for texts up to the original context, and for longer ones.
inline constexpr std::string_view kShortPhiFactors = "rope_factors_short.weight";
inline constexpr std::string_view kLongPhiFactors = "rope_factors_long.weight";

// Everything except what Llama has: the original context, and the factor of cosines and sines for
// the longer one.
Status ReadPhi3(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckPhi3(const Shape& shape);

// The table of frequency factors. It is the long one for every text if the model was trained for
// more than the original context: RoPE is applied to KV rows only once.
std::string_view PhiFactorsOf(const Shape& shape);

void WritePhi3(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
