// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What KV transfer costs, on a virtual clock: two nodes prefill, a third one decodes, frames and
// tokens take a known time, and KV rows take time on the link. The exposed time does not depend on
// the prompt's length, and rows that prefill nodes lack are sent or computed again, whichever takes
// less time.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "conduct/conductor.h"
#include "engine/answers_for_test.h"
#include "sim_network.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {
namespace {

constexpr int64_t kFrameNs = 100 * kNsPerMs;  // of a page, on a prefill node
constexpr int64_t kTokenNs = 20 * kNsPerMs;   // of the decode node
constexpr uint32_t kPage = 128;
constexpr double kRowBytes = plan::kTestLayers * 2 * 64 * 2;  // keys and values of a token
// Fast enough for the transfer to keep up with prefill.
constexpr double kPlenty = 10e6;  // bytes a second

class KvTransferRun {
 public:
  struct Options {
    double bytes_per_s = kPlenty;     // of rows, towards each machine
    double believed_bytes_per_s = 0;  // that the conductor believes; 0: as it is
    uint32_t kv_sync_step = 32;       // tokens
    bool knows_rates = true;
  };

  explicit KvTransferRun(const Options& options)
      : options_(options), random_(1), trace_(false), hub_(clock_, random_, trace_) {
    const auto nodes = plan::TestNodes(3);
    plan::Plan plan;
    plan.stages = plan::ParsePath("a=0:1,b=2:out", plan::kTestLayers, nodes).value();
    plan.decode = plan::ParsePath("c", plan::kTestLayers, nodes).value();
    for (const plan::PlanStage& stage : plan.AllStages()) {
      Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
      machine.cost_ns = machines_.size() == 3 ? kTokenNs : kFrameNs;
      machine.network = std::make_unique<SimNetwork>(hub_, stage.node.id);
      machine.server = std::make_unique<stage::StageServer>(*machine.network, source_);
      hub_.Add(stage.node.id,
               [this, &machine](net::Event event) { Arrive(machine.coming, std::move(event)); });
    }
    front_ = std::make_unique<SimNetwork>(hub_, plan::TestNode(99));
    hub_.Add(front_->self(), [this](net::Event event) { Arrive(coming_, std::move(event)); });
    conduct::ConductorOptions conducting;
    conducting.id_seed = 1;
    conducting.chunk_pages = 1;
    conducting.searches_peers = false;
    conducting.kv_sync_step = options.kv_sync_step;
    if (options.knows_rates) {
      const double believed =
          options.believed_bytes_per_s > 0 ? options.believed_bytes_per_s : options.bytes_per_s;
      conducting.prefill_tokens_per_s = kPage * 1e9 / kFrameNs;
      conducting.peers = [nodes, believed] {
        std::vector<conduct::KvPeer> peers;
        for (const plan::PlanNode& node : nodes) peers.push_back({node, believed});
        return peers;
      };
    }
    conductor_ = std::make_unique<conduct::Conductor>(*front_, plan::TestModel::Get().route_model(),
                                                      nullptr, plan, conducting);
    sequence_.emplace(conductor_->NewSequence());
  }
  ~KvTransferRun() {
    sequence_.reset();
    conductor_.reset();
  }

  // Appends a prompt of `more` tokens and takes an answer; returns its duration.
  int64_t Ask(size_t more, uint64_t answer) {
    for (const int32_t token : model::RandomTokens(more, 298, ++asked_)) sequence_->Append(token);
    engine::Request request;
    request.sequence = &*sequence_;
    request.max_tokens = answer;
    request.context_limit = 10000;
    bool is_over = false;
    request.on_finish = [&](const engine::Finish& finish) {
      CHECK(finish.status.ok());
      is_over = true;
    };
    const int64_t start_ns = clock_.NowNs();
    CHECK(conductor_->Submit(std::move(request)).ok());
    while (!is_over) Step();
    return clock_.NowNs() - start_ns;
  }
  const conduct::ConductorCounters& counters() const { return conductor_->counters(); }

 private:
  // Events by the time of their arrival.
  using Coming = std::map<std::pair<int64_t, uint64_t>, net::Event>;
  struct Machine {
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<stage::StageServer> server;
    Coming coming;
    std::vector<net::Event> inbox;
    int64_t cost_ns = 0;  // of a frame
    int64_t busy_until_ns = 0;
  };

  // KV rows take time on the link from their machine, and other messages wait behind them.
  int64_t ArrivalOf(const net::Event& event) {
    int64_t& free_ns = way_is_free_ns_[event.from];
    free_ns = std::max(free_ns, clock_.NowNs());
    const bool is_message = event.kind == net::Event::Kind::kMessage;
    if (is_message && std::holds_alternative<wire::KvRows>(event.message)) {
      const auto bytes = static_cast<double>(std::get<wire::KvRows>(event.message).chunk.size());
      free_ns += static_cast<int64_t>(bytes * 1e9 / options_.bytes_per_s);
    }
    return free_ns;
  }

  void Arrive(Coming& coming, net::Event event) {
    const int64_t due_ns = ArrivalOf(event);
    coming.emplace(std::pair(due_ns, ++arrived_), std::move(event));
  }
  static int64_t NextOf(const Coming& coming) {
    return coming.empty() ? kNeverNs : coming.begin()->first.first;
  }
  // The events that have arrived by now.
  std::vector<net::Event> TakeDue(Coming& coming) {
    std::vector<net::Event> due;
    while (NextOf(coming) <= clock_.NowNs()) {
      due.push_back(std::move(coming.extract(coming.begin()).mapped()));
    }
    return due;
  }

  void Step() {
    conductor_->Tick();
    int64_t next_ns = std::min({hub_.next_ns(), conductor_->next_tick_ns(), NextOf(coming_)});
    for (const auto& machine : machines_) {
      next_ns = std::min(next_ns, NextOf(machine->coming));
      if (machine->inbox.empty() && !machine->server->has_work()) continue;
      next_ns = std::min(next_ns, machine->busy_until_ns);
    }
    clock_.AdvanceTo(std::max(next_ns, clock_.NowNs()));
    while (hub_.next_ns() <= clock_.NowNs()) hub_.DeliverNext();
    for (net::Event& event : TakeDue(coming_)) conductor_->Handle(std::move(event));
    for (const auto& machine : machines_) Run(*machine);
  }

  void Run(Machine& machine) {
    for (net::Event& event : TakeDue(machine.coming)) machine.inbox.push_back(std::move(event));
    if (machine.busy_until_ns > clock_.NowNs()) return;
    for (net::Event& event : std::exchange(machine.inbox, {})) {
      machine.server->Handle(std::move(event));
    }
    machine.server->Tick();
    if (!machine.server->has_work()) return;
    hub_.SetSendDelay(machine.cost_ns);
    machine.server->Compute();
    hub_.SetSendDelay(0);
    machine.busy_until_ns = clock_.NowNs() + machine.cost_ns;
  }

  const Options options_;
  VirtualClock clock_;
  Random random_;
  Trace trace_;
  SimHub hub_;
  stage::TestSliceSource source_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::unique_ptr<SimNetwork> front_;
  std::unique_ptr<conduct::Conductor> conductor_;
  std::optional<engine::Sequence> sequence_;
  Coming coming_;                                   // to the front end
  std::map<wire::NodeId, int64_t> way_is_free_ns_;  // by sender: when its link is free
  uint64_t asked_ = 0;
  uint64_t arrived_ = 0;
};

TEST(KvTransferTimes, ExposedTransferTimeDoesNotGrowWithThePrompt) {
  if (kSanitized) GTEST_SKIP() << "long prompts take too long in builds with sanitizers";
  // The exposed time, from the end of the last frame to the first token: sending its rows, a step,
  // and messages.
  const auto exposed_of = [](size_t frames) {
    KvTransferRun run({});
    run.Ask(frames * kPage + 1, 1);
    CHECK(run.counters().transferred_prompts == 1);
    return run.counters().exposed_ns;
  };
  const int64_t few = exposed_of(2), many = exposed_of(48);
  constexpr int64_t kMessagesNs = 40 * kNsPerMs;
  const auto rows_ns = static_cast<int64_t>(kPage * kRowBytes * 1e9 / kPlenty);
  EXPECT_GT(few, kTokenNs);
  EXPECT_LT(few, kTokenNs + rows_ns + kMessagesNs);
  EXPECT_LT(many, kTokenNs + rows_ns + kMessagesNs);
}

// KV sync yields to the answer: on a link that is too slow for all rows, a token waits for at most
// a step of rows of each prefill node.
TEST(KvTransferTimes, DecodeDoesNotWaitForKvSync) {
  constexpr double kSlow = 20e3;
  const auto answer_of = [](double bytes_per_s) {
    KvTransferRun run({.bytes_per_s = bytes_per_s});
    run.Ask(40, 1);  // the decode node prefills it, too: there is no KV transfer
    return run.Ask(10, 300);
  };
  const int64_t fast = answer_of(kPlenty), slow = answer_of(kSlow);
  // All rows of the answer are 350 kB, which take 17 s.
  const auto steps_ns = static_cast<int64_t>(32 * kRowBytes * 1.1 * 1e9 / kSlow);
  EXPECT_LT(slow, fast + steps_ns + 100 * kNsPerMs);
}

// An answer whose rows were not sent back, followed at once by the next turn.
class NextTurn {
 public:
  explicit NextTurn(double bytes_per_s, double believed_bytes_per_s = 0, bool knows_rates = true)
      : run_({.bytes_per_s = bytes_per_s,
              .believed_bytes_per_s = believed_bytes_per_s,
              .kv_sync_step = 10000,
              .knows_rates = knows_rates}) {
    run_.Ask(300, kAnswer);
    const uint64_t before = run_.counters().prefill_tokens;
    duration_ns_ = run_.Ask(kMore, 1);
    prefilled_ = run_.counters().prefill_tokens - before;
  }

  int64_t duration_ns() const { return duration_ns_; }
  bool computed_again() const { return prefilled_ > kMore + kAnswer / 2; }

 private:
  static constexpr uint32_t kAnswer = 400;
  static constexpr uint32_t kMore = 100;

  KvTransferRun run_;
  int64_t duration_ns_ = 0;
  uint64_t prefilled_ = 0;
};

TEST(KvTransferTimes, MissingRowsAreSentOrComputedAgainWhicheverIsSooner) {
  // 400 rows are about 400 kB: 0.05 s, or 20 s.
  constexpr double kFast = 8e6, kSlow = 20e3;
  const NextTurn fast(kFast), slow(kSlow);
  EXPECT_FALSE(fast.computed_again());
  EXPECT_TRUE(slow.computed_again());
  // With a wrong rate the other way is chosen, which takes longer.
  const NextTurn misled_fast(kFast, kSlow), misled_slow(kSlow, kFast);
  EXPECT_TRUE(misled_fast.computed_again());
  EXPECT_FALSE(misled_slow.computed_again());
  EXPECT_LT(fast.duration_ns(), misled_fast.duration_ns());
  EXPECT_LT(slow.duration_ns(), misled_slow.duration_ns());
  // If no rate is known, more than a page is sent.
  EXPECT_FALSE(NextTurn(kFast, 0, /*knows_rates=*/false).computed_again());
}

}  // namespace
}  // namespace aster::sim
