// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/drain_order.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "cluster/identity.h"

namespace aster::cluster {
namespace {

Authority NewAuthority() {
  return MakeClusterAuthority("home", SystemClock().WallNs() / kNsPerSecond).value();
}

TEST(DrainOrder, IsForOneNodeAndOneWay) {
  const Authority authority = NewAuthority(), other = NewAuthority();
  const NodeId desk{{.low = 1, .high = 2}}, lap{{.low = 2, .high = 2}};
  const std::string order = SignDrainOrder(desk, true, authority.key).value();
  EXPECT_TRUE(CheckDrainOrder(desk, true, order, authority.certificate).ok());
  for (const Status& refused : {CheckDrainOrder(lap, true, order, authority.certificate),
                                CheckDrainOrder(desk, false, order, authority.certificate),
                                CheckDrainOrder(desk, true, order, other.certificate),
                                CheckDrainOrder(desk, true, "", authority.certificate)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), Code::kPermissionDenied);
  }
}

}  // namespace
}  // namespace aster::cluster
