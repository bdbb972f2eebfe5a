// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is Gemma 4's own among a model's numbers: layers of two kinds, whose heads differ. Must not
// know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything behind the widths of the embedding. Whether the values of layers without a window are
// their keys is not metadata: the list of tensors says it.
Status ReadGemma4(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckGemma4(const Shape& shape);

// In place of the keys of other architectures that hold one number for all layers.
void WriteGemma4(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
