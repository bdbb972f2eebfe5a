// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Encodes rows of hidden states for their way between stages. f32 is exact; bf16 and q8 are smaller
// and not exact. Must not know messages.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/messages.h"
#include "wire/payload.h"

namespace aster::stage {

// "f32", "bf16", "q8".
std::string_view RowEncodingName(wire::RowEncoding encoding);
Result<wire::RowEncoding> ParseRowEncoding(std::string_view name);
constexpr bool IsExact(wire::RowEncoding encoding) { return encoding == wire::RowEncoding::kF32; }

// The bytes of `rows` encoded rows of `width` numbers.
size_t EncodedBytes(wire::RowEncoding encoding, size_t rows, size_t width);

// Appends encoded `values`, which are whole rows, to `out`.
void EncodeRows(wire::RowEncoding encoding, std::span<const float> values, size_t width,
                wire::Payload& out);

// Decodes `encoded`, which has EncodedBytes. Never fails: any bytes are valid.
void DecodeRows(wire::RowEncoding encoding, Bytes encoded, size_t rows, size_t width, float* out);

}  // namespace aster::stage
