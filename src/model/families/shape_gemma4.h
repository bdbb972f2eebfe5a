// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of Gemma 4: layers of two kinds, whose heads differ. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything after the widths of the embedding. Whether layers without a window use keys as values
// is not in the metadata, only in the list of tensors.
Status ReadGemma4(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckGemma4(const Shape& shape);

// Writes Gemma 4's keys in place of keys that hold one number for all layers.
void WriteGemma4(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
