// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/closed_routes.h"

#include <gtest/gtest.h>

#include <vector>

namespace aster::open {
namespace {

constexpr wire::RouteId kOwn = 7;
constexpr wire::RouteId kOwnGroup = 8;
constexpr wire::RouteId kOther = 9;

cluster::SliceStatus Slice(wire::RouteId route, uint64_t weight_bytes, uint64_t kv_bytes) {
  return {.route = route,
          .model = {},
          .fingerprint = {},
          .layers = {0, 4},
          .weight_bytes = weight_bytes,
          .kv_budget_bytes = kv_bytes};
}

// The status of a node with these slices, without those of routes that this process has closed.
cluster::NodeStatus Remaining(std::vector<cluster::SliceStatus> slices, uint64_t used_bytes) {
  ClosedRoutes closed;
  closed.Add(std::vector<wire::RouteId>{kOwn, kOwnGroup});
  cluster::NodeStatus status;
  status.slices = std::move(slices);
  status.memory_used_bytes = used_bytes;
  closed.RemoveFrom(status);
  return status;
}

TEST(ClosedRoutes, TheirMemoryIsFree) {
  EXPECT_EQ(Remaining({Slice(kOwn, 100, 40)}, 140).memory_used_bytes, 0u);
  // A node's part of a group is of the group's route. It may take more than is reported of it.
  EXPECT_EQ(Remaining({Slice(kOwnGroup, 100, 40)}, 145).memory_used_bytes, 0u);
  // One that is loading has no memory yet.
  EXPECT_EQ(Remaining({Slice(kOwn, 0, 0)}, 0).memory_used_bytes, 0u);
}

TEST(ClosedRoutes, OthersKeepTheirMemory) {
  const auto status =
      Remaining({Slice(kOwn, 100, 40), Slice(kOther, 200, 50), Slice(kOwnGroup, 30, 10)}, 430);
  EXPECT_EQ(status.memory_used_bytes, 250u);
  ASSERT_EQ(status.slices.size(), 1u);
  EXPECT_EQ(status.slices.front().route, kOther);
  EXPECT_EQ(Remaining({Slice(kOther, 200, 50)}, 250).memory_used_bytes, 250u);
}

TEST(ClosedRoutes, SharedSlicesAreNotFreed) {
  EXPECT_EQ(Remaining({Slice(kOwn, 100, 40), Slice(kOther, 100, 40)}, 140).memory_used_bytes, 140u);
  // Two stages of one route that share a slice are freed once.
  const auto status =
      Remaining({Slice(kOwn, 100, 40), Slice(kOwn, 100, 40), Slice(kOther, 200, 50)}, 390);
  EXPECT_EQ(status.memory_used_bytes, 250u);
}

TEST(ClosedRoutes, KvRowsOnGpusTakeNoMainMemory) {
  cluster::SliceStatus slice = Slice(kOwn, 100, 40);
  slice.gpu_layers = 3;
  EXPECT_EQ(Remaining({slice, Slice(kOther, 200, 50)}, 360).memory_used_bytes, 250u);
}

TEST(ClosedRoutes, TheNewestAreStored) {
  ClosedRoutes closed;
  for (wire::RouteId route = 1; route <= 1000; ++route) {
    closed.Add({&route, 1});
    cluster::NodeStatus status;
    status.slices = {Slice(route, 100, 40)};
    closed.RemoveFrom(status);
    EXPECT_TRUE(status.slices.empty());
  }
}

}  // namespace
}  // namespace aster::open
