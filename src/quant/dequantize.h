// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From rows of any published block type to floats, bit for bit as the format defines them. Must
// not know tensors or files, nor how a device would like its weights.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "gguf/types.h"

namespace aster::quant {

// Decodes `block_count` blocks that stand one after the other at `blocks`, aligned or not. Any
// bytes are valid blocks; where a scale is infinite or NaN, so are the floats. Computes in the
// calling thread's float mode: denormal weights are zero where it flushes those.
using Decoder = void (*)(const uint8_t* blocks, size_t block_count, float* out);

// Null where the type cannot be dequantised.
Decoder FindDecoder(gguf::TensorType type);

// A whole row (or several), exact in any float mode. An error where the type has no decoder, or
// where the bytes are not exactly those of out.size() elements.
Status Dequantize(gguf::TensorType type, Bytes row, std::span<float> out);

}  // namespace aster::quant
