// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/prefix_search.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Next = PrefixSearch::Next;

// Nodes a and b are the route, with two layers each; c and d are others.
class PrefixSearchTest : public testing::Test {
 protected:
  PrefixSearchTest() { Open({}); }

  void Open(const PrefixSearchOptions& options) {
    search_.emplace(PrefixSearch::Context{.network = network_,
                                          .route = *route_,
                                          .peers = *peers_,
                                          .costs = costs_,
                                          .numbers = numbers_,
                                          .counters = counters_,
                                          .fetched = fetched_},
                    options);
  }
  LiveRequest& Begin(size_t prompt = 700, uint32_t held = 0) {
    LiveRequest& live = *lives_.emplace_back(requests_.Make(prompt));
    BeginForTest(live, *route_, held);
    return live;
  }
  // A node holds positions of some layers.
  Next Answer(size_t node, uint32_t length, kv::LayerRange layers = {0, 4}) {
    wire::FoundKv found{.query = numbers_.query, .held = {}};
    if (length > 0) {
      found.held.push_back(
          {.layer_begin = layers.begin, .layer_end = layers.end, .length = length});
    }
    return search_->OnFoundKv(plan::TestNode(node), found).second;
  }
  // A request that fetches: all nodes have answered, and c holds 640 positions.
  LiveRequest& Fetching() {
    LiveRequest& live = Begin();
    EXPECT_EQ(search_->Start(live), Next::kWait);
    for (const size_t node : {1, 2, 4}) EXPECT_EQ(Answer(node, 0), Next::kWait);
    EXPECT_EQ(Answer(3, 640), Next::kFetch);
    EXPECT_EQ(live.phase, RequestPhase::kFetching);
    return live;
  }
  Next Holds(LiveRequest& live, uint32_t stage, uint32_t length) {
    live.holds[stage] = length;
    return search_->OnHolds(live);
  }

  static std::vector<KvPeer> Others() {
    const auto nodes = plan::TestNodes(4);
    return {{.node = nodes[2], .bytes_per_s = bytes_per_s_}, {.node = nodes[3], .bytes_per_s = 0}};
  }

  static inline double bytes_per_s_ = 0;
  RecordingNetwork network_;
  TestRequests requests_;
  std::vector<std::unique_ptr<LiveRequest>> lives_;
  std::unique_ptr<RouteClient> route_ = ReadyRoute(network_, "a=0:1,b=2:out");
  std::optional<KvPeers> peers_{Others};
  KvCosts costs_{wire::RowEncoding::kF32, /*planned_tokens_per_s=*/1000, nullptr};
  Numbers numbers_;
  ConductorCounters counters_;
  FetchedByNode fetched_;
  std::optional<PrefixSearch> search_;
};

TEST_F(PrefixSearchTest, AsksEveryNodeThatMayHoldTheText) {
  LiveRequest& live = Begin();
  EXPECT_EQ(search_->Start(live), Next::kWait);
  EXPECT_EQ(live.phase, RequestPhase::kSearching);
  std::vector<wire::NodeId> asked;
  for (const auto& [node, query] : network_.Take<wire::FindKv>()) {
    asked.push_back(node);
    // The query has whole pages, without the last token.
    EXPECT_EQ(query.tokens.size(), 640u);
    EXPECT_EQ(query.digest, route_->layout().digest());
  }
  EXPECT_THAT(asked, ElementsAre(plan::TestNode(1), plan::TestNode(2), plan::TestNode(3),
                                 plan::TestNode(4)));
  // The route's own nodes are known.
  EXPECT_THAT(std::vector(network_.introduced.end() - 2, network_.introduced.end()),
              ElementsAre(plan::TestNode(3), plan::TestNode(4)));
}

TEST_F(PrefixSearchTest, ShortPromptsRunWithoutASearch) {
  EXPECT_EQ(search_->Start(Begin(128)), Next::kRun);       // less than a page
  EXPECT_EQ(search_->Start(Begin(700, 600)), Next::kRun);  // less than a page is lacking
  LiveRequest& twice = Begin();
  EXPECT_EQ(search_->Start(twice), Next::kWait);
  search_->End(twice);
  EXPECT_EQ(search_->Start(twice), Next::kRun);
  Open({.is_enabled = false});
  EXPECT_EQ(search_->Start(Begin()), Next::kRun);
}

TEST_F(PrefixSearchTest, ANodeThatIsAloneIsNotAsked) {
  route_ = ReadyRoute(network_, "a");
  peers_.emplace(nullptr);
  Open({});
  EXPECT_EQ(search_->Start(Begin()), Next::kRun);
}

TEST_F(PrefixSearchTest, NodesThatCannotBeReachedAreNotWaitedFor) {
  network_.unreachable = {plan::TestNode(3), plan::TestNode(4)};
  LiveRequest& live = Begin();
  EXPECT_EQ(search_->Start(live), Next::kWait);
  EXPECT_EQ(Answer(1, 0), Next::kWait);
  EXPECT_EQ(Answer(2, 0), Next::kRun);
  network_.unreachable = {plan::TestNode(1), plan::TestNode(2), plan::TestNode(3),
                          plan::TestNode(4)};
  EXPECT_EQ(search_->Start(Begin()), Next::kRun);
}

TEST_F(PrefixSearchTest, RowsAreFetchedForTheStagesThatLackThem) {
  LiveRequest& live = Fetching();
  const auto orders = network_.Take<wire::FetchKv>();
  ASSERT_EQ(orders.size(), 2u);
  for (size_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(orders[stage].first, plan::TestNode(3));
    const wire::FetchKv& order = orders[stage].second;
    EXPECT_EQ(order.to.node, plan::TestNode(stage + 1));
    EXPECT_EQ(order.layer_begin, 2 * stage);
    EXPECT_EQ(order.end, 640u);
    EXPECT_EQ(order.epoch, live.epoch);
  }
  network_.Take<wire::FindKv>();
  EXPECT_EQ(Holds(live, 0, 640), Next::kWait);
  EXPECT_EQ(Holds(live, 1, 640), Next::kRun);
  EXPECT_EQ(counters_.fetched_tokens, 640u);
  EXPECT_EQ(fetched_.at(plan::TestNode(3)).name, "c");
  // The node may forget the query.
  const auto ended = network_.Take<wire::FindKv>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].first, plan::TestNode(3));
  EXPECT_TRUE(ended[0].second.tokens.empty());
}

TEST_F(PrefixSearchTest, FetchTimesArePredicted) {
  bytes_per_s_ = 2e6;
  LiveRequest& live = Fetching();
  bytes_per_s_ = 0;
  // Rows of four layers: keys and values of two heads with 32 numbers of two bytes each.
  EXPECT_NEAR(live.fetch_s, 640 * 4 * 2 * 2 * 32 * 2 / 2e6, 1e-9);
  network_.virtual_clock.AdvanceBy(400 * kNsPerMs);
  Holds(live, 0, 640);
  EXPECT_EQ(Holds(live, 1, 640), Next::kRun);
  EXPECT_NEAR(live.actual_fetch_s, 0.4, 1e-9);
}

TEST_F(PrefixSearchTest, RowsThatAreFasterToComputeAreNotFetched) {
  bytes_per_s_ = 100e3;  // 640 positions take 6 s, or 0.64 s of computing
  LiveRequest& live = Begin();
  search_->Start(live);
  for (const size_t node : {1, 2, 4}) Answer(node, 0);
  EXPECT_EQ(Answer(3, 640), Next::kRun);
  EXPECT_EQ(search_->NextTickNs(live), kNeverNs);
  bytes_per_s_ = 0;
}

TEST_F(PrefixSearchTest, SilentNodesAreNotWaitedForNorAskedForAWhile) {
  LiveRequest& live = Begin();
  search_->Start(live);
  network_.Take<wire::FindKv>();
  for (const size_t node : {1, 2, 3}) Answer(node, 0);
  EXPECT_EQ(search_->Tick(live), Next::kWait);
  EXPECT_EQ(search_->NextTickNs(live) - network_.clock().NowNs(), 500 * kNsPerMs);
  network_.virtual_clock.AdvanceTo(search_->NextTickNs(live));
  EXPECT_EQ(search_->Tick(live), Next::kRun);
  const auto asked_now = [&] {
    search_->Start(Begin());
    return network_.Take<wire::FindKv>().size();
  };
  EXPECT_EQ(asked_now(), 3u);
  network_.virtual_clock.AdvanceBy(10 * kNsPerSecond);
  EXPECT_EQ(asked_now(), 4u);
}

TEST_F(PrefixSearchTest, ALongPromptWaitsLongerForAnswers) {
  LiveRequest& live = Begin(9000);  // 9 s of computing
  search_->Start(live);
  const int64_t waits_ns = search_->NextTickNs(live) - network_.clock().NowNs();
  EXPECT_NEAR(static_cast<double>(waits_ns), 896e6, 10);
}

TEST_F(PrefixSearchTest, RowsThatDoNotComeAreComputed) {
  LiveRequest& live = Fetching();
  // 640 positions are 0.64 s of computing: the fetch may take twice that.
  EXPECT_EQ(search_->NextTickNs(live) - network_.clock().NowNs(), 1280 * kNsPerMs);
  network_.virtual_clock.AdvanceTo(search_->NextTickNs(live));
  live.holds = {{0, 256}, {1, 128}};
  EXPECT_EQ(search_->Tick(live), Next::kBegin);
  EXPECT_EQ(counters_.fetches_given_up, 1u);
  // Rows that have come are kept.
  EXPECT_EQ(counters_.fetched_tokens, 128u);
  EXPECT_EQ(search_->NextTickNs(live), kNeverNs);
}

TEST_F(PrefixSearchTest, SilenceIsShorterThanPatience) {
  Open({.fetch_silence_ns = 300 * kNsPerMs});
  LiveRequest& live = Fetching();
  network_.virtual_clock.AdvanceBy(200 * kNsPerMs);
  EXPECT_EQ(Holds(live, 0, 128), Next::kWait);
  EXPECT_EQ(search_->NextTickNs(live) - network_.clock().NowNs(), 300 * kNsPerMs);
}

TEST_F(PrefixSearchTest, ASourceThatFailsEndsTheFetch) {
  EXPECT_EQ(search_->OnDown(Fetching(), plan::TestNode(3)), Next::kBegin);
  EXPECT_EQ(search_->OnDown(Fetching(), plan::TestNode(4)), Next::kWait);
  // The node has evicted the rows since its reply.
  EXPECT_EQ(Answer(3, 0), Next::kBegin);
  EXPECT_EQ(counters_.fetches_given_up, 2u);
}

TEST_F(PrefixSearchTest, TheLastNodeThatIsWaitedForFails) {
  LiveRequest& live = Begin();
  search_->Start(live);
  for (const size_t node : {1, 2, 3}) Answer(node, 0);
  EXPECT_EQ(search_->OnDown(live, plan::TestNode(4)), Next::kRun);
  EXPECT_EQ(search_->OnDown(live, plan::TestNode(4)), Next::kWait);  // there is no search
}

TEST_F(PrefixSearchTest, AnswersToNoSearchAreNothing) {
  EXPECT_EQ(search_->OnFoundKv(plan::TestNode(1), {.query = 77, .held = {}}).first, nullptr);
  LiveRequest& live = Begin();
  search_->Start(live);
  // The reply of a node that was not asked.
  const wire::FoundKv found{.query = numbers_.query, .held = {}};
  EXPECT_EQ(search_->OnFoundKv(plan::TestNode(9), found).first, nullptr);
  EXPECT_EQ(search_->OnFoundKv(plan::TestNode(1), found).first, &live);
}

}  // namespace
}  // namespace aster::conduct
