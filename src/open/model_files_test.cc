// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::open {
namespace {

using ::testing::HasSubstr;

cluster::HeldModel Held(std::string name, uint64_t fingerprint, uint32_t layers_here = 4) {
  cluster::HeldModel held;
  held.fingerprint = {fingerprint, fingerprint};
  held.name = std::move(name);
  held.layer_count = 4;
  held.layers = {{0, layers_here}};
  held.embedding = true;
  held.head = true;
  return held;
}

node::NodeView Node(std::vector<cluster::HeldModel> models) {
  node::NodeView node;
  node.description.emplace();
  node.description->models = std::move(models);
  return node;
}

TEST(FindHeld, TakesItsNameInEveryWayThatPeopleGiveIt) {
  const std::vector<node::NodeView> nodes = {
      node::NodeView(), Node({Held("other", 1), Held("big-1.5b", 2)}), Node({Held("big-1.5b", 2)})};
  for (const char* name : {"big-1.5b", "big-1.5b.gguf", "models/big-1.5b.gguf", "/a/big-1.5b"}) {
    const auto found = FindHeld(name, nodes);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ(found->fingerprint, (Hash128{2, 2})) << name;
  }
  for (const char* name : {"", "/", "big-1", ".gguf"}) EXPECT_FALSE(FindHeld(name, nodes).ok());
}

TEST(FindHeld, TakesAPart) {
  const std::vector<node::NodeView> nodes = {Node({Held("low", 2, /*layers_here=*/3)})};
  const auto found = FindHeld("low", nodes);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_FALSE(found->is_whole());
}

TEST(FindHeld, AWholeModelIsBetterThanAPartOfThatName) {
  for (const bool is_part_first : {false, true}) {
    const std::vector<node::NodeView> nodes = {Node({Held("some", 1, is_part_first ? 2 : 4)}),
                                               Node({Held("some", 2, is_part_first ? 4 : 2)})};
    const auto found = FindHeld("some", nodes);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_TRUE(found->is_whole());
  }
  const std::vector<node::NodeView> parts = {Node({Held("some", 1, 2)}),
                                             Node({Held("some", 2, 3)})};
  EXPECT_THAT(FindHeld("some", parts).error().message(), HasSubstr("different models"));
}

TEST(FindHeld, AnErrorSaysWhichThereAre) {
  const std::vector<node::NodeView> nodes = {
      Node({Held("some", 1), Held("a part", 2, /*layers_here=*/3)})};
  const auto found = FindHeld("nothing", nodes);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message(),
              HasSubstr("there is a part (layers 0-2 of 4), some (4 layers)"));
  EXPECT_THAT(FindHeld("some", {}).error().message(), HasSubstr("aster node FILE"));
}

TEST(FindHeld, TwoModelsOfOneNameAreNotMixedUp) {
  const std::vector<node::NodeView> nodes = {Node({Held("some", 1)}), Node({Held("some", 2)})};
  EXPECT_THAT(FindHeld("some", nodes).error().message(), HasSubstr("different models"));
}

}  // namespace
}  // namespace aster::open
