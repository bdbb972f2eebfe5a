// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is the own of models whose heads share one row of low rank (MLA) among a model's numbers:
// DeepSeek V2 and V3, Kimi K2, GLM 4.7 Flash. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Heads, in place of those of other architectures. The layers have been counted.
Status ReadMlaHeads(const Keys& keys, Shape& shape);

// Everything else, once it is known how positions turn.
Status ReadMla(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckMla(const Shape& shape);

void WriteMla(const Shape& shape, gguf::MetadataBuilder& metadata);

// What scores of attention are multiplied with: YaRN's magnitude, twice, is in it.
float MlaScaleOf(const Shape& shape);

}  // namespace aster::model
