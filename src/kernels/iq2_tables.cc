// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/iq2_tables.h"

#include "base/check.h"
#include "quant/lattice.h"

namespace aster::kernels {
namespace {

uint8_t DigitOf(int level) {
  for (uint8_t digit = 0; digit < 3; ++digit) {
    if (kIq2Levels[digit] == level) return digit;
  }
  CheckFailed(__FILE__, __LINE__, "a level of IQ2_XXS", "");
}

uint8_t CodeOf(const int8_t* levels) {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) code |= unsigned{DigitOf(levels[i])} << (2 * i);
  return static_cast<uint8_t>(code);
}

Iq2Tables MakeTables() {
  Iq2Tables tables;
  for (int i = 0; i < 256; ++i) {
    const quant::Point8& point = quant::kIq2XxsGrid[i];
    for (int k = 0; k < 8; ++k) tables.points[i][k] = static_cast<uint8_t>(point[k]);
    tables.low_codes[i] = CodeOf(&point[0]);
    tables.high_codes[i] = CodeOf(&point[4]);
  }
  return tables;
}

}  // namespace

const Iq2Tables kIq2Tables = MakeTables();

}  // namespace aster::kernels
