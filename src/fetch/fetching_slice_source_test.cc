// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/fetching_slice_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "fetch/fetch_for_test.h"
#include "fetch/part_peers.h"

namespace aster::fetch {
namespace {

using testing::HasSubstr;
using Taken = std::optional<Result<std::unique_ptr<engine::LocalModel>>>;

constexpr model::Slice kFirst{0, 2, true, false};
constexpr model::Slice kLast{2, kModelLayers, false, true};
constexpr uint64_t kKvBytes = uint64_t{1} << 20;

stage::SliceRequest RequestOf(const model::Slice& slice) {
  return {.fingerprint = SourceModel::Get().fingerprint(),
          .memory_name = SourceModel::Get().fingerprint(),
          .slice = slice,
          .kv_bytes = kKvBytes};
}

class FetchingSliceSourceTest : public testing::Test {
 protected:
  std::unique_ptr<FetchingSliceSource> Source(std::vector<std::shared_ptr<WeightPeer>> peers,
                                              uint64_t memory_bytes = 0) {
    return std::make_unique<FetchingSliceSource>(
        files_, store_, [peers](const Hash128&) { return peers; },
        FetchingOptions{.loading = {.threads = 1, .memory_bytes = memory_bytes},
                        .retry_pause_ns = kNsPerMs});
  }
  Taken Await(stage::SliceLoading& loading) {
    Taken taken;
    const int64_t deadline_ns = clock_.NowNs() + 60 * kNsPerSecond;
    while (!(taken = loading.Take()) && clock_.NowNs() < deadline_ns) {
      const auto progress = loading.progress();
      EXPECT_LE(progress.done_bytes, progress.total_bytes);
      clock_.SleepFor(kNsPerMs);
    }
    return taken;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  SystemClock clock_;
  TensorStore store_{{.folder = folder_.File("weights")}, clock_};
  stage::FileSliceSource files_{{.threads = 1}};
};

TEST_F(FetchingSliceSourceTest, FetchesWhatNoFileHereHas) {
  const auto peer = std::make_shared<FakePeer>("a");
  const auto source = Source({peer});
  const auto loading = source->Start(RequestOf(kLast)).value();
  const Taken taken = Await(*loading);
  ASSERT_TRUE(taken);
  ASSERT_TRUE(taken->ok()) << taken->error().message();
  EXPECT_EQ((**taken)->slice(), kLast);
  EXPECT_EQ(peer->sent_bytes, BytesIn(kLast));
  EXPECT_EQ(loading->progress().done_bytes, loading->progress().total_bytes);
  EXPECT_GE(loading->reserved_bytes(), BytesIn(kLast));
}

engine::LocalModelOptions OneThread() {
  engine::LocalModelOptions options;
  options.threads = 1;
  return options;
}

std::vector<float> LogitsOf(engine::LocalModel& model) {
  const std::vector<int32_t> tokens = model::RandomTokens(5, model.shape().vocab_size);
  kv::PageTable table = model.NewTable();
  const model::Segment segment{.table = &table, .tokens = tokens, .wanted = model::Wanted::kAll};
  const model::Output output = model.Run({&segment, 1}).value();
  return {output.logits.begin(), output.logits.end()};
}

TEST_F(FetchingSliceSourceTest, ComputesTheSameWhenTheNodeThatFetchedItIsGone) {
  const model::Slice whole{0, kModelLayers, true, true};
  auto source = Source({std::make_shared<FakePeer>("a")});
  auto loading = source->Start(RequestOf(whole)).value();
  const Taken taken = Await(*loading);
  loading.reset();
  source.reset();
  ASSERT_TRUE(taken && taken->ok());
  const auto here = engine::LocalModel::Load(SourceModel::Get().files(), OneThread());
  ASSERT_TRUE(here.ok());
  EXPECT_EQ(LogitsOf(***taken), LogitsOf(**here));
}

TEST_F(FetchingSliceSourceTest, AFileHereIsBetter) {
  files_.Add(SourceModel::Get().fingerprint(),
             {std::shared_ptr<void>(), &SourceModel::Get().files()});
  const auto peer = std::make_shared<FakePeer>("a");
  const auto source = Source({peer});
  const Taken taken = Await(*source->Start(RequestOf(kFirst)).value());
  ASSERT_TRUE(taken && taken->ok());
  EXPECT_EQ(peer->calls, 0);
}

TEST_F(FetchingSliceSourceTest, AHalfHereIsComputedWith) {
  const Halves halves;
  const std::vector<PartHere> here = {halves.high()};
  const auto peers = [&](const Hash128&) {
    return PeersWithParts({}, {halves.low(), halves.high()}, nullptr);
  };
  FetchingSliceSource source(
      files_, store_, peers,
      {.loading = {.threads = 1}, .parts_here = [&] { return here; }, .retry_pause_ns = kNsPerMs});
  const Taken taken = Await(*source.Start(RequestOf(kLast)).value());
  ASSERT_TRUE(taken && taken->ok()) << taken->error().message();
  const auto loading = source.Start(RequestOf(kFirst)).value();
  const Taken elsewhere = Await(*loading);
  ASSERT_TRUE(elsewhere && !elsewhere->ok());  // no peer sends it
  EXPECT_THAT(elsewhere->error().message(), HasSubstr("no node sends the tensor"));
}

TEST_F(FetchingSliceSourceTest, SaysWhyThereIsNone) {
  const auto source = Source({});
  const auto loading = source->Start(RequestOf(kFirst)).value();
  const Taken taken = Await(*loading);
  ASSERT_TRUE(taken && !taken->ok());
  EXPECT_THAT(taken->error().message(), HasSubstr("no reachable node has it"));
  EXPECT_THAT(taken->error().message(), HasSubstr("start `aster node --model FILE`"));
  // The code must not be Unavailable, which would mean that a neighbour of this node is
  // unreachable.
  EXPECT_EQ(taken->error().code(), Code::kNotFound);
}

// Once, a node that could not store its weights made every automatic plan fail: the front end took
// the error for one that every node would give.
TEST_F(FetchingSliceSourceTest, WhatCannotBeKeptHereMayBeElsewhere) {
  AtomicFile file = AtomicFile::Create(folder_.File("weights")).value();  // in place of the folder
  ASSERT_TRUE(file.Commit().ok());
  const auto source = Source({std::make_shared<FakePeer>("a")});
  const auto loading = source->Start(RequestOf(kFirst)).value();
  const Taken taken = Await(*loading);
  ASSERT_TRUE(taken && !taken->ok());
  EXPECT_EQ(taken->error().code(), Code::kNotFound);
}

TEST_F(FetchingSliceSourceTest, WhatDoesNotFitIsRefusedBeforeItTravels) {
  const auto peer = std::make_shared<FakePeer>("a");
  const auto source = Source({peer}, BytesIn(kFirst) + kKvBytes - 1);
  const auto loading = source->Start(RequestOf(kFirst)).value();
  const Taken taken = Await(*loading);
  ASSERT_TRUE(taken && !taken->ok());
  EXPECT_EQ(taken->error().code(), Code::kResourceExhausted);
  EXPECT_THAT(taken->error().message(), HasSubstr("1 of these 2 layers would fit"));
  EXPECT_THAT(taken->error().message(), testing::Not(HasSubstr("fetching")));
  EXPECT_EQ(peer->calls, 0);
}

// When each was requested, the other was not counted yet.
TEST_F(FetchingSliceSourceTest, OfTwoThatBeginTogetherOneDoesNotFit) {
  const auto peer = std::make_shared<FakePeer>("a");
  const uint64_t one = std::max(BytesIn(kFirst), BytesIn(kLast)) + kKvBytes;
  const auto source = Source({peer}, one + kKvBytes);
  const auto first = source->Start(RequestOf(kFirst)).value();
  const auto last = source->Start(RequestOf(kLast)).value();
  const Taken a = Await(*first);
  const Taken b = Await(*last);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->ok(), b->ok());
}

TEST_F(FetchingSliceSourceTest, GivingUpTakesNoTimeWhileAPeerIsSilent) {
  std::atomic<bool> is_released = false;
  std::atomic<bool> is_asked = false;
  const auto silent = std::make_shared<FakePeer>(
      "a", [&](std::string_view, uint64_t, std::vector<uint8_t>&) -> Status {
        is_asked = true;
        while (!is_released) std::this_thread::yield();
        return Error(Code::kDeadlineExceeded, "silence");
      });
  const auto source = Source({silent});
  auto loading = source->Start(RequestOf(kFirst)).value();
  while (!is_asked) std::this_thread::yield();
  EXPECT_TRUE(loading->CanGiveUp());
  loading.reset();  // would never end if it waited for the peer
  is_released = true;
}

}  // namespace
}  // namespace aster::fetch
