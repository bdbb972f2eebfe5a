// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What DeepSeek V3.2 and GLM 5 have among a model's numbers beside what shape_mla.h reads: an index
// that chooses the rows which heads see (DSA). Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

Status ReadDsa(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckDsa(const Shape& shape);

void WriteDsa(const Shape& shape, gguf::MetadataBuilder& metadata);

// Whether a layer of GLM 5.2 has an index of its own.
bool HasIndexIn52(uint32_t layer);

}  // namespace aster::model
