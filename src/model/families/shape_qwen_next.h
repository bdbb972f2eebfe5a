// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of Qwen3-Next, Qwen3.5 and Qwen3.6: layers that keep a state, and a shared expert
// with a gate. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Whether some layers of the architecture keep a state.
bool HasRecurrence(Arch arch);

// Everything except what Qwen3 and Qwen3-MoE have. The number of layers is known.
Status ReadQwenNext(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckQwenNext(const Shape& shape);

void WriteQwenNext(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
