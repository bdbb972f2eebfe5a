// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/expert_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::model {
namespace {

using testing::ElementsAre;

// Eight experts, four of them for each token, in two layers.
Shape Eight(uint32_t shared = 0) {
  Shape shape;
  shape.layer_count = 2;
  shape.experts = {.count = 8, .used = 4, .feed_forward = 16, .shared = shared};
  return shape;
}

GroupPart Owners(std::array<uint32_t, GroupPart::kMostParts> shares, uint32_t count) {
  return {.count = count, .shares = shares, .owns_experts = true};
}

std::vector<uint8_t> Assigned(const GroupPart& part, const Shape& shape, uint32_t layer,
                              const std::vector<int32_t>& ids) {
  const ExpertOwners owners(part, shape);
  std::vector<uint8_t> parts(owners.choices());
  owners.Assign(layer, ids, parts);
  return parts;
}

TEST(ExpertOwners, AnExpertIsItsOwners) {
  const GroupPart part = Owners({1, 1}, 2);
  EXPECT_THAT(Assigned(part, Eight(), 1, {7, 0, 3, 4}), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(Assigned(part, Eight(), 0, {0, 1, 2, 3}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Assigned(Owners({3, 1}, 2), Eight(), 0, {5, 6, 0, 7}), ElementsAre(0, 1, 0, 1));
}

// Experts that one part owns count before replicated ones, in any order.
TEST(ExpertOwners, WhatAllHaveEvensOut) {
  GroupPart part = Owners({1, 1}, 2);
  part.replicas = 2;
  part.replicated = {0, 1, 6, 7};  // by layer
  EXPECT_THAT(Assigned(part, Eight(), 0, {0, 1, 2, 3}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Assigned(part, Eight(), 0, {0, 2, 4, 1}), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(Assigned(part, Eight(), 1, {0, 1, 2, 3}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Assigned(part, Eight(), 1, {6, 7, 2, 3}), ElementsAre(1, 1, 0, 0));
}

TEST(ExpertOwners, SharesAreKept) {
  GroupPart part = Owners({3, 1}, 2);
  part.replicas = 8;
  EXPECT_THAT(Assigned(part, Eight(), 0, {4, 5, 6, 7}), ElementsAre(0, 0, 1, 0));
}

// It is the last choice, after all others.
TEST(ExpertOwners, TheSharedExpertIsWhereTheLeastIsToDo) {
  const GroupPart part = Owners({1, 1, 1}, 3);
  EXPECT_THAT(Assigned(part, Eight(1), 0, {0, 1, 3, 7}), ElementsAre(0, 0, 1, 2, 2));
  EXPECT_THAT(Assigned(part, Eight(1), 0, {0, 1, 6, 7}), ElementsAre(0, 0, 2, 2, 1));
}

}  // namespace
}  // namespace aster::model
