// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is Gemma 3's own among a model's numbers. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything but what every dense architecture has: which layers have a window, how positions turn
// in them, the scale of scores and the cap of logits.
Status ReadGemma3(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckGemma3(const Shape& shape);

void WriteGemma3(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
