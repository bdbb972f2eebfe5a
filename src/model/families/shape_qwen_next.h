// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What Qwen3-Next, Qwen3.5 and Qwen3.6 have of their own among a model's numbers: layers that keep
// a state, and a shared expert with a gate. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Whether some layers of the architecture keep a state.
bool HasRecurrence(Arch arch);

// Everything but what a Qwen3 or a Qwen3-MoE has too. The layers have been counted.
Status ReadQwenNext(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckQwenNext(const Shape& shape);

void WriteQwenNext(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
