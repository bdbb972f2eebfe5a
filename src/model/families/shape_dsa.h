// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of DeepSeek V3.2 and GLM 5 beside those of shape_mla.h: an index that chooses the
// rows which heads see (DSA). Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

Status ReadDsa(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckDsa(const Shape& shape);

void WriteDsa(const Shape& shape, gguf::MetadataBuilder& metadata);

// Whether a layer of GLM 5.2 has an index of its own.
bool HasIndexIn52(uint32_t layer);

}  // namespace aster::model
