// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What is told and given to others, whatever they ask, how often, and in which order.

#include "stage/row_offers.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "disk/disk_pages.h"
#include "kv/parcel.h"
#include "plan/model_for_test.h"

namespace aster::stage {
namespace {

constexpr int32_t kVocab = 298;
constexpr uint32_t kPage = 128;

// One who remembers ten pages, and is asked by node 1.
class Offering : public testing::Test {
 protected:
  Offering() {
    const std::vector<model::Segment> segments = {{.table = &table_, .tokens = tokens_}};
    CHECK(model_->Run(segments).ok());
  }

  wire::Seek Asking(uint64_t query, uint32_t pages = 10) const {
    return {.query = query,
            .digest = model_->layout().digest(),
            .layer_count = plan::kTestLayers,
            .tokens = {tokens_.begin(), tokens_.begin() + pages * kPage}};
  }
  static wire::Give Wanting(uint64_t query, uint32_t pages = 10) {
    wire::Give give;
    give.query = query;
    give.sequence = query;
    give.layer_end = plan::kTestLayers;
    give.end = pages * kPage;
    give.to.node = plan::TestNode(2);
    return give;
  }
  // How many parcels go now.
  size_t Parcels(RowOffers& offers) {
    size_t count = 0;
    while (const auto outgoing = offers.Next(places_)) {
      count += std::holds_alternative<wire::Rows>(outgoing->message) ? 1 : 0;
    }
    return count;
  }
  static wire::Took Taken(uint64_t query, uint32_t page) {
    return {.sequence = query, .layer_end = plan::kTestLayers, .end = (page + 1) * kPage};
  }

  const std::vector<int32_t> tokens_ = model::RandomTokens(10 * kPage, kVocab);
  const std::unique_ptr<engine::LocalModel> model_ = plan::TestModel::Get().MakeWhole();
  kv::PageTable table_ = model_->NewTable();
  const RowPlaces places_{.models = {{model_.get(), wire::RowEncoding::kF32}}, .parcels = nullptr};
};

// A conductor asks for each of the requests that it runs before it wants anything.
TEST_F(Offering, AsManyQuestionsOfOneAsAConductorRunsRequests) {
  RowOffers offers;
  for (uint64_t query = 1; query <= 64; ++query) {
    ASSERT_FALSE(offers.Seek(plan::TestNode(1), Asking(query, 1), places_, 0)->held.empty());
  }
  for (uint64_t query = 1; query <= 64; ++query) {
    EXPECT_TRUE(offers.Give(plan::TestNode(1), Wanting(query, 1), 0)) << query;
  }
  EXPECT_EQ(Parcels(offers), 64u);
}

TEST_F(Offering, WhoHasNotAskedIsToldThatNothingComes) {
  RowOffers offers;
  ASSERT_TRUE(offers.Seek(plan::TestNode(1), Asking(1), places_, 0));
  EXPECT_FALSE(offers.Give(plan::TestNode(9), Wanting(1), 0));
  EXPECT_FALSE(offers.Give(plan::TestNode(1), Wanting(2), 0));
  for (const auto& [node, query] :
       {std::pair(plan::TestNode(9), 1), std::pair(plan::TestNode(1), 2)}) {
    const auto refusal = offers.Next(places_);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->to, node);
    EXPECT_EQ(std::get<wire::Found>(refusal->message).query, static_cast<uint64_t>(query));
    EXPECT_TRUE(std::get<wire::Found>(refusal->message).held.empty());
  }
  EXPECT_FALSE(offers.Next(places_));
}

// Whoever was restarted counts its questions from 1 again.
TEST_F(Offering, AnotherTextUnderTheSameNumberEndsWhatWasGivenOfTheFirst) {
  RowOffers offers(std::make_shared<RowsUnderWay>(1));
  ASSERT_TRUE(offers.Seek(plan::TestNode(1), Asking(1), places_, 0));
  ASSERT_TRUE(offers.Give(plan::TestNode(1), Wanting(1), 0));
  EXPECT_EQ(Parcels(offers), 1u);
  ASSERT_TRUE(offers.Seek(plan::TestNode(1), Asking(1, 1), places_, 0));
  offers.Took(plan::TestNode(2), Taken(1, 0));
  EXPECT_EQ(Parcels(offers), 0u);
  ASSERT_TRUE(offers.Give(plan::TestNode(1), Wanting(1, 1), 0));
  EXPECT_EQ(Parcels(offers), 1u);
}

TEST_F(Offering, WhatIsUnderWayToOneNodeIsBoundedForAllTexts) {
  // Less than one parcel: each text may have one under way, until there are too many of them.
  RowOffers probe;
  ASSERT_TRUE(probe.Seek(plan::TestNode(1), Asking(1, 1), places_, 0));
  ASSERT_TRUE(probe.Give(plan::TestNode(1), Wanting(1, 1), 0));
  const auto first = probe.Next(places_);
  const uint64_t parcel_bytes = std::get<wire::Rows>(first->message).parcel.size();
  RowOffers offers(std::make_shared<RowsUnderWay>(parcel_bytes));
  for (uint64_t query = 1; query <= 20; ++query) {
    ASSERT_TRUE(offers.Seek(plan::TestNode(1), Asking(query), places_, 0));
    ASSERT_TRUE(offers.Give(plan::TestNode(1), Wanting(query), 0));
  }
  EXPECT_EQ(Parcels(offers), 8u);
  // Another node has a queue of its own.
  wire::Give elsewhere = Wanting(1);
  elsewhere.to.node = plan::TestNode(3);
  ASSERT_TRUE(offers.Give(plan::TestNode(1), elsewhere, 0));
  EXPECT_EQ(Parcels(offers), 1u);
  // Nobody waits for ever.
  size_t sent = 8 + 1;
  for (int round = 0; round < 60; ++round) {
    for (uint64_t query = 1; query <= 20; ++query) {
      for (uint32_t page = 0; page < 10; ++page) {
        offers.Took(plan::TestNode(2), Taken(query, page));
        offers.Took(plan::TestNode(3), Taken(query, page));
      }
    }
    sent += Parcels(offers);
  }
  EXPECT_EQ(sent, 20u * 10 + 10);
}

TEST(RowsUnderWay, CountsByNodeAndForgetsWhatIsOver) {
  const auto all = std::make_shared<RowsUnderWay>(100);
  const wire::NodeId one = plan::TestNode(1), other = plan::TestNode(2);
  EXPECT_TRUE(all->MayGo(one, true));
  std::optional<RowsUnderWay::Share> first(RowsUnderWay::Share(all, one, 150));
  EXPECT_FALSE(all->MayGo(one, true));
  EXPECT_TRUE(all->MayGo(one, false));
  EXPECT_TRUE(all->MayGo(other, true));
  std::vector<RowsUnderWay::Share> more;
  more.emplace_back(all, one, 600);
  more.emplace_back(all, one, 50);
  EXPECT_FALSE(all->MayGo(one, false));
  more.erase(more.begin());
  EXPECT_FALSE(all->MayGo(one, true));
  EXPECT_TRUE(all->MayGo(one, false));
  first.reset();
  EXPECT_TRUE(all->MayGo(one, true));
}

TEST(RowOffers, WhatIsBelowMemoryIsGivenWithoutAModel) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  SystemClock clock;
  const std::shared_ptr<disk::DiskPages> pages =
      disk::DiskPages::Open({.folder = folder.File("pages")}, clock).value();
  const std::vector<int32_t> tokens = model::RandomTokens(4 * kPage, kVocab);
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
  RowOffers offers;
  const RowPlaces places{.models = {}, .parcels = pages.get()};
  wire::Seek seek{.query = 7, .digest = digest, .layer_count = 4, .tokens = tokens};
  auto found = offers.Seek(plan::TestNode(1), seek, places, 0);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->held.size(), 1u);
  EXPECT_EQ(found->held[0].layer_end, 2u);
  EXPECT_EQ(found->held[0].length, 4 * kPage);
  wire::Give give;
  give.query = 7;
  give.epoch = 3;
  give.layer_begin = 1;
  give.layer_end = 2;
  give.begin = kPage;
  give.end = 4 * kPage;
  give.to.node = plan::TestNode(2);
  EXPECT_TRUE(offers.Give(plan::TestNode(1), give, 0));
  for (uint32_t i = 1; i < 4; ++i) {
    const auto outgoing = offers.Next(places);
    ASSERT_TRUE(outgoing);
    EXPECT_EQ(outgoing->to, plan::TestNode(2));
    const auto& rows = std::get<wire::Rows>(outgoing->message);
    ByteReader reader(rows.parcel);
    const kv::ParcelHeader header = kv::ReadHeader(reader).value();
    EXPECT_EQ(header.begin, i * kPage);
    EXPECT_EQ(header.layers, (kv::LayerRange{1, 2}));
    EXPECT_EQ(rows.epoch, 3u);
  }
  EXPECT_FALSE(offers.Next(places));
  // What is gone meanwhile is said to be so.
  offers.Give(plan::TestNode(1), give, 0);
  const auto outgoing = offers.Next({});
  ASSERT_TRUE(outgoing);
  EXPECT_EQ(outgoing->to, plan::TestNode(1));
  EXPECT_TRUE(std::get<wire::Found>(outgoing->message).held.empty());
  // Nothing is known of other texts, other layers, and questions that make no sense.
  seek.tokens[0] ^= 1;
  EXPECT_TRUE(offers.Seek(plan::TestNode(1), seek, places, 0)->held.empty());
  seek.layer_count = 0;
  EXPECT_TRUE(offers.Seek(plan::TestNode(1), seek, places, 0)->held.empty());
  seek.layer_count = 1u << 31;
  EXPECT_TRUE(offers.Seek(plan::TestNode(1), seek, places, 0)->held.empty());
  seek.tokens.clear();
  EXPECT_FALSE(offers.Seek(plan::TestNode(1), seek, places, 0));
}

}  // namespace
}  // namespace aster::stage
