// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of Mistral 3. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything except what Llama has: how queries grow with their position.
Status ReadMistral3(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckMistral3(const Shape& shape);

void WriteMistral3(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
