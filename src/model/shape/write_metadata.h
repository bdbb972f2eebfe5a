// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes a shape as a file's metadata: the reverse of ReadShape.
#pragma once

#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"

namespace aster::model {

void WriteShape(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
