// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The keys that several families share: for a router that scores every expert by itself, and for
// the layers with experts. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Removes MTP blocks from the number of layers, which includes them. They are left out until their
// tensors are found (CheckSupport). Must precede the reading of anything that differs by layer.
Status LeaveMtpOut(const Keys& keys, Shape& shape);

// Writes the keys of MTP blocks, and the number of layers again.
void WriteMtp(const Shape& shape, gguf::MetadataBuilder& metadata);

// The name of the norm after an MTP block, without the block's own name.
std::string_view NormOfMtp(const Shape& shape);

// How experts are scored, chosen and weighted, which of them every token uses, and the width of
// first layers without experts. For missing keys `shape` has the usual values.
Status ReadRouter(const Keys& keys, Shape& shape);

// For families with a plain router (a softmax over all experts; the weights of chosen ones sum to
// 1): an error if the file says otherwise.
Status ExpectPlainRouter(const Keys& keys);

// An error if the computation does not support the numbers.
Status CheckRouter(const Shape& shape);

void WriteRouter(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
