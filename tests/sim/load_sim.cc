// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Many requests on many nodes that fail and return, on a virtual clock: real conductors, each with
// plans over a few of the nodes, and real stage servers. Every request is answered with the tokens
// of one machine; no request is overtaken by many others, and rows that other nodes hold are found.
// `load_sim --nodes 32 --sequences 10000` takes minutes; docs/scale.md has figures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "conduct/conductor.h"
#include "engine/scheduler.h"
#include "sim_network.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {
namespace {

constexpr size_t kNodesOfFront = 4;
constexpr uint32_t kVocab = 298;
constexpr uint64_t kKvBytes = uint64_t{8} << 20;  // of each slice
// The time of a frame, on a node that is not slow.
constexpr int64_t kFrameNs = kNsPerMs;
// The average time between two requests of a front end.
constexpr int64_t kBetweenNs = 10 * kNsPerMs;
// A node dies every second, and returns after three.
constexpr int64_t kDeathEveryNs = kNsPerSecond;
constexpr int64_t kAwayNs = 3 * kNsPerSecond;
// One of 20 answers is compared with one machine's.
constexpr size_t kComparedOneOf = 20;
// The failure of a node is noticed within two seconds; then its route is opened again, and its
// requests are computed again.
constexpr int64_t kLongestNs = 15 * kNsPerSecond;

struct LoadOptions {
  size_t nodes = 12;
  size_t sequences = 400;
  uint64_t seed = 1;
};
LoadOptions g_options;  // of the command line

class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options),
        random_(options.seed, 7),
        trace_(/*keep_lines=*/false),
        hub_(clock_, random_, trace_),
        source_(kKvBytes) {
    for (size_t i = 0; i < options_.nodes; ++i) AddMachine(i + 1);
    for (size_t i = 0; i < std::max<size_t>(1, options_.nodes / kNodesOfFront); ++i) AddFront(i);
    for (int i = 0; i < 8; ++i) beginnings_.push_back(model::RandomTokens(256, kVocab, i));
    AddRequests();
    next_death_ns_ = kDeathEveryNs;
  }
  ~Load() {
    asked_.clear();
    for (const auto& front : fronts_) front->conductor.reset();
    for (const auto& machine : machines_) machine->server.reset();
  }

  void Run() {
    while (ended_ < asked_.size()) {
      ASSERT_LT(clock_.NowNs(), 3600 * kNsPerSecond) << ended_ << " requests have ended";
      Submit();
      for (const auto& front : fronts_) front->conductor->Tick();
      clock_.AdvanceTo(std::max(NextNs(), clock_.NowNs()));
      Die();
      while (hub_.next_ns() <= clock_.NowNs()) hub_.DeliverNext();
      for (const auto& machine : machines_) RunMachine(*machine);
    }
  }

  void Check() {
    std::vector<int64_t> waits_ns;
    for (const auto& asked : asked_) {
      ASSERT_TRUE(asked->finish->status.ok()) << asked->finish->status.error().message();
      ASSERT_EQ(asked->answer.size(), asked->max_tokens);
      waits_ns.push_back(asked->first_ns - asked->arrives_ns);
    }
    for (size_t i = 0; i < asked_.size(); i += kComparedOneOf)
      ASSERT_EQ(asked_[i]->answer, Expected(*asked_[i])) << "request " << i;
    std::ranges::sort(waits_ns);
    const auto part = [&](double of) {
      return static_cast<double>(
                 waits_ns[static_cast<size_t>(of * static_cast<double>(waits_ns.size() - 1))]) /
             kNsPerSecond;
    };
    uint64_t replans = 0, fetched = 0, cached = 0;
    for (const auto& front : fronts_) {
      replans += front->conductor->counters().replans;
      fetched += front->conductor->counters().fetched_tokens;
      cached += front->conductor->counters().cached_tokens;
    }
    fmt::print(
        "{} nodes, {} front ends, {} requests in {:.0f} s, {} deaths, {} replans: first tokens "
        "after {:.2f} s (median), {:.2f} s (99 %), {:.2f} s (longest); {} requests were passed by "
        "at most; {} tokens of prompts were cached, {} fetched from other nodes\n",
        machines_.size(), fronts_.size(), asked_.size(),
        static_cast<double>(clock_.NowNs()) / kNsPerSecond, deaths_, replans, part(0.5), part(0.99),
        part(1), MostPassedBy(), cached, fetched);
    EXPECT_LT(part(1) * kNsPerSecond, kLongestNs);
    // Requests begin in the order of arrival, except those that were preempted or replayed.
    EXPECT_LE(MostPassedBy(), 2 * kMaxRunning);
    EXPECT_GT(deaths_, 0u);
    EXPECT_GT(replans, 0u);
    // A single front end's prefixes are only on its own route, which loses them when a node of it
    // dies.
    if (fronts_.size() > 1) {
      EXPECT_GT(fetched, 0u);
    }
  }

 private:
  static constexpr uint32_t kMaxRunning = 16;

  struct Machine {
    wire::NodeId id;
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<stage::StageServer> server;  // null while the node is down
    std::vector<net::Event> inbox;
    int64_t busy_until_ns = 0;
    int64_t returns_ns = kNeverNs;
    int64_t slowness = 1;
    size_t users = 0;  // front ends
  };
  struct Front {
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<conduct::Conductor> conductor;
    std::vector<size_t> machines;  // of the front end's plan
  };
  struct TestRequest {
    size_t front = 0;
    int64_t arrives_ns = 0;
    uint64_t max_tokens = 0;
    std::vector<int32_t> prompt;
    std::optional<engine::Sequence> sequence = {};
    std::vector<int32_t> answer = {};
    int64_t first_ns = 0;
    std::optional<engine::Finish> finish = {};
  };

  void AddMachine(uint64_t number) {
    Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
    machine.id = wire::NodeId{Hash128{number, number}};
    machine.network = std::make_unique<SimNetwork>(hub_, machine.id);
    machine.slowness = 1 + static_cast<int64_t>(random_.NextBelow(3));
    Boot(machine);
  }
  void Boot(Machine& machine) {
    machine.returns_ns = kNeverNs;
    machine.inbox.clear();
    machine.server = std::make_unique<stage::StageServer>(*machine.network, source_);
    hub_.Add(machine.id,
             [&machine](net::Event event) { machine.inbox.push_back(std::move(event)); });
  }

  void AddFront(uint64_t number) {
    Front& front = *fronts_.emplace_back(std::make_unique<Front>());
    const uint64_t id = 1'000'000 + number;
    front.network = std::make_unique<SimNetwork>(hub_, wire::NodeId{Hash128{id, id}});
    hub_.Add(front.network->self(),
             [&front](net::Event event) { front.conductor->Handle(std::move(event)); });
    conduct::ConductorOptions options;
    options.max_running = kMaxRunning;
    options.stall_ns = 20 * kNsPerSecond;
    options.route.open_timeout_ns = 10 * kNsPerSecond;
    options.max_replans = 30;
    options.ask_ns = 50 * kNsPerMs;
    options.id_seed = id << 32;
    options.peers = [this] {
      std::vector<conduct::KvPeer> peers;
      for (const auto& machine : machines_) {
        if (machine->server) peers.emplace_back().node.id = machine->id;
      }
      return peers;
    };
    front.conductor = std::make_unique<conduct::Conductor>(
        *front.network, plan::TestModel::Get().route_model(), nullptr, PlanFor(front), options,
        [this, &front](const plan::Plan&, std::span<const wire::NodeId>, const Error&) {
          return Result<plan::Plan>(PlanFor(front));
        });
  }

  // A plan of a layer on each of the living nodes that have the fewest front ends.
  plan::Plan PlanFor(Front& front) {
    for (const size_t i : std::exchange(front.machines, {})) --machines_[i]->users;
    std::vector<size_t> living;
    for (size_t i = 0; i < machines_.size(); ++i) {
      if (machines_[i]->server) living.push_back(i);
    }
    std::ranges::stable_sort(living, {}, [&](size_t i) { return machines_[i]->users; });
    living.resize(std::min<size_t>(living.size(), kNodesOfFront));
    plan::Plan plan;
    const auto count = static_cast<uint32_t>(living.size());
    for (uint32_t i = 0; i < count; ++i) {
      Machine& machine = *machines_[living[i]];
      ++machine.users;
      front.machines.push_back(living[i]);
      const uint32_t begin = i * plan::kTestLayers / count;
      const uint32_t end = (i + 1) * plan::kTestLayers / count;
      plan.stages.push_back({.node = {.id = machine.id, .name = {}, .addresses = {}},
                             .slice = {.layer_begin = begin,
                                       .layer_end = end,
                                       .embedding = begin == 0,
                                       .head = end == plan::kTestLayers}});
    }
    return plan;
  }

  // Half of the prompts share their beginning with others.
  void AddRequests() {
    std::vector<int64_t> next_ns(fronts_.size(), 0);
    for (size_t i = 0; i < options_.sequences; ++i) {
      const size_t front = i % fronts_.size();
      next_ns[front] += static_cast<int64_t>(random_.NextBelow(2 * kBetweenNs));
      const uint32_t length = 1 + Below(100);
      auto prompt = model::RandomTokens(length, kVocab, Below(1'000'000));
      if (Below(2) == 0) {
        const auto& beginning = beginnings_[Below(static_cast<uint32_t>(beginnings_.size()))];
        prompt.insert(prompt.begin(), beginning.begin(), beginning.end());
      }
      asked_.push_back(std::make_unique<TestRequest>(TestRequest{.front = front,
                                                                 .arrives_ns = next_ns[front],
                                                                 .max_tokens = 1 + Below(12),
                                                                 .prompt = std::move(prompt)}));
    }
    std::ranges::stable_sort(asked_, {}, [](const auto& asked) { return asked->arrives_ns; });
  }

  void Submit() {
    for (; submitted_ < asked_.size() && asked_[submitted_]->arrives_ns <= clock_.NowNs();
         ++submitted_) {
      TestRequest& asked = *asked_[submitted_];
      conduct::Conductor& conductor = *fronts_[asked.front]->conductor;
      asked.sequence.emplace(conductor.NewSequence());
      asked.sequence->SetHistory(asked.prompt);
      engine::Request request;
      request.max_tokens = asked.max_tokens;
      request.sequence = &*asked.sequence;
      request.on_token = [this, &asked](const engine::Delta& delta) {
        if (asked.answer.empty()) asked.first_ns = clock_.NowNs();
        asked.answer.push_back(delta.choice.id);
      };
      request.on_finish = [this, &asked](const engine::Finish& finish) {
        asked.finish = finish;
        ++ended_;
        over_.push_back(&asked);
      };
      const auto id = conductor.Submit(request);
      CHECK(id.ok());
    }
    // Sequences are destroyed here because conductors must not be called from their own callbacks.
    for (TestRequest* asked : std::exchange(over_, {})) asked->sequence.reset();
  }

  void Die() {
    if (clock_.NowNs() < next_death_ns_) return;
    next_death_ns_ += kDeathEveryNs;
    Machine& machine = *machines_[Below(static_cast<uint32_t>(machines_.size()))];
    if (!machine.server) return;
    ++deaths_;
    hub_.Remove(machine.id);
    machine.server.reset();
    machine.inbox.clear();
    machine.busy_until_ns = 0;
    machine.returns_ns = clock_.NowNs() + kAwayNs;
  }

  void RunMachine(Machine& machine) {
    if (machine.returns_ns <= clock_.NowNs()) Boot(machine);
    if (!machine.server || machine.busy_until_ns > clock_.NowNs()) return;
    for (net::Event& event : std::exchange(machine.inbox, {}))
      machine.server->Handle(std::move(event));
    machine.server->Tick();
    if (!machine.server->has_work()) return;
    const int64_t cost_ns = kFrameNs * machine.slowness;
    hub_.SetSendDelay(cost_ns);
    machine.server->Compute();
    hub_.SetSendDelay(0);
    machine.busy_until_ns = clock_.NowNs() + cost_ns;
  }

  int64_t NextNs() const {
    int64_t next_ns = std::min(hub_.next_ns(), next_death_ns_);
    if (submitted_ < asked_.size()) next_ns = std::min(next_ns, asked_[submitted_]->arrives_ns);
    for (const auto& front : fronts_) next_ns = std::min(next_ns, front->conductor->next_tick_ns());
    for (const auto& machine : machines_) {
      if (!machine->server) {
        next_ns = std::min(next_ns, machine->returns_ns);
        continue;
      }
      const bool has_work = machine->server->has_work() || !machine->inbox.empty();
      next_ns = std::min(next_ns, std::max(machine->busy_until_ns,
                                           has_work ? 0 : machine->server->next_tick_ns()));
    }
    return next_ns;
  }

  // The largest number of later requests of the same front end that had their first token before an
  // earlier one.
  size_t MostPassedBy() const {
    size_t most = 0;
    for (size_t front = 0; front < fronts_.size(); ++front) {
      std::vector<int64_t> firsts;
      for (const auto& asked : asked_) {
        if (asked->front == front) firsts.push_back(asked->first_ns);
      }
      for (size_t i = 0; i < firsts.size(); ++i) {
        const auto passed = std::count_if(firsts.begin() + static_cast<ptrdiff_t>(i), firsts.end(),
                                          [&](int64_t other) { return other < firsts[i]; });
        most = std::max(most, static_cast<size_t>(passed));
      }
    }
    return most;
  }

  // The answer of one machine.
  std::vector<int32_t> Expected(const TestRequest& asked) {
    if (!whole_) whole_ = plan::TestModel::Get().MakeWhole();
    engine::Scheduler scheduler(*whole_, nullptr, clock_);
    engine::Sequence sequence(*whole_);
    sequence.SetHistory(asked.prompt);
    std::vector<int32_t> tokens;
    engine::Request request;
    request.max_tokens = asked.max_tokens;
    request.sequence = &sequence;
    request.on_token = [&](const engine::Delta& delta) { tokens.push_back(delta.choice.id); };
    CHECK(scheduler.Submit(request).ok());
    while (!scheduler.idle()) CHECK(scheduler.Step().ok());
    return tokens;
  }

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_.NextBelow(bound)); }

  const LoadOptions options_;
  Random random_;
  VirtualClock clock_;
  Trace trace_;
  SimHub hub_;
  stage::TestSliceSource source_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Front>> fronts_;
  std::vector<std::vector<int32_t>> beginnings_;
  std::vector<std::unique_ptr<TestRequest>> asked_;  // by when they arrive
  std::vector<TestRequest*> over_;
  std::unique_ptr<engine::LocalModel> whole_;  // of a machine that has all of it
  size_t submitted_ = 0;
  size_t ended_ = 0;
  size_t deaths_ = 0;
  int64_t next_death_ns_ = 0;
};

TEST(Load, NoRequestStarvesWhileNodesComeAndGo) {
  Load load(g_options);
  load.Run();
  if (!testing::Test::HasFatalFailure()) load.Check();
}

}  // namespace
}  // namespace aster::sim

int main(int argc, char** argv) {
  using aster::sim::g_options;
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    uint64_t number = 0;
    if (i + 1 == argc) return 2;
    const std::string_view value = argv[i + 1];
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() || number == 0)
      return 2;
    if (name == "--nodes") {
      g_options.nodes = number;
    } else if (name == "--sequences") {
      g_options.sequences = number;
    } else if (name == "--seed") {
      g_options.seed = number;
    } else {
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
