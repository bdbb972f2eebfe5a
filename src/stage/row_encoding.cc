// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/row_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "quant/half.h"

namespace aster::stage {
namespace {

using wire::RowEncoding;

// Numbers of a row that share a scale; the last block of a row may be shorter.
constexpr size_t kBlock = 32;
constexpr float kLargest = 127;

// A scale, then a byte for each number.
uint8_t* EncodeBlock(std::span<const float> values, uint8_t* out) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float scale = largest / kLargest;
  std::memcpy(out, &scale, sizeof(scale));
  out += sizeof(scale);
  for (const float value : values) {
    const float scaled = scale > 0 ? std::nearbyint(value / scale) : 0;
    // NaN and infinities become zero.
    const float bounded = std::isfinite(scaled) ? std::clamp(scaled, -kLargest, kLargest) : 0;
    *out++ = static_cast<uint8_t>(static_cast<int8_t>(bounded));
  }
  return out;
}

}  // namespace

std::string_view RowEncodingName(RowEncoding encoding) {
  switch (encoding) {
    case RowEncoding::kF32:
      return "f32";
    case RowEncoding::kBf16:
      return "bf16";
    case RowEncoding::kQ8:
      return "q8";
  }
  return "";
}

Result<RowEncoding> ParseRowEncoding(std::string_view name) {
  for (const RowEncoding encoding : {RowEncoding::kF32, RowEncoding::kBf16, RowEncoding::kQ8}) {
    if (name == RowEncodingName(encoding)) return encoding;
  }
  return InvalidArgument(
      fmt::format("\"{}\" is no encoding of hidden states: f32 (exact), bf16 and q8 are", name));
}

size_t EncodedBytes(RowEncoding encoding, size_t rows, size_t width) {
  switch (encoding) {
    case RowEncoding::kF32:
      return rows * width * sizeof(float);
    case RowEncoding::kBf16:
      return rows * width * sizeof(uint16_t);
    case RowEncoding::kQ8:
      return rows * (width + DivideUp(width, kBlock) * sizeof(float));
  }
  return 0;
}

void EncodeRows(RowEncoding encoding, std::span<const float> values, size_t width,
                wire::Payload& out) {
  const size_t rows = values.size() / width;
  CHECK(rows * width == values.size());
  const size_t begin = out.size();
  out.resize(begin + EncodedBytes(encoding, rows, width));
  uint8_t* place = out.data() + begin;
  switch (encoding) {
    case RowEncoding::kF32:
      std::memcpy(place, values.data(), values.size_bytes());
      return;
    case RowEncoding::kBf16:
      for (const float value : values) {
        const uint16_t small = quant::FloatToBfloat16(value);
        std::memcpy(place, &small, sizeof(small));
        place += sizeof(small);
      }
      return;
    case RowEncoding::kQ8:
      for (size_t row = 0; row < rows; ++row) {
        for (size_t i = 0; i < width; i += kBlock) {
          place = EncodeBlock(values.subspan(row * width + i, std::min(kBlock, width - i)), place);
        }
      }
      return;
  }
}

void DecodeRows(RowEncoding encoding, Bytes encoded, size_t rows, size_t width, float* out) {
  CHECK(encoded.size() == EncodedBytes(encoding, rows, width));
  const uint8_t* place = encoded.data();
  switch (encoding) {
    case RowEncoding::kF32:
      std::memcpy(out, place, encoded.size());
      return;
    case RowEncoding::kBf16:
      for (size_t i = 0; i < rows * width; ++i, place += sizeof(uint16_t)) {
        uint16_t small;
        std::memcpy(&small, place, sizeof(small));
        out[i] = quant::Bfloat16ToFloat(small);
      }
      return;
    case RowEncoding::kQ8:
      for (size_t row = 0; row < rows; ++row) {
        for (size_t i = 0; i < width; i += kBlock) {
          float scale;
          std::memcpy(&scale, place, sizeof(scale));
          place += sizeof(scale);
          for (size_t k = i; k < std::min(i + kBlock, width); ++k) {
            *out++ = scale * static_cast<float>(static_cast<int8_t>(*place++));
          }
        }
      }
      return;
  }
}

}  // namespace aster::stage
