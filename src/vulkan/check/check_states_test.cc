// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_states.h"

#include <gtest/gtest.h>

#include "vulkan/check/check_test_support.h"

namespace aster::vulkan {
namespace {

class StatesTest : public KernelTest {};

TEST_F(StatesTest, DeltaNetsOfAnyWidth) {
  struct Case {
    DeltaSizes sizes;
    uint32_t taps;
  };
  const Case cases[] = {
      {{.key_heads = 1, .value_heads = 1, .key_dim = 16, .value_dim = 16, .in_turn = false}, 1},
      {{.key_heads = 2, .value_heads = 6, .key_dim = 16, .value_dim = 80, .in_turn = true}, 8},
      {{.key_heads = 1, .value_heads = 2, .key_dim = 256, .value_dim = 16, .in_turn = false}, 4}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.taps);
    for (const CheckValues values : kBothValues)
      EXPECT_OK(CheckDeltaNet(bench(), each.sizes, each.taps, values, 1));
  }
}

}  // namespace
}  // namespace aster::vulkan
