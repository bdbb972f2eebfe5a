// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes as an importance matrix; accepted ones must have valid numbers.
#include <cmath>

#include "base/check.h"
#include "quant/importance.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto matrix = aster::quant::ImportanceMatrix::Parse({data, size});
  if (!matrix.ok()) return 0;
  CHECK(matrix->size() > 0);
  for (const auto& [name, values] : matrix->all()) {
    CHECK(matrix->Find(name).size() == values.size() && !values.empty());
    for (const float value : values) CHECK(std::isfinite(value) && value >= 0);
  }
  return 0;
}
