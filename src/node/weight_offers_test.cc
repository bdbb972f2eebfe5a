// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/weight_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr rpc::NodeId kDesk{{.low = 1, .high = 1}}, kLap{{.low = 2, .high = 1}};
constexpr Hash128 kModel{.low = 3, .high = 3}, kOther{.low = 4, .high = 3};

std::vector<std::string> PlacesOf(const WeightOffers& offers, const Hash128& model,
                                  int64_t now_ns) {
  std::vector<std::string> places;
  for (const cluster::Member& member : offers.Of(model, now_ns))
    places.push_back(member.control_addresses.front());
  return places;
}

TEST(WeightOffers, TheLatestOfEachMachineCounts) {
  WeightOffers offers;
  offers.Add(kDesk, {.fingerprint = kModel, .addresses = {"desk:1"}}, 1);
  offers.Add(kLap, {.fingerprint = kModel, .addresses = {"lap:1"}}, 2);
  offers.Add(kDesk, {.fingerprint = kModel, .addresses = {"desk:2"}}, 3);
  offers.Add(kDesk, {.fingerprint = kOther, .addresses = {"desk:3"}}, 4);
  EXPECT_THAT(PlacesOf(offers, kModel, 5), ElementsAre("desk:2", "lap:1"));
  EXPECT_THAT(PlacesOf(offers, kOther, 5), ElementsAre("desk:3"));
  EXPECT_THAT(PlacesOf(offers, Hash128{}, 5), IsEmpty());
  EXPECT_EQ(offers.Of(kModel, 5).front().node, kDesk);
}

TEST(WeightOffers, AreForgotten) {
  WeightOffers offers;
  offers.Add(kDesk, {.fingerprint = kModel, .addresses = {"desk:1"}}, 0);
  EXPECT_THAT(PlacesOf(offers, kModel, WeightOffers::kGoodForNs + 1), IsEmpty());
  for (uint64_t i = 0; i < 2 * WeightOffers::kMaxOffers; ++i) {
    offers.Add(kDesk, {.fingerprint = {.low = i, .high = 9}, .addresses = {"desk:2"}},
               static_cast<int64_t>(i) + 1);
  }
  EXPECT_THAT(PlacesOf(offers, kModel, 1), IsEmpty());
  EXPECT_THAT(PlacesOf(offers, {.low = 127, .high = 9}, 200), ElementsAre("desk:2"));
}

}  // namespace
}  // namespace aster::node
