// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is Phi 3's and Phi 4's own among a model's numbers. Must not know weights.
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

// Everything but what a Llama has too: the context before it was lengthened, and what cosines and
// sines are multiplied with since.
Status ReadPhi3(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckPhi3(const Shape& shape);

// The table that positions turn by. It is the long one for every text where the model was trained
// for more than the original context: rows of the KV cache are turned once, and stay.
std::string_view PhiFactorsOf(const Shape& shape);

void WritePhi3(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
