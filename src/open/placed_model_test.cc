// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/placed_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace aster::open {
namespace {

std::pair<std::string, std::string> Parsed(std::string_view text) {
  PlacedModel placed = PlacedModel::Parse(text);
  return {std::move(placed.model), std::move(placed.place)};
}

TEST(PlacedModel, APlaceStandsBehindTheName) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(Parsed("nova"), Parts("nova", ""));
  EXPECT_EQ(Parsed("nova@laptop"), Parts("nova", "laptop"));
  EXPECT_EQ(Parsed("/models/a@b.gguf@desk+lap"), Parts("/models/a@b.gguf", "desk+lap"));
  EXPECT_EQ(Parsed("/models/a@work/m.gguf"), Parts("/models/a@work/m.gguf", ""));
  EXPECT_EQ(Parsed("nova@"), Parts("nova@", ""));
  EXPECT_EQ(Parsed("@laptop"), Parts("@laptop", ""));
}

TEST(PlacedModel, EachHasTheOptionsOfItsPlace) {
  ClusterOptions all;
  all.cluster = true;
  all.split = "a=0:3,b=4:out";
  all.decode = "b";
  EXPECT_EQ(OptionsAt(all, "")->split, all.split);
  const ClusterOptions laptop = OptionsAt(all, "laptop").value();
  EXPECT_TRUE(laptop.wants_nodes());
  EXPECT_EQ(laptop.split, "laptop");
  EXPECT_EQ(laptop.decode, "");
  for (const char* const here : {"here", "front"})
    EXPECT_FALSE(OptionsAt(all, here)->wants_nodes());
}

TEST(PlacedModel, ANodeNeedsACluster) {
  const auto options = OptionsAt({}, "laptop");
  EXPECT_THAT(options.error().message(), testing::HasSubstr("give --cluster"));
}

}  // namespace
}  // namespace aster::open
