// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/standby.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aster::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Hash128 kOnStandby{1, 2};

cluster::NodeId Node(uint64_t number) { return {Hash128{number, number}}; }

StandbyPeer Peer(uint64_t number) {
  StandbyPeer peer;
  peer.description.node = Node(number);
  return peer;
}

StandbyPeer Computing(uint64_t number, uint32_t begin, uint32_t end) {
  StandbyPeer peer = Peer(number);
  cluster::SliceStatus& slice = peer.status.slices.emplace_back();
  slice.fingerprint = kOnStandby;
  slice.layers = {begin, end};
  slice.embedding = begin == 0;
  slice.head = end == 8;
  slice.is_ready = true;
  return peer;
}

StandbyPeer WithFile(StandbyPeer peer, uint32_t begin = 0, uint32_t end = 8) {
  peer.description.models.push_back({.fingerprint = kOnStandby,
                                     .name = "m",
                                     .architecture = "llama",
                                     .layer_count = 8,
                                     .layers = {{begin, end}},
                                     .embedding = begin == 0,
                                     .head = end == 8});
  return peer;
}

StandbySlice Slice(uint64_t from, uint32_t begin, uint32_t end, bool embedding, bool head) {
  return {.fingerprint = kOnStandby,
          .slice = {.layer_begin = begin, .layer_end = end, .embedding = embedding, .head = head},
          .from = Node(from)};
}

TEST(Standby, WhatOneNodeAloneHasIsKept) {
  // The second has the file and the first layers; the third fetched its own.
  const std::vector<StandbyPeer> others = {WithFile(Computing(2, 0, 5)), Computing(3, 5, 8)};
  EXPECT_THAT(SlicesToKeep(Peer(1), others), ElementsAre(Slice(2, 0, 5, true, false)));
  // A node with the file needs nothing.
  EXPECT_THAT(SlicesToKeep(WithFile(Peer(1)), others), IsEmpty());
  EXPECT_THAT(SlicesToKeep(Computing(1, 0, 5), others), IsEmpty());
  // If a part of it is here, the other parts remain.
  EXPECT_THAT(SlicesToKeep(WithFile(Peer(1), 2, 3), others),
              ElementsAre(Slice(2, 0, 2, true, false), Slice(2, 3, 5, false, false)));
}

TEST(Standby, FilesThatNothingIsComputedFromAreNotKept) {
  const std::vector<StandbyPeer> others = {WithFile(Peer(2))};
  EXPECT_THAT(SlicesToKeep(Peer(1), others), IsEmpty());
  std::vector<StandbyPeer> loading = {Computing(2, 0, 8)};
  loading[0].status.slices[0].is_ready = false;
  EXPECT_THAT(SlicesToKeep(Peer(1), loading), IsEmpty());
  // Routes that share a slice count once.
  std::vector<StandbyPeer> twice = {Computing(2, 0, 8)};
  twice[0].status.slices.push_back(twice[0].status.slices[0]);
  EXPECT_THAT(SlicesToKeep(Peer(1), twice), ElementsAre(Slice(2, 0, 8, true, true)));
}

TEST(Standby, WhatIsKeptOrHasNoRoomIsNotFetchedAgain) {
  VirtualClock clock;
  std::vector<StandbyPeer> others = {Computing(2, 0, 3), Computing(3, 3, 8)};
  std::vector<uint32_t> tried;
  Status first = Error(Code::kUnavailable, "it does not answer");
  Standby standby([&] { return Standby::Seen{.self = Peer(1), .others = others}; },
                  [&](const StandbySlice& slice, const std::stop_token& /*stop*/) {
                    tried.push_back(slice.slice.layer_begin);
                    return slice.slice.layer_begin == 0 ? first : ResourceExhausted("too large");
                  },
                  clock);
  standby.KeepAll();
  EXPECT_THAT(tried, ElementsAre(0, 3));
  first = Ok();
  standby.KeepAll();
  EXPECT_THAT(tried, ElementsAre(0, 3, 0));
  standby.KeepAll();
  EXPECT_EQ(tried.size(), 3u);
  // A slice that is computed again later is fetched again.
  others.pop_back();
  standby.KeepAll();
  others.push_back(Computing(3, 3, 8));
  standby.KeepAll();
  EXPECT_THAT(tried, ElementsAre(0, 3, 0, 3));
}

}  // namespace
}  // namespace aster::node
