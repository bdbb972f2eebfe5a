// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_arithmetic.h"

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

TEST_F(KernelTest, EveryFloatOperationHasTheReferencesBits) {
  for (uint64_t seed = 1; seed <= 3; ++seed) EXPECT_OK(CheckArithmetic(bench(), 20000, seed));
}

// This arithmetic works on a device with a native fma, too.
TEST_F(KernelTest, FmaOfIntegersHasTheReferencesBits) {
  Arithmetic arithmetic = kernels().arithmetic();
  arithmetic.native_fma = false;
  arithmetic.flush_in_shader = true;
  Open(arithmetic);
  EXPECT_OK(CheckArithmetic(bench(), 20000, 4));
}

}  // namespace
}  // namespace aster::vulkan
