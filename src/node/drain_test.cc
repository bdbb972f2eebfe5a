// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/drain.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "cluster/drain_order.h"
#include "cluster/identity.h"

namespace aster::node {
namespace {

using cluster::NodeId;

constexpr NodeId kDrainSelf{{.low = 1, .high = 0}};
constexpr NodeId kDrainOther{{.low = 2, .high = 0}};
constexpr NodeId kDrainServer{{.low = 3, .high = 0}};
constexpr NodeId kDrainCommand{{.low = 4, .high = 0}};

class DrainTest : public testing::Test {
 protected:
  size_t Leaving(const std::vector<NodeId>& with_layers, const std::vector<NodeId>& connected) {
    return drain_.Leaving(with_layers, connected);
  }

  const cluster::Authority authority_ =
      cluster::MakeClusterAuthority("home", SystemClock().WallNs() / kNsPerSecond).value();
  Drain drain_{kDrainSelf, authority_.certificate};
};

TEST_F(DrainTest, IsOrderedByThisMachineOrTheAuthority) {
  const Status refused = drain_.Take(kDrainOther, {.is_drained = true, .signature = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kPermissionDenied);
  EXPECT_FALSE(drain_.is_drained());
  EXPECT_TRUE(drain_.Take(kDrainSelf, {.is_drained = true, .signature = {}}).ok());
  EXPECT_TRUE(drain_.is_drained());
  const std::string order = cluster::SignDrainOrder(kDrainSelf, false, authority_.key).value();
  EXPECT_TRUE(drain_.Take(kDrainOther, {.is_drained = false, .signature = order}).ok());
  EXPECT_FALSE(drain_.is_drained());
  // The signature does not hold for the opposite order.
  EXPECT_FALSE(drain_.Take(kDrainOther, {.is_drained = true, .signature = order}).ok());
}

// A front end without layers here may still fetch its KV rows, until its connection ends.
TEST_F(DrainTest, WaitsForFrontEndsUntilTheirConnectionsEnd) {
  EXPECT_EQ(Leaving({kDrainServer}, {kDrainServer, kDrainCommand}), 0u);
  ASSERT_TRUE(drain_.Take(kDrainSelf, {.is_drained = true, .signature = {}}).ok());
  EXPECT_EQ(Leaving({kDrainServer, kDrainServer}, {kDrainServer, kDrainCommand}), 1u);
  EXPECT_EQ(Leaving({kDrainServer, kDrainCommand}, {kDrainServer, kDrainCommand}), 2u);
  EXPECT_EQ(Leaving({}, {kDrainServer, kDrainCommand}), 2u);
  // Repeating the order changes nothing.
  ASSERT_TRUE(drain_.Take(kDrainSelf, {.is_drained = true, .signature = {}}).ok());
  EXPECT_EQ(Leaving({}, {kDrainServer}), 1u);
  EXPECT_EQ(Leaving({}, {}), 0u);
  // It may connect again for something else.
  EXPECT_EQ(Leaving({}, {kDrainServer}), 0u);
}

}  // namespace
}  // namespace aster::node
