// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is Mistral 3's own among a model's numbers. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything but what a Llama has too: how much queries grow with their position.
Status ReadMistral3(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckMistral3(const Shape& shape);

void WriteMistral3(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
