// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/row_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace aster::stage {
namespace {

using wire::RowEncoding;

std::vector<float> RowsRoundTrip(RowEncoding encoding, std::span<const float> values,
                                 size_t width) {
  wire::Payload payload;
  EncodeRows(encoding, values, width, payload);
  EXPECT_EQ(payload.size(), EncodedBytes(encoding, values.size() / width, width));
  std::vector<float> back(values.size());
  DecodeRows(encoding, payload, values.size() / width, width, back.data());
  return back;
}

TEST(RowEncoding, F32IsExact) {
  const std::vector<float> values = {0.0F, -0.0F,  1e-42F,
                                     3.5F, -1e38F, std::numeric_limits<float>::infinity()};
  const std::vector<float> back = RowsRoundTrip(RowEncoding::kF32, values, 3);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::signbit(back[i]), std::signbit(values[i]));
    EXPECT_EQ(back[i], values[i]);
  }
}

TEST(RowEncoding, ErrorsAreBounded) {
  for (const size_t width : {1, 31, 32, 33, 100}) {
    std::vector<float> values(width * 5);
    FillNormal(1, width, 0, values);
    for (size_t i = 0; i < values.size(); i += 7) values[i] *= 100;
    const std::vector<float> bf16 = RowsRoundTrip(RowEncoding::kBf16, values, width);
    const std::vector<float> q8 = RowsRoundTrip(RowEncoding::kQ8, values, width);
    for (size_t row = 0; row < 5; ++row) {
      for (size_t i = 0; i < width; ++i) {
        const size_t at = row * width + i;
        EXPECT_LE(std::abs(bf16[at] - values[at]), std::abs(values[at]) / 256);
        float largest = 0;
        for (size_t k = i / 32 * 32; k < std::min(width, i / 32 * 32 + 32); ++k) {
          largest = std::max(largest, std::abs(values[row * width + k]));
        }
        EXPECT_LE(std::abs(q8[at] - values[at]), largest / 127 * 0.5001F);
      }
    }
  }
}

TEST(RowEncoding, WhatIsNoNumberDoesNoHarm) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> back = RowsRoundTrip(RowEncoding::kBf16, std::vector{nan, 1.0F}, 2);
  EXPECT_TRUE(std::isnan(back[0]));
  EXPECT_EQ(back[1], 1.0F);
  static_cast<void>(RowsRoundTrip(RowEncoding::kQ8, std::vector{nan, 1.0F, 0.0F}, 3));
}

TEST(RowEncoding, NamesAreRead) {
  for (const auto encoding : {RowEncoding::kF32, RowEncoding::kBf16, RowEncoding::kQ8}) {
    EXPECT_EQ(ParseRowEncoding(RowEncodingName(encoding)).value(), encoding);
  }
  EXPECT_FALSE(ParseRowEncoding("f16").ok());
}

}  // namespace
}  // namespace aster::stage
