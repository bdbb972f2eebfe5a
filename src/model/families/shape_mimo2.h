// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is MiMo 2's own among a model's numbers: layers of two kinds, values that are narrower than
// keys, and scaled. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Heads, in place of those of other architectures. The layers have been counted.
Status ReadMimo2Heads(const Keys& keys, Shape& shape);

// Everything else, once it is known how positions turn.
Status ReadMimo2(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckMimo2(const Shape& shape);

void WriteMimo2(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
