// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of Gemma 3. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything except what every dense architecture has: which layers have a window, their RoPE, the
// scale of scores and the cap of logits.
Status ReadGemma3(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckGemma3(const Shape& shape);

void WriteGemma3(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
