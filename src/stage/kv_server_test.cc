// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Replies and rows for other nodes, for any queries in any number and order.

#include "stage/kv_server.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "disk/disk_pages.h"
#include "kv/chunk.h"
#include "plan/model_for_test.h"

namespace aster::stage {
namespace {

constexpr int32_t kVocab = 298;
constexpr uint32_t kFullPage = 128;

// A node that holds ten pages, with queries of node 1.
class Offering : public testing::Test {
 protected:
  Offering() {
    const std::vector<model::Segment> segments = {{.table = &table_, .tokens = tokens_}};
    CHECK(model_->Run(segments).ok());
  }

  wire::FindKv Asking(uint64_t query, uint32_t pages = 10) const {
    return {.query = query,
            .digest = model_->layout().digest(),
            .layer_count = plan::kTestLayers,
            .tokens = {tokens_.begin(), tokens_.begin() + pages * kFullPage}};
  }
  static wire::FetchKv Wanting(uint64_t query, uint32_t pages = 10) {
    wire::FetchKv order;
    order.query = query;
    order.sequence = query;
    order.layer_end = plan::kTestLayers;
    order.end = pages * kFullPage;
    order.to.node = plan::TestNode(2);
    return order;
  }
  // How many KV chunks may be sent now.
  size_t KvChunks(KvServer& kv_server) {
    size_t count = 0;
    while (const auto outgoing = kv_server.Next(places_)) {
      count += std::holds_alternative<wire::KvRows>(outgoing->message) ? 1 : 0;
    }
    return count;
  }
  static wire::KvTaken Taken(uint64_t query, uint32_t page) {
    return {.sequence = query, .layer_end = plan::kTestLayers, .end = (page + 1) * kFullPage};
  }

  const std::vector<int32_t> tokens_ = model::RandomTokens(10 * kFullPage, kVocab);
  const std::unique_ptr<engine::LocalModel> model_ = plan::TestModel::Get().MakeWhole();
  kv::PageTable table_ = model_->NewTable();
  const KvPlaces places_{.models = {{model_.get(), wire::RowEncoding::kF32}}, .chunks = nullptr};
};

// A conductor may send a query for each request that it runs before it fetches anything.
TEST_F(Offering, AsManyQuestionsOfOneAsAConductorRunsRequests) {
  KvServer kv_server;
  for (uint64_t query = 1; query <= 64; ++query) {
    ASSERT_FALSE(kv_server.FindKv(plan::TestNode(1), Asking(query, 1), places_, 0)->held.empty());
  }
  for (uint64_t query = 1; query <= 64; ++query) {
    EXPECT_TRUE(kv_server.FetchKv(plan::TestNode(1), Wanting(query, 1), 0)) << query;
  }
  EXPECT_EQ(KvChunks(kv_server), 64u);
}

TEST_F(Offering, ANodeWithoutAQueryIsToldThatNoRowsCome) {
  KvServer kv_server;
  ASSERT_TRUE(kv_server.FindKv(plan::TestNode(1), Asking(1), places_, 0));
  EXPECT_FALSE(kv_server.FetchKv(plan::TestNode(9), Wanting(1), 0));
  EXPECT_FALSE(kv_server.FetchKv(plan::TestNode(1), Wanting(2), 0));
  for (const auto& [node, query] :
       {std::pair(plan::TestNode(9), 1), std::pair(plan::TestNode(1), 2)}) {
    const auto refusal = kv_server.Next(places_);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->to, node);
    EXPECT_EQ(std::get<wire::FoundKv>(refusal->message).query, static_cast<uint64_t>(query));
    EXPECT_TRUE(std::get<wire::FoundKv>(refusal->message).held.empty());
  }
  EXPECT_FALSE(kv_server.Next(places_));
}

// A conductor that was restarted counts its queries from 1 again.
TEST_F(Offering, AnotherTextUnderTheSameNumberEndsTheTransferOfTheFirst) {
  KvServer kv_server(std::make_shared<KvInFlight>(1));
  ASSERT_TRUE(kv_server.FindKv(plan::TestNode(1), Asking(1), places_, 0));
  ASSERT_TRUE(kv_server.FetchKv(plan::TestNode(1), Wanting(1), 0));
  EXPECT_EQ(KvChunks(kv_server), 1u);
  ASSERT_TRUE(kv_server.FindKv(plan::TestNode(1), Asking(1, 1), places_, 0));
  kv_server.OnKvTaken(plan::TestNode(2), Taken(1, 0));
  EXPECT_EQ(KvChunks(kv_server), 0u);
  ASSERT_TRUE(kv_server.FetchKv(plan::TestNode(1), Wanting(1, 1), 0));
  EXPECT_EQ(KvChunks(kv_server), 1u);
}

TEST_F(Offering, BytesInFlightToANodeAreBoundedOverAllTexts) {
  // Less than one KV chunk: each text may have one in flight, until there are too many of them.
  KvServer probe;
  ASSERT_TRUE(probe.FindKv(plan::TestNode(1), Asking(1, 1), places_, 0));
  ASSERT_TRUE(probe.FetchKv(plan::TestNode(1), Wanting(1, 1), 0));
  const auto first = probe.Next(places_);
  const uint64_t chunk_bytes = std::get<wire::KvRows>(first->message).chunk.size();
  KvServer kv_server(std::make_shared<KvInFlight>(chunk_bytes));
  for (uint64_t query = 1; query <= 20; ++query) {
    ASSERT_TRUE(kv_server.FindKv(plan::TestNode(1), Asking(query), places_, 0));
    ASSERT_TRUE(kv_server.FetchKv(plan::TestNode(1), Wanting(query), 0));
  }
  EXPECT_EQ(KvChunks(kv_server), 8u);
  // Another node has a queue of its own.
  wire::FetchKv elsewhere = Wanting(1);
  elsewhere.to.node = plan::TestNode(3);
  ASSERT_TRUE(kv_server.FetchKv(plan::TestNode(1), elsewhere, 0));
  EXPECT_EQ(KvChunks(kv_server), 1u);
  // No conductor waits for ever.
  size_t sent = 8 + 1;
  for (int round = 0; round < 60; ++round) {
    for (uint64_t query = 1; query <= 20; ++query) {
      for (uint32_t page = 0; page < 10; ++page) {
        kv_server.OnKvTaken(plan::TestNode(2), Taken(query, page));
        kv_server.OnKvTaken(plan::TestNode(3), Taken(query, page));
      }
    }
    sent += KvChunks(kv_server);
  }
  EXPECT_EQ(sent, 20u * 10 + 10);
}

TEST(KvInFlight, CountsByNodeAndForgetsWhatIsOver) {
  const auto all = std::make_shared<KvInFlight>(100);
  const wire::NodeId one = plan::TestNode(1), other = plan::TestNode(2);
  EXPECT_TRUE(all->MaySend(one, true));
  std::optional<KvInFlight::InFlightBytes> first(KvInFlight::InFlightBytes(all, one, 150));
  EXPECT_FALSE(all->MaySend(one, true));
  EXPECT_TRUE(all->MaySend(one, false));
  EXPECT_TRUE(all->MaySend(other, true));
  std::vector<KvInFlight::InFlightBytes> more;
  more.emplace_back(all, one, 600);
  more.emplace_back(all, one, 50);
  EXPECT_FALSE(all->MaySend(one, false));
  more.erase(more.begin());
  EXPECT_FALSE(all->MaySend(one, true));
  EXPECT_TRUE(all->MaySend(one, false));
  first.reset();
  EXPECT_TRUE(all->MaySend(one, true));
}

TEST(KvServer, PagesOnDiskAreSentWithoutAModel) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  SystemClock clock;
  const std::shared_ptr<disk::DiskPages> pages =
      disk::DiskPages::Open({.folder = folder.File("pages")}, clock).value();
  const std::vector<int32_t> tokens = model::RandomTokens(4 * kFullPage, kVocab);
  engine::LocalModelOptions options;
  options.memory_bytes = uint64_t{1} << 26;
  options.name = plan::TestModel::kFingerprint;
  options.page_store = pages;
  Hash128 digest;
  {
    const auto model = plan::TestModel::Get().Make(model::Slice{0, 2, true, false}, options);
    digest = model->layout().digest();
    kv::PageTable table = model->NewTable();
    const std::vector<model::Segment> segments = {{.table = &table, .tokens = tokens}};
    ASSERT_TRUE(model->Run(segments).ok());
    ASSERT_TRUE(pages->Flush(20 * kNsPerSecond));
  }
  KvServer kv_server;
  const KvPlaces places{.models = {}, .chunks = pages.get()};
  wire::FindKv find{.query = 7, .digest = digest, .layer_count = 4, .tokens = tokens};
  auto found = kv_server.FindKv(plan::TestNode(1), find, places, 0);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->held.size(), 1u);
  EXPECT_EQ(found->held[0].layer_end, 2u);
  EXPECT_EQ(found->held[0].length, 4 * kFullPage);
  wire::FetchKv order;
  order.query = 7;
  order.epoch = 3;
  order.layer_begin = 1;
  order.layer_end = 2;
  order.begin = kFullPage;
  order.end = 4 * kFullPage;
  order.to.node = plan::TestNode(2);
  EXPECT_TRUE(kv_server.FetchKv(plan::TestNode(1), order, 0));
  for (uint32_t i = 1; i < 4; ++i) {
    const auto outgoing = kv_server.Next(places);
    ASSERT_TRUE(outgoing);
    EXPECT_EQ(outgoing->to, plan::TestNode(2));
    const auto& rows = std::get<wire::KvRows>(outgoing->message);
    ByteReader reader(rows.chunk);
    const kv::KvChunkHeader header = kv::ReadHeader(reader).value();
    EXPECT_EQ(header.begin, i * kFullPage);
    EXPECT_EQ(header.layers, (kv::LayerRange{1, 2}));
    EXPECT_EQ(rows.epoch, 3u);
  }
  EXPECT_FALSE(kv_server.Next(places));
  // If rows were evicted, the reply is an empty FoundKv.
  kv_server.FetchKv(plan::TestNode(1), order, 0);
  const auto outgoing = kv_server.Next({});
  ASSERT_TRUE(outgoing);
  EXPECT_EQ(outgoing->to, plan::TestNode(1));
  EXPECT_TRUE(std::get<wire::FoundKv>(outgoing->message).held.empty());
  // Nothing is found for other texts, other layers, and invalid queries.
  find.tokens[0] ^= 1;
  EXPECT_TRUE(kv_server.FindKv(plan::TestNode(1), find, places, 0)->held.empty());
  find.layer_count = 0;
  EXPECT_TRUE(kv_server.FindKv(plan::TestNode(1), find, places, 0)->held.empty());
  find.layer_count = 1u << 31;
  EXPECT_TRUE(kv_server.FindKv(plan::TestNode(1), find, places, 0)->held.empty());
  find.tokens.clear();
  EXPECT_FALSE(kv_server.FindKv(plan::TestNode(1), find, places, 0));
}

}  // namespace
}  // namespace aster::stage
