// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of made-up weights, distributed as real ones are and the same on every machine, so that
// errors of quantisers can be compared. Must not depend on a quantiser.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace aster::bench {

inline constexpr size_t kRowCount = 128;
inline constexpr size_t kRowElements = 2048;

inline constexpr std::array<std::string_view, 6> kWeightShapes = {"normal",  "laplace", "outliers",
                                                                  "uniform", "offset",  "scaled"};

struct WeightRows {
  std::vector<float> weights;     // [kRowCount, kRowElements]
  std::vector<float> importance;  // [kRowElements], log-normal as measured ones are
};

namespace weight_rows_internal {

inline std::vector<float> Normal(uint64_t stream, size_t count) {
  std::vector<float> values(count);
  FillNormal(1, stream, 0, values);
  return values;
}

}  // namespace weight_rows_internal

// normal: deviation 0.02. laplace: heavier tails (a sum of two products of normal numbers).
// outliers: normal, and three in a thousand 15 times as large. uniform: no tails. offset: normal
// around its own deviation. scaled: heavy tails, every row and every column of its own size.
inline WeightRows MakeWeightRows(std::string_view shape) {
  using weight_rows_internal::Normal;
  constexpr size_t kCount = kRowCount * kRowElements;
  const std::vector<float> a = Normal(0, kCount);
  const std::vector<float> b = Normal(1, kCount);
  const std::vector<float> c = Normal(2, kCount);
  const std::vector<float> d = Normal(3, kCount);
  const std::vector<float> row_sizes = Normal(4, kRowCount);
  const std::vector<float> column_sizes = Normal(5, kRowElements);
  std::vector<float> u(kCount);
  FillUniform(1, 6, 0, u);

  WeightRows rows;
  rows.weights.resize(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const float laplace = a[i] * b[i] + c[i] * d[i];
    float weight = a[i];
    if (shape == "laplace") weight = laplace;
    if (shape == "outliers" && u[i] < 0.003f) weight *= 15;
    if (shape == "uniform") weight = 2 * u[i] - 1;
    if (shape == "offset") weight = a[i] + 1;
    if (shape == "scaled") {
      weight = laplace * std::exp2(0.4f * row_sizes[i / kRowElements]) *
               std::exp2(0.5f * column_sizes[i % kRowElements]);
    }
    rows.weights[i] = 0.02f * weight;
  }
  for (const float value : Normal(7, kRowElements)) rows.importance.push_back(std::exp(value));
  return rows;
}

}  // namespace aster::bench
