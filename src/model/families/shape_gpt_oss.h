// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of gpt-oss. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything except what every architecture with experts has: which layers have a window. Checks
// that router and gates are of the supported kind.
Status ReadGptOss(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers.
Status CheckGptOss(const Shape& shape);

void WriteGptOss(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
