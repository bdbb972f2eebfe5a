// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/verify/verify_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::cli {
namespace {

using testing::ElementsAre;

TEST(CutsToVerify, AreAllThereAreInAModelOfFewLayers) {
  EXPECT_THAT(CutsToVerify(1), ElementsAre());
  EXPECT_THAT(CutsToVerify(2), ElementsAre(1));
  EXPECT_THAT(CutsToVerify(6), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(CutsToVerify(16).size(), 15U);
}

TEST(CutsToVerify, AreSpreadOverAModelOfManyLayers) {
  EXPECT_THAT(CutsToVerify(17), ElementsAre(1, 4, 8, 12, 16));
  EXPECT_THAT(CutsToVerify(36), ElementsAre(1, 9, 18, 27, 35));
}

}  // namespace
}  // namespace aster::cli
