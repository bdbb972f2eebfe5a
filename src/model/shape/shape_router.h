// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What files say of a router that scores every expert by itself, and of the layers that have
// experts: the keys that several families share. Must not know weights.
#pragma once

#include "base/result.h"
#include "gguf/metadata_builder.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// MTP blocks stand behind the layers and are counted with them. They are left out until their
// tensors are found (CheckSupport). Before anything that differs by layer is read.
Status LeaveNextOut(const Keys& keys, Shape& shape);

// Of a shape that has such blocks; the number of layers is written again.
void WriteNext(const Shape& shape, gguf::MetadataBuilder& metadata);

// The norm behind such a block, by its name behind the block's.
std::string_view NormOfNext(const Shape& shape);

// How experts are scored, chosen and weighed, which of them every token uses, and the width of the
// first layers where those have none. Of what files leave out, `shape` has what is usual.
Status ReadRouter(const Keys& keys, Shape& shape);

// Of families with a plain router, a softmax over all experts whose chosen ones' shares sum up to
// 1: an error where the file says otherwise.
Status ExpectPlainRouter(const Keys& keys);

// Numbers that the computation cannot deal with.
Status CheckRouter(const Shape& shape);

void WriteRouter(const Shape& shape, gguf::MetadataBuilder& metadata);

}  // namespace aster::model
