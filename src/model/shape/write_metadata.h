// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The metadata by which a file says that it is a model of a certain shape: the opposite of
// ReadShape.
#pragma once

#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"

namespace aster::model {

void WriteShape(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
