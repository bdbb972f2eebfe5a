// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/self_check.h"

#include "vulkan/check/check_arithmetic.h"
#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

class SelfCheckTest : public KernelTest {};

TEST_F(SelfCheckTest, ADeviceThatComputesTheReferencesBitsPasses) {
  EXPECT_OK(CheckKernels(kernels(), KernelUse::All()));
}

// Candidates before the chosen arithmetic compute other bits on this device.
TEST_F(SelfCheckTest, EveryEarlierCandidateFails) {
  const Arithmetic chosen = kernels().arithmetic();
  for (const Arithmetic& candidate : CandidateArithmetics(device().traits())) {
    if (candidate == chosen) return;
    Open(candidate);
    const Status status = CheckArithmetic(bench(), 2048, 1);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), Code::kDataLoss);
  }
  FAIL() << "the chosen arithmetic is not a candidate";
}

TEST(SelfCheck, CandidatesComeFastestFirst) {
  DeviceTraits traits;
  traits.flushes_denormals = true;
  const auto candidates = CandidateArithmetics(traits);
  ASSERT_EQ(candidates.size(), 6u);
  EXPECT_EQ(candidates.front(), (Arithmetic{.native_fma = true, .flush_by_mode = true}));
  EXPECT_EQ(candidates.back(), (Arithmetic{.flush_in_shader = true}));
  traits.flushes_denormals = false;
  traits.fast_dot_products = true;
  EXPECT_EQ(CandidateArithmetics(traits).front(),
            (Arithmetic{.native_fma = true, .dot_products = true}));
  EXPECT_EQ(CandidateArithmetics(traits).size(), 4u);
}

}  // namespace
}  // namespace aster::vulkan
