// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of models with multi-head latent attention (MLA), whose heads share one row of low
// rank: DeepSeek V2 and V3, Kimi K2, GLM 4.7 Flash. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Heads, in place of those of other architectures. The number of layers is known.
Status ReadMlaHeads(const Keys& keys, Shape& shape);

// Everything else, once RoPE is known.
Status ReadMla(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckMla(const Shape& shape);

void WriteMla(const Shape& shape, gguf::MetadataBuilder& metadata);

// The factor of attention scores; it includes YaRN's magnitude twice.
float MlaScaleOf(const Shape& shape);

}  // namespace aster::model
