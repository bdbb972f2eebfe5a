// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers and tensors of DeepSeek V4. Must not know weights.
#pragma once

#include <vector>

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"
#include "model/shape/tensors.h"

namespace aster::model {

// Everything except what every architecture has. Numbers that others depend on have no default.
Status ReadDeepSeek4(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckDeepSeek4(const Shape& shape);

void WriteDeepSeek4(const Shape& shape, gguf::MetadataBuilder& metadata);

void AddDeepSeek4Tensors(const Shape& shape, std::vector<TensorSpec>& specs);

}  // namespace aster::model
