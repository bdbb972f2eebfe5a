// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of MiMo 2: layers of two kinds, and values that are narrower than keys and scaled.
// Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Heads, in place of those of other architectures. The number of layers is known.
Status ReadMimo2Heads(const Keys& keys, Shape& shape);

// Everything else, once RoPE is known.
Status ReadMimo2(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckMimo2(const Shape& shape);

void WriteMimo2(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
