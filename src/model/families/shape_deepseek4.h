// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is DeepSeek V4's own among a model's numbers and tensors. Must not know weights.
#pragma once

#include <vector>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything but what every architecture has. A number without which other numbers would come out
// is never guessed.
Status ReadDeepSeek4(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckDeepSeek4(const Shape& shape);

void WriteDeepSeek4(const Shape& shape, gguf::MetadataBuilder& metadata);

void AddDeepSeek4Tensors(const Shape& shape, std::vector<TensorSpec>& specs);

}  // namespace aster::model
