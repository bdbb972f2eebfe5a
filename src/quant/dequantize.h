// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// From rows of any published block type to floats, bit for bit as the format defines them. Must not
// know tensors or files, nor how a device stores weights.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "gguf/types.h"

namespace aster::quant {

// Decodes `block_count` consecutive blocks at `blocks`, aligned or not. Any bytes are valid blocks;
// if a scale is infinite or NaN, so are the floats. Computes in the calling thread's float mode:
// denormal weights become zero if it flushes them.
using Decoder = void (*)(const uint8_t* blocks, size_t block_count, float* out);

// Null if the type cannot be dequantised.
Decoder FindDecoder(gguf::TensorType type);

// A whole row (or several), exact in any float mode. An error if the type has no decoder, or if the
// bytes are not exactly those of out.size() elements.
Status Dequantize(gguf::TensorType type, Bytes row, std::span<float> out);

}  // namespace aster::quant
