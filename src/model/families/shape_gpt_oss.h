// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is gpt-oss's own among a model's numbers. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything but what every architecture with experts has: which layers have a window, and that the
// router and the gates are those that can be computed.
Status ReadGptOss(const Keys& keys, Shape& shape);

// Numbers that the computation cannot deal with.
Status CheckGptOss(const Shape& shape);

void WriteGptOss(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
