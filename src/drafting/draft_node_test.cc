// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/draft_node.h"

#include <gmock/gmock.h>

#include <utility>

#include "drafting/network_for_test.h"
#include "drafting/remote_proposers.h"
#include "engine/request.h"
#include "net/memory_network.h"

namespace aster::drafting {
namespace {

using testing::ElementsAre;

constexpr Vocabulary kCounted{.digest = {7, 8}, .size = 1000};

OwnDrafter Counting() {
  OwnDrafter own;
  own.model = "nova";
  own.drafter = "counting";
  own.name = {1, 2};
  own.vocabulary = kCounted;
  own.kind = engine::DraftKind::kModel;
  own.source = std::make_unique<CountingSource>();
  return own;
}

std::vector<OwnDrafter> OneOf(OwnDrafter own) {
  std::vector<OwnDrafter> drafters;
  drafters.push_back(std::move(own));
  return drafters;
}

TEST(DraftNode, ADraftersRateIsMeasured) {
  const SystemClock clock;
  OwnDrafter own = Counting();
  EXPECT_GT(MeasureDrafter(own, clock), 0);
  own.source = std::make_unique<CountingSource>(/*end=*/0);
  EXPECT_EQ(MeasureDrafter(own, clock), 0);
}

// A front end, and a node whose events only the drafters take.
TEST(DraftNode, DraftsInAThreadOfItsOwn) {
  SystemClock clock;
  net::MemoryHub hub(clock);
  const auto front = hub.Join(TestNode(1));
  const auto at_node = hub.Join(TestNode(2));
  DraftNode node(*at_node, OneOf(Counting()));
  node.Start();
  RemoteProposers source(
      front.get(), {{.node = TestNode(2), .name = "counting", .addresses = {}, .drafter = {1, 2}}},
      {.vocabulary = kCounted});
  engine::Request request;
  request.draft = {.kind = engine::DraftKind::kModel, .most = 1};
  {
    const auto answer = source.Make(request).value();
    std::vector<int32_t> text{1};
    for (int i = 0; i < 20; ++i) {
      answer->Follow(text, 0, {});
      std::vector<int32_t> drafts;
      while (drafts.empty()) {
        while (const auto event = at_node->Receive(0)) node.Handle(*event);
        if (const auto event = front->Receive(clock.NowNs() + kNsPerMs)) source.Handle(*event);
        ASSERT_TRUE(answer->Propose(text, 1, drafts).ok());
      }
      EXPECT_THAT(drafts, ElementsAre(text.back() + 1));
      // Half of the draft tokens ahead are right.
      text.push_back(text.back() + (i % 2 == 0 ? 1 : 10));
    }
  }
  node.Stop();
  EXPECT_GT(source.counts()[0].accepted, 0u);
}

TEST(DraftNode, EventsOfOthersAreLeftAlone) {
  SystemClock clock;
  net::MemoryHub hub(clock);
  const auto at_node = hub.Join(TestNode(2));
  DraftNode node(*at_node, OneOf(Counting()));
  EXPECT_FALSE(node.Handle(MessageFrom(TestNode(1), wire::Halt{})));
  EXPECT_FALSE(node.Handle(DownOf(TestNode(1))));
  EXPECT_TRUE(node.Handle(MessageFrom(TestNode(1), wire::EndDraft{})));
  // Events that are not taken are bounded.
  wire::FollowDraft follow;
  follow.tokens.resize(size_t{1} << 20);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(node.Handle(MessageFrom(TestNode(1), follow)));
  node.Start();
  node.Stop();
}

}  // namespace
}  // namespace aster::drafting
