// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/key_gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/float_mode.h"
#include "base/random.h"
#include "kernels/isa_choice.h"

namespace aster::kernels {
namespace {

struct GateRows {
  std::vector<float> row, key, weights;
};

GateRows RandomRows(size_t width, float scale) {
  Random random(width);
  GateRows rows;
  for (size_t i = 0; i < width; ++i) {
    rows.row.push_back(scale * random.NextNormal());
    rows.key.push_back(random.NextNormal());
    rows.weights.push_back(1.0f + 0.1f * random.NextNormal());
  }
  return rows;
}

float GateOf(const GateRows& rows, float epsilon, Isa isa = Isa::kRef) {
  return KeyGate(Ops(isa), rows.row.data(), rows.key.data(), rows.weights.data(), rows.row.size(),
                 epsilon);
}

double Described(const GateRows& rows, double epsilon) {
  const auto count = static_cast<double>(rows.row.size());
  double row = 0, key = 0, product = 0;
  for (size_t i = 0; i < rows.row.size(); ++i) {
    row += double{rows.row[i]} * rows.row[i];
    key += double{rows.key[i]} * rows.key[i];
    product += double{rows.row[i]} * rows.weights[i] * rows.key[i];
  }
  const double fit = product / std::sqrt(row / count + epsilon) / std::sqrt(key / count + epsilon) /
                     std::sqrt(count);
  const double root = std::copysign(std::sqrt(std::max(std::fabs(fit), 1e-6)), fit);
  return 1 / (1 + std::exp(-root));
}

TEST(KeyGate, IsAsDescribed) {
  const ComputeFloatMode mode;
  for (const size_t width : {1, 15, 16, 17, 96, 5120}) {
    for (const float scale : {1e-6f, 1.0f, 3e4f}) {
      const GateRows rows = RandomRows(width, scale);
      for (const float epsilon : {1e-20f, 1e-6f})
        EXPECT_NEAR(GateOf(rows, epsilon), Described(rows, epsilon), 2e-6) << width << " " << scale;
    }
  }
}

TEST(KeyGate, OneThatFitsCountsFullyOneThatDoesNotHardly) {
  const ComputeFloatMode mode;
  GateRows rows = RandomRows(4096, 1.0f);
  rows.key = rows.row;
  EXPECT_GT(GateOf(rows, 1e-20f), 0.99f);
  for (float& number : rows.key) number = -number;
  EXPECT_LT(GateOf(rows, 1e-20f), 0.01f);
  // A product of zero gives about a half, by the smallest root.
  for (float& number : rows.key) number = 0.0f;
  EXPECT_NEAR(GateOf(rows, 1e-20f), 0.50025, 1e-5);
}

TEST(KeyGate, EveryInstructionSetGivesTheSameBits) {
  const ComputeFloatMode mode;
  for (const size_t width : {5, 64, 5120}) {
    const GateRows rows = RandomRows(width, 1.0f);
    for (const Isa isa : AvailableIsas())
      EXPECT_EQ(GateOf(rows, 1e-20f, isa), GateOf(rows, 1e-20f)) << IsaName(isa);
  }
}

}  // namespace
}  // namespace aster::kernels
