// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Frames of a stage server while a device computes: several are in flight, end late and out of
// order, and have the results of a server without a device.
#include <gtest/gtest.h>

#include <map>

#include "kv/prefix_hash.h"
#include "net/memory_network.h"
#include "plan/route_model.h"
#include "stage/gpu_slice_source_for_test.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::stage {
namespace {

constexpr wire::RouteId kFramesRoute = 7;

// A server that a test drives, with all layers, and its conductor.
class DrivenServer {
 public:
  explicit DrivenServer(SliceSource& source) : server_(*node_, source) {
    front_->Introduce(node_->self(), {});
    wire::OpenRoute open;
    open.route = kFramesRoute;
    open.conductor.node = front_->self();
    open.fingerprint = plan::TestModel::kFingerprint;
    open.arithmetic = kernels::kArithmeticVersion;
    open.stages = {{.node = node_->self(),
                    .name = "a",
                    .addresses = {},
                    .layer_begin = 0,
                    .layer_end = plan::kTestLayers,
                    .embedding = true,
                    .head = true}};
    Send(open);
    server_.Tick();
  }

  void Begin(wire::SequenceId sequence, std::span<const int32_t> tokens) {
    wire::Begin begin;
    begin.route = kFramesRoute;
    begin.sequence = sequence;
    begin.tokens.assign(tokens.begin(), tokens.end());
    begin.sampling.temperature = 0;
    Send(begin);
    texts_[sequence].assign(tokens.begin(), tokens.end());
  }

  // Work on the next `count` tokens of a sequence's text.
  void Work(wire::SequenceId sequence, uint32_t count, wire::Wanted wanted = wire::Wanted::kToken) {
    const std::vector<int32_t>& text = texts_[sequence];
    kv::TokenHistory history(digest_);
    history.Append(text);
    wire::WorkSegment segment;
    segment.sequence = sequence;
    segment.attempt = ++attempt_;
    segment.begin = ends_[sequence];
    segment.tokens.assign(text.begin() + segment.begin, text.begin() + segment.begin + count);
    ends_[sequence] += count;
    segment.before = history.HashAt(segment.begin);
    segment.after = history.HashAt(ends_[sequence]);
    segment.wanted = wanted;
    wire::Work work;
    work.route = kFramesRoute;
    work.segments.push_back(std::move(segment));
    Send(std::move(work));
  }

  // Sends draft tokens ahead; the sequence's text continues with them.
  void WorkAhead(wire::SequenceId sequence, const std::vector<int32_t>& drafts) {
    std::vector<int32_t>& text = texts_[sequence];
    text.resize(ends_[sequence]);
    kv::TokenHistory history(digest_);
    history.Append(text);
    wire::WorkSegment segment;
    segment.sequence = sequence;
    segment.attempt = ++attempt_;
    segment.begin = ends_[sequence];
    segment.tokens = drafts;
    segment.before = history.HashAt(segment.begin);
    segment.after = kv::ExtendPrefixHash(segment.before, drafts);
    segment.wanted = wire::Wanted::kToken;
    segment.draft_count = static_cast<uint32_t>(drafts.size());
    text.insert(text.end(), drafts.begin(), drafts.end());
    ends_[sequence] += segment.draft_count;
    wire::Work work;
    work.route = kFramesRoute;
    work.segments.push_back(std::move(segment));
    Send(std::move(work));
  }
  void Cancel(wire::SequenceId sequence) {
    Send(wire::Cancel{.route = kFramesRoute, .sequence = sequence, .attempt = attempt_});
  }
  // The sequence continues from position `end` of its text.
  void GoBack(wire::SequenceId sequence, uint32_t end) { ends_[sequence] = end; }

  // Computes until nothing is left to do.
  void Run() {
    while (server_.has_work()) Compute();
  }
  void Compute() {
    server_.Compute();
    Receive();
  }

  StageServer& server() { return server_; }
  // Sequences in the order of their results, and the tokens that were chosen for each.
  const std::vector<wire::SequenceId>& order() const { return order_; }
  const std::map<wire::SequenceId, std::vector<int32_t>>& chosen() const { return chosen_; }
  const std::string& refused() const { return refused_; }
  // Attempts that were not computed, and why.
  const std::map<uint64_t, std::string>& refused_work() const { return refused_work_; }

 private:
  template <typename Message>
  void Send(Message message) {
    ASSERT_TRUE(front_->Send(node_->self(), std::move(message)).ok());
    while (auto event = node_->Receive(0)) server_.Handle(*std::move(event));
    Receive();
  }
  void Receive() {
    while (auto event = front_->Receive(0)) {
      if (event->kind != net::Event::Kind::kMessage) continue;
      if (const auto* state = std::get_if<wire::RouteState>(&event->message)) {
        if (state->kind == wire::RouteState::Kind::kRefused) refused_ = state->why.message();
      }
      const auto* holds = std::get_if<wire::Holds>(&event->message);
      if (holds != nullptr && holds->attempt != 0) {
        refused_work_[holds->attempt] = holds->why.message();
      }
      const auto* done = std::get_if<wire::Done>(&event->message);
      for (size_t i = 0; done != nullptr && i < done->results.size(); ++i) {
        order_.push_back(done->results[i].sequence);
        chosen_[done->results[i].sequence].push_back(done->results[i].token);
      }
    }
  }

  SystemClock clock_;
  net::MemoryHub hub_{clock_};
  const std::unique_ptr<net::MemoryNetwork> node_ = hub_.Join(plan::TestNode(1));
  const std::unique_ptr<net::MemoryNetwork> front_ = hub_.Join(plan::TestNode(99));
  StageServer server_;
  const Hash128 digest_ =
      plan::LayoutOf(plan::TestModel::Get().shape(), {}, plan::TestModel::kFingerprint)
          .value()
          .digest();
  std::map<wire::SequenceId, std::vector<int32_t>> texts_;
  std::map<wire::SequenceId, uint32_t> ends_;
  uint64_t attempt_ = 0;
  std::vector<wire::SequenceId> order_;
  std::map<wire::SequenceId, std::vector<int32_t>> chosen_;
  std::string refused_;
  std::map<uint64_t, std::string> refused_work_;
};

// Two sequences whose prompts and tokens are asked for before anything is computed.
void AskForAll(DrivenServer& driven) {
  for (wire::SequenceId sequence = 1; sequence <= 2; ++sequence)
    driven.Begin(sequence, model::RandomTokens(80, 298, static_cast<uint32_t>(sequence)));
  for (const uint32_t count : {50u, 20u, 1u, 1u}) {
    for (wire::SequenceId sequence = 1; sequence <= 2; ++sequence) driven.Work(sequence, count);
  }
}

class FramesTest : public testing::Test {
 protected:
  FramesTest() {
    TestSliceSource source;
    DrivenServer plain(source);
    AskForAll(plain);
    plain.Run();
    wanted_ = plain.chosen();
    EXPECT_EQ(wanted_[1].size(), 4u);
    EXPECT_EQ(wanted_[2].size(), 4u);
  }

  std::map<wire::SequenceId, std::vector<int32_t>> wanted_;
};

TEST_F(FramesTest, EndLateAndOutOfOrderWithTheSameResults) {
  for (const uint32_t layers : {1u, plan::kTestLayers}) {
    GpuSliceSource source({.looks = 7}, layers);
    DrivenServer driven(source);
    AskForAll(driven);
    driven.Run();
    EXPECT_EQ(driven.chosen(), wanted_);
    EXPECT_EQ(source.newest->most_in_flight, 2);
    EXPECT_EQ(source.newest->in_flight, 0);
    // The second frame is done before the first.
    EXPECT_EQ(driven.order().front(), 2u);
  }
}

TEST_F(FramesTest, OfOneSequenceFollowEachOther) {
  GpuSliceSource source({.looks = 7});
  DrivenServer driven(source);
  driven.Begin(1, model::RandomTokens(80, 298, 1));
  for (const uint32_t count : {50u, 20u, 1u, 1u}) driven.Work(1, count);
  driven.Run();
  EXPECT_EQ(driven.chosen().at(1), wanted_[1]);
  EXPECT_EQ(source.newest->most_in_flight, 1);
}

// Times for plans are those of prompts with and without the head and of single tokens, but not of
// drafts.
TEST_F(FramesTest, TellWhatTheyTook) {
  TestSliceSource source;
  DrivenServer driven(source);
  driven.Begin(1, model::RandomTokens(250, 298, 1));
  for (int i = 0; i < 3; ++i) driven.Work(1, 32, wire::Wanted::kNothing);
  for (int i = 0; i < 3; ++i) driven.Work(1, 16);
  for (int i = 0; i < 4; ++i) driven.Work(1, 4);
  driven.Run();
  std::vector<WorkRate> rates = driven.server().Rates();
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_FALSE(rates[0].slice.head);
  EXPECT_EQ(rates[0].chunk.rows, 32u);
  EXPECT_TRUE(rates[1].slice.head);
  EXPECT_EQ(rates[1].chunk.rows, 16u);
  EXPECT_EQ(rates[1].token.rows, 0u);
  for (int i = 0; i < 3; ++i) driven.Work(1, 1);
  for (int i = 0; i < 3; ++i) driven.WorkAhead(1, model::RandomTokens(12, 298, 5));
  driven.Run();
  rates = driven.server().Rates();
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[1].token.rows, 1u);
  EXPECT_EQ(rates[1].chunk.rows, 16u);
}

// When any other message about sequences is handled, no frame is in flight.
TEST_F(FramesTest, AreFinishedBeforeOtherMessages) {
  GpuSliceSource source({.looks = 1000});
  DrivenServer driven(source);
  AskForAll(driven);
  driven.Compute();
  driven.Compute();
  EXPECT_EQ(source.newest->in_flight, 2);
  EXPECT_TRUE(driven.order().empty());
  driven.Begin(3, std::vector<int32_t>{1, 2, 3});
  EXPECT_EQ(source.newest->in_flight, 0);
  EXPECT_EQ(driven.order().size(), 2u);
  driven.Run();
  EXPECT_EQ(driven.chosen(), wanted_);
}

// Draft tokens that are sent ahead.
class AheadTest : public testing::Test {
 protected:
  AheadTest() {
    // The greedy answer, token by token.
    DrivenServer plain(source_);
    std::vector<int32_t> text = prompt_;
    for (int i = 0; i < 5; ++i) {
      plain.Begin(1, text);
      plain.Work(1, i == 0 ? static_cast<uint32_t>(text.size()) : 1);
      plain.Run();
      text.push_back(plain.chosen().at(1).back());
    }
    answer_.assign(text.begin() + static_cast<ptrdiff_t>(prompt_.size()), text.end());
  }
  void Begin(DrivenServer& driven) {
    driven.Begin(1, prompt_);
    driven.Work(1, static_cast<uint32_t>(prompt_.size()));
  }

  TestSliceSource source_;
  const std::vector<int32_t> prompt_ = model::RandomTokens(20, 298, 1);
  std::vector<int32_t> answer_;
};

TEST_F(AheadTest, AreCheckedIfTheyBeginWithTheTokenThatWasChosen) {
  DrivenServer driven(source_);
  Begin(driven);
  driven.WorkAhead(1, {answer_[0], answer_[1]});
  driven.WorkAhead(1, {answer_[2]});
  driven.Run();
  EXPECT_EQ(driven.chosen().at(1),
            (std::vector<int32_t>{answer_[0], answer_[1], answer_[2], answer_[3]}));
  EXPECT_TRUE(driven.refused_work().empty());
}

TEST_F(AheadTest, AreRefusedUncomputedOtherwise) {
  DrivenServer driven(source_);
  Begin(driven);
  const int32_t wrong = (answer_[0] + 1) % 298;
  driven.WorkAhead(1, {wrong, answer_[1]});
  driven.WorkAhead(1, {answer_[2]});
  driven.Run();
  EXPECT_EQ(driven.chosen().at(1), (std::vector<int32_t>{answer_[0]}));
  ASSERT_EQ(driven.refused_work().size(), 2u);
  EXPECT_EQ(driven.refused_work().begin()->second, "another token was chosen than the draft token");
  EXPECT_EQ(driven.server().Snapshot().at(0).tokens, prompt_.size());
  // The next frame continues after the token.
  driven.GoBack(1, static_cast<uint32_t>(prompt_.size()));
  driven.WorkAhead(1, {answer_[0]});
  driven.Run();
  EXPECT_EQ(driven.chosen().at(1).back(), answer_[1]);
}

TEST_F(AheadTest, WhatIsCertainGoesFirst) {
  DrivenServer driven(source_);
  Begin(driven);
  driven.Run();
  driven.Begin(2, std::vector<int32_t>{1, 2, 3});
  driven.WorkAhead(1, {answer_[0]});
  driven.WorkAhead(1, {answer_[1]});
  driven.Work(2, 1);
  driven.Run();
  EXPECT_EQ(driven.order(), (std::vector<wire::SequenceId>{1, 2, 1, 1}));
}

TEST_F(AheadTest, WhatIsCancelledIsNotComputed) {
  DrivenServer driven(source_);
  Begin(driven);
  driven.Begin(2, std::vector<int32_t>{1, 2, 3});
  driven.WorkAhead(1, {answer_[0]});
  driven.WorkAhead(1, {answer_[1]});
  driven.Work(2, 1);
  driven.Cancel(1);
  // A frame that also has other segments stays in the queue; its cancelled segment is refused
  // later.
  EXPECT_EQ(driven.refused_work().size(), 2u);
  driven.Run();
  EXPECT_EQ(driven.refused_work().size(), 3u);
  EXPECT_EQ(driven.order(), (std::vector<wire::SequenceId>{2}));
  // Later work is computed as usual.
  driven.GoBack(1, 0);
  driven.Begin(1, prompt_);
  driven.Work(1, static_cast<uint32_t>(prompt_.size()));
  driven.Run();
  EXPECT_EQ(driven.chosen().at(1).back(), answer_[0]);
}

TEST_F(FramesTest, AreDroppedWithTheServer) {
  GpuSliceSource source({.looks = 1000});
  {
    DrivenServer driven(source);
    AskForAll(driven);
    driven.Compute();
    driven.Compute();
    EXPECT_EQ(source.newest->in_flight, 2);
  }
  EXPECT_EQ(source.newest->in_flight, 0);
}

// Both frames are lost with the device, no result is sent, and the route breaks once.
TEST_F(FramesTest, AreLostWithTheDevice) {
  GpuSliceSource source({.looks = 1000});
  DrivenServer driven(source);
  AskForAll(driven);
  driven.Compute();
  driven.Compute();
  EXPECT_EQ(source.newest->in_flight, 2);
  static_cast<void>(source.newest->Lose());
  driven.Run();
  EXPECT_TRUE(driven.order().empty());
  EXPECT_NE(driven.refused().find("has lost the GPU"), std::string::npos) << driven.refused();
  EXPECT_TRUE(driven.server().has_lost_gpu());
  EXPECT_TRUE(driven.server().Snapshot().empty());
  EXPECT_EQ(source.newest->in_flight, 0);
}

}  // namespace
}  // namespace aster::stage
