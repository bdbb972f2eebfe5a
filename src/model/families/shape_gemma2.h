// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is Gemma 2's own among a model's numbers. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything but what every dense architecture has: which layers have a window, the scale of scores
// and the caps of scores and logits.
Status ReadGemma2(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckGemma2(const Shape& shape);

void WriteGemma2(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
