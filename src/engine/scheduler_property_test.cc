// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whatever requests run together, whenever they come, however little memory there is: each has the
// answer that it has alone.

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/answers_for_test.h"
#include "engine/scheduler.h"

namespace aster::engine {
namespace {

constexpr uint64_t kBytesOfPage =
    2 * 2 * 128 * 64 * 2 * 2;  // layers, heads, rows of keys and values

// A request that comes at some step, and may be cancelled at another.
struct Client {
  std::vector<int32_t> prompt;
  Request request;
  Answer expected;
  Hash128 expected_rows;
  uint64_t arrives_at = 0;
  std::optional<uint64_t> cancelled_at;
  std::optional<Sequence> sequence;
  Listener listener;
  RequestId id = 0;
};

class World {
 public:
  explicit World(uint64_t seed) : random_(seed), proposers_(seed) {
    if (Chance(3)) memory_ = {.window = 100 + Below(100), .sinks = Chance(2) ? 4u : 0u};
    // Memory is hardly enough for the longest request, or plenty.
    is_tight_ = Chance(2);
    memory_bytes_ = kBytesOfPage * (is_tight_ ? 6 + Below(2) : 1000);
    const uint32_t chunks[] = {1, 7, 64, 128, 300, 512};
    options_ = {.batch_tokens = chunks[Below(6)], .max_running = 1 + Below(6)};
    for (std::vector<int32_t>& shared : beginnings_) shared = Tokens(150);
    for (uint64_t i = 2 + Below(kSanitized ? 3 : 7); i > 0; --i) AddClient();
  }

  void Run() {
    const TinyModel& tiny = TinyModel::Get();
    model_ = tiny.Make(memory_bytes_, memory_);
    const VirtualClock clock;
    options_.proposers = &proposers_;
    Scheduler scheduler(*model_, &tiny.tokenizer(), clock, options_);
    for (uint64_t step = 0; step < 200 || !scheduler.idle(); ++step) {
      ASSERT_LT(step, 20000u) << "it does not come to an end";
      for (const auto& client : clients_) {
        if (client->arrives_at == step) Submit(scheduler, *client);
        if (client->cancelled_at == step) scheduler.Cancel(client->id);
      }
      ASSERT_TRUE(scheduler.Step().ok());
      // Requests that are finished leave; sequences that stay keep their memory.
      for (const auto& client : clients_) {
        if (!client->listener.finished()) continue;
        CheckRows(*client);
        client->sequence->Release();
      }
    }
    // Running answers get a token in every step.
    EXPECT_LE(scheduler.counters().longest_wait_steps, 1u);
    EXPECT_EQ(scheduler.counters().finished, scheduler.counters().submitted);
    counters_ = scheduler.counters();
    for (const auto& client : clients_) Check(*client);
  }

  const SchedulerCounters& counters() const { return counters_; }
  uint64_t rows_checked() const { return rows_checked_; }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_.NextBelow(bound)); }
  bool Chance(uint32_t one_of) { return Below(one_of) == 0; }
  std::vector<int32_t> Tokens(size_t count) {
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = static_cast<int32_t>(Below(298));
    return tokens;
  }

  void AddClient() {
    Client& client = *clients_.emplace_back(std::make_unique<Client>());
    client.prompt = Tokens(1 + Below(kSanitized ? 20 : is_tight_ ? 100 : 180));
    if (Chance(is_tight_ ? 4 : 2) && !kSanitized) {
      const auto& shared = beginnings_[Below(2)];
      client.prompt.insert(client.prompt.begin(), shared.begin(), shared.begin() + 120 + Below(31));
    }
    Request& request = client.request;
    request.max_tokens = 1 + Below(kSanitized ? 5 : 25);
    request.sampling.temperature = Chance(3) ? 0 : 1;
    request.sampling.top_p = Chance(2) ? 1 : 0.9F;
    request.sampling.min_p = 0;
    request.sampling.seed = Below(100);
    if (Chance(3)) request.sampling.repetition_penalty = 1.3F;
    // Answers that outgrow the memory that is free when they begin.
    const bool is_long = is_tight_ && !kSanitized && !Chance(3);
    if (is_long) request.max_tokens += 225;
    if (Chance(4) && !is_long)
      request.context_limit = static_cast<uint32_t>(client.prompt.size()) + 1 + Below(5);
    if (Chance(3) && !is_long) request.stop_tokens = Tokens(20);
    if (Chance(3) && !is_long) request.stop_strings = {"e", "ta", "\n", "no"};
    request.show_control = Chance(2);
    client.arrives_at = Chance(2) ? 0 : Below(40);
    if (Chance(3)) request.sampling.top_logprobs = 1 + Below(3);
    if (Chance(2)) {
      const DraftKind kinds[] = {DraftKind::kNgram, DraftKind::kMtp, DraftKind::kModel};
      request.draft = {.kind = kinds[Below(3)], .most = 1 + Below(Chance(2) ? 4 : kMostDrafts)};
    }
    if (Chance(6)) client.cancelled_at = client.arrives_at + 1 + Below(20);
  }

  void Submit(Scheduler& scheduler, Client& client) {
    client.sequence.emplace(*model_);
    client.sequence->SetHistory(client.prompt);
    client.request.sequence = &*client.sequence;
    client.listener.Attach(client.request);
    client.expected = AnswerAlone(client.request, client.prompt, memory_,
                                  memory_.window == 0 ? &client.expected_rows : nullptr);
    std::vector<int32_t> text = client.prompt;
    text.insert(text.end(), client.expected.tokens.begin(), client.expected.tokens.end());
    proposers_.Expect(*client.sequence, std::move(text));
    const auto id = scheduler.Submit(client.request);
    ASSERT_TRUE(id.ok()) << id.error().message();
    client.id = *id;
  }

  // The KV cache is the same as without drafts.
  void CheckRows(const Client& client) {
    const Sequence& sequence = *client.sequence;
    if (sequence.computed() == 0) return;  // of an earlier step, or nothing was computed
    ASSERT_LE(sequence.computed(), sequence.length());
    if (client.listener.finish().reason == FinishReason::kCancelled || memory_.window > 0) return;
    ASSERT_EQ(sequence.computed() + 1, sequence.length());
    EXPECT_EQ(RowsHash(sequence.table(), sequence.computed()), client.expected_rows);
    ++rows_checked_;
  }

  void Check(const Client& client) {
    ASSERT_TRUE(client.listener.finished());
    const Answer& expected = client.expected;
    const Answer& answer = client.listener.answer();
    const Finish& finish = client.listener.finish();
    if (finish.reason == FinishReason::kCancelled) {
      ASSERT_TRUE(client.cancelled_at.has_value());
      ASSERT_LE(answer.tokens.size(), expected.tokens.size());
      EXPECT_TRUE(std::equal(answer.tokens.begin(), answer.tokens.end(), expected.tokens.begin()));
    } else {
      EXPECT_EQ(answer.tokens, expected.tokens)
          << (finish.status.ok() ? "" : finish.status.error().message());
      EXPECT_EQ(answer.choices, expected.choices);
      EXPECT_EQ(answer.text, expected.text);
      EXPECT_EQ(FinishReasonName(answer.reason), FinishReasonName(expected.reason));
    }
    std::vector<int32_t> history = client.prompt;
    history.insert(history.end(), answer.tokens.begin(), answer.tokens.end());
    EXPECT_EQ(client.sequence->tokens(), history);
    EXPECT_EQ(finish.counts.prompt, client.prompt.size());
    EXPECT_EQ(finish.counts.generated, answer.tokens.size());
    EXPECT_LT(finish.counts.cached, client.prompt.size());
  }

  Random random_;
  HostileSource proposers_;
  model::MemoryOptions memory_;
  bool is_tight_;
  uint64_t memory_bytes_;
  SchedulerOptions options_;
  SchedulerCounters counters_;
  uint64_t rows_checked_ = 0;
  std::vector<int32_t> beginnings_[2];
  std::unique_ptr<LocalModel> model_;  // outlives the clients' sequences
  std::vector<std::unique_ptr<Client>> clients_;
};

TEST(SchedulerProperty, EachIsAnsweredAsIfItWereAlone) {
  uint64_t preempted = 0;
  uint64_t replayed = 0;
  uint64_t cached = 0;
  uint64_t rows_checked = 0;
  DraftCounts drafts;
  for (uint64_t seed = 0; seed < (kSanitized ? 6 : 120); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.Run();
    if (testing::Test::HasFailure()) return;
    preempted += world.counters().preempted;
    replayed += world.counters().replayed_tokens;
    cached += world.counters().cached_tokens;
    rows_checked += world.rows_checked();
    drafts += world.counters().drafts;
  }
  // Otherwise the test would not cover preemption.
  if (kSanitized) return;
  EXPECT_GT(preempted, 10u);
  EXPECT_GT(replayed, 500u);
  EXPECT_GT(cached, 1000u);
  EXPECT_GT(rows_checked, 100u);
  EXPECT_GT(drafts.accepted, 1000u);
  EXPECT_GT(drafts.drafted, drafts.accepted + 500u);
}

}  // namespace
}  // namespace aster::engine
