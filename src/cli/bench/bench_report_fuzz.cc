// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any report is refused, or its rates can be compared.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "cli/bench/bench_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto rates = aster::cli::ParseRates(aster::AsText({data, size}));
  if (!rates.ok()) return 0;
  const auto ratios = aster::cli::CompareRates(*rates, *rates);
  CHECK(ratios.ok() == !rates->empty());
  if (ratios.ok()) CHECK(ratios->size() == rates->size());
  return 0;
}
