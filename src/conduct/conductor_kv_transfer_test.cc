// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prefill/decode disaggregation: the same bits as on one machine, for any prefill and decode nodes,
// and any order in which texts grow, go back and are cancelled.
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "base/random.h"
#include "conduct/cluster_for_test.h"
#include "conduct/parts_for_test.h"
#include "engine/scheduler.h"
#include "kv/chunk.h"

namespace aster::conduct {
namespace {

// The same requests on one machine and on nodes.
class ComparedGenerators {
 public:
  ComparedGenerators(engine::Generator& there, engine::Generator& here)
      : there_(there),
        here_(here),
        there_sequence_(there.NewSequence()),
        here_sequence_(here.NewSequence()) {}

  void SetHistory(std::span<const int32_t> tokens) {
    there_sequence_.SetHistory(tokens);
    here_sequence_.SetHistory(tokens);
  }
  void Append(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
      there_sequence_.Append(token);
      here_sequence_.Append(token);
    }
  }
  void Rewind(uint32_t length) {
    there_sequence_.Rewind(length);
    here_sequence_.Rewind(length);
  }
  uint32_t length() const { return here_sequence_.length(); }
  void Answer(const engine::Request& request) {
    const std::vector<int32_t> expected = conduct::Answer(here_, here_sequence_, request);
    EXPECT_EQ(conduct::Answer(there_, there_sequence_, request), expected);
  }

 private:
  engine::Generator& there_;
  engine::Generator& here_;
  engine::Sequence there_sequence_;
  engine::Sequence here_sequence_;
};

engine::Request Asking(uint64_t tokens, uint64_t seed) {
  engine::Request request;
  request.max_tokens = tokens;
  request.sampling.temperature = 1;
  request.sampling.seed = seed;
  request.sampling.repetition_penalty = 1.1F;
  request.sampling.penalty_window = 64;
  return request;
}

class EveryKvTransfer : public testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<engine::LocalModel> whole_ = plan::TestModel::Get().MakeWhole();
  SystemClock clock_;
  engine::Scheduler scheduler_{*whole_, nullptr, clock_};
};

TEST_P(EveryKvTransfer, GivesTheSameBits) {
  const std::vector<int32_t> tokens = model::RandomTokens(700, kTestVocab);
  TestCluster cluster(4);
  const auto conductor = cluster.Conduct(GetParam());
  ASSERT_TRUE(conductor->Open().ok());
  EXPECT_EQ(LogitsHash(*conductor, tokens), LogitsHash(scheduler_, tokens));
  ComparedGenerators compared(*conductor, scheduler_);
  compared.SetHistory(tokens);
  compared.Answer(Asking(50, 1));
  // The next turn, once short and once long, and a rewind.
  compared.Append(std::span(tokens).first(24));
  compared.Answer(Asking(20, 2));
  compared.Append(std::span(tokens).first(400));
  compared.Answer(Asking(20, 3));
  compared.Rewind(300);
  compared.Append(std::span(tokens).subspan(17, 200));
  compared.Answer(Asking(20, 4));
  // Held rows are not computed again: all but those of the first text, and of removed tokens.
  EXPECT_GT(conductor->counters().cached_tokens, 1500u);
  EXPECT_LT(conductor->counters().prefill_tokens, 700u + 24 + 400 + 200 + 700 + 300);
}

TEST_P(EveryKvTransfer, EditedLogitsAndLogitsOfARequest) {
  const std::vector<int32_t> tokens = model::RandomTokens(300, kTestVocab);
  TestCluster cluster(4);
  const auto conductor = cluster.Conduct(GetParam());
  engine::Request request = Asking(5, 1);
  request.edit_logits = [](std::span<const int32_t> history, std::span<float> logits) {
    logits[history.size() % kTestVocab] = std::numeric_limits<float>::max();
  };
  ComparedGenerators compared(*conductor, scheduler_);
  compared.SetHistory(tokens);
  compared.Answer(request);
}

// Several at once: stages decode answers by themselves while prompts are computed, and stop when
// they are halted.
TEST_P(EveryKvTransfer, ManyAtOnceAndSomeCutShort) {
  TestCluster cluster(4);
  const auto conductor = cluster.Conduct(GetParam());
  Random random(7);
  struct Client {
    engine::Sequence sequence;
    std::vector<int32_t> answer;
    bool is_cancelled = false;
  };
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::vector<int32_t>> expected;
  for (uint64_t i = 0; i < 12; ++i) {
    const uint32_t length = 1 + static_cast<uint32_t>(random.NextBelow(500));
    const std::vector<int32_t> tokens = model::RandomTokens(length, kTestVocab, i % 5);
    engine::Request request = Asking(1 + random.NextBelow(60), i);
    // Some tokens that the model sometimes chooses are stop tokens.
    for (int32_t stop = 0; stop < static_cast<int32_t>(i); ++stop) {
      request.stop_tokens.push_back(stop * 7 % kTestVocab);
    }
    engine::Sequence here = scheduler_.NewSequence();
    here.SetHistory(tokens);
    expected.push_back(Answer(scheduler_, here, request));
    clients.push_back(std::make_unique<Client>(Client{conductor->NewSequence(), {}}));
    Client& client = *clients.back();
    client.sequence.SetHistory(tokens);
    request.sequence = &client.sequence;
    const bool is_cut = i % 4 == 3;
    request.on_token = [&, is_cut](const engine::Delta& delta) {
      client.answer.push_back(delta.choice.id);
      if (!is_cut || client.answer.size() != 3) return;
      client.is_cancelled = true;
      conductor->Cancel(delta.id);
    };
    ASSERT_TRUE(conductor->Submit(std::move(request)).ok());
    static_cast<void>(conductor->Step());
  }
  while (!conductor->idle()) ASSERT_TRUE(conductor->Step().ok());
  for (size_t i = 0; i < clients.size(); ++i) {
    std::vector<int32_t> whole = expected[i];
    if (clients[i]->is_cancelled) whole.resize(3);
    EXPECT_EQ(clients[i]->answer, whole) << "client " << i;
    // The next request continues after a cancelled one.
    if (!clients[i]->is_cancelled) continue;
    engine::Sequence here = scheduler_.NewSequence();
    here.SetHistory(clients[i]->sequence.tokens());
    EXPECT_EQ(Answer(*conductor, clients[i]->sequence, Asking(10, i)),
              Answer(scheduler_, here, Asking(10, i)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of4Layers, EveryKvTransfer,
    testing::Values("a=0:1,b=2:out decode b", "a=0:1,b=2:out decode a", "a=0:1,b=2:out decode c",
                    "a decode b", "a=0:0,b=1:2,c=3:out decode b", "a=0:0,b=1:2,c=3:out decode d",
                    "a=0:1,b=2:out decode b=0:1,a=2:out", "a decode b=0:2,c=3:out",
                    "a=0:2,b=3:out decode a=0:1,b=2:out", "a=0:1,b=2:out decode a=0:1,b=2:out",
                    "a=0:1,b=2:out decode a+b", "a=0:1,b=2:out decode 3*b+2*a", "a decode c+a",
                    "a+b=0:out decode b", "a=0:1,b=2:out decode a+b=0:1,c=2:out",
                    "c=0:0,a+b=1:out decode b+c"));

TEST(KvTransfer, AWindowIsTheWindowHere) {
  const model::MemoryOptions memory{.window = 128, .sinks = 4};
  const auto whole = plan::TestModel::Get().MakeWhole(memory);
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  TestCluster cluster(3);
  ConductorOptions options;
  options.route.memory = memory;
  const auto conductor = cluster.Conduct("a=0:1,b=2:out decode c", options);
  const std::vector<int32_t> tokens = model::RandomTokens(900, kTestVocab);
  ComparedGenerators compared(*conductor, scheduler);
  compared.SetHistory(tokens);
  compared.Answer(Asking(150, 1));
  compared.Append(std::span(tokens).first(200));
  compared.Answer(Asking(10, 2));
  compared.Rewind(500);
  compared.Append(std::span(tokens).first(10));
  compared.Answer(Asking(10, 3));
}

// No node is sent rows that it has already.
TEST(KvTransfer, OnlyWhatIsLackedIsSent) {
  const std::vector<int32_t> tokens = model::RandomTokens(900, kTestVocab);
  TestCluster cluster(3);
  const auto conductor = cluster.Conduct("a=0:1,b=2:out decode c");
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(std::span(tokens).first(600));
  Answer(*conductor, sequence, Asking(10, 1));
  const uint64_t first = conductor->counters().transferred_bytes;
  ASSERT_EQ(first % 599, 0u);  // all but the last token
  const uint64_t row_bytes = first / 599;
  ASSERT_GT(row_bytes, 0u);
  // The decode path has the answer's rows, except for those of its last token.
  for (const int32_t token : std::span(tokens).subspan(600, 200)) sequence.Append(token);
  Answer(*conductor, sequence, Asking(1, 2));
  const uint64_t second = conductor->counters().transferred_bytes;
  EXPECT_EQ(second - first, (810 - 1 - 609) * row_bytes);
  // Another text with the same prefix lacks only the rows after it.
  engine::Sequence other = conductor->NewSequence();
  other.SetHistory(std::span(tokens).first(600));
  for (const int32_t token : std::span(tokens).first(100)) other.Append(token);
  Answer(*conductor, other, Asking(1, 3));
  const uint64_t third = conductor->counters().transferred_bytes;
  EXPECT_EQ(third - second, (700 - 1 - 600) * row_bytes);
  EXPECT_EQ(conductor->counters().transferred_prompts, 3u);
}

// The front end prefills in its own process, more than may be in flight at once; and the rows
// return to it where another node has decoded.
TEST(KvTransfer, AFrontEndStageSendsAndReceivesMoreThanMayBeInFlight) {
  const std::vector<int32_t> tokens = model::RandomTokens(900, kTestVocab);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  TestCluster cluster(2);
  plan::Plan plan = TestPlan("a=0:1,b=2:out decode b", 2);
  plan.stages[0].node = {.id = cluster.front().self(), .name = "front", .addresses = {}};
  for (const plan::PlanStage& stage : plan.AllStages())
    plan::TestModel::Get().Make(stage.slice, {});
  stage::TestSliceSource source;
  stage::StageServer own(cluster.front(), source, {.in_flight_bytes = 1});
  cluster.Start();
  // Fails rather than waiting for ever.
  ConductorOptions options;
  options.stall_ns = 30 * kNsPerSecond;
  Conductor conductor(cluster.front(), plan::TestModel::Get().route_model(), nullptr, plan, options,
                      nullptr, &own);
  ASSERT_TRUE(conductor.Open().ok());
  ComparedGenerators compared(conductor, scheduler);
  compared.SetHistory(tokens);
  compared.Answer(Asking(8, 1));
  EXPECT_EQ(conductor.counters().transferred_prompts, 1u);
  compared.Append(model::RandomTokens(700, kTestVocab, 2));
  compared.Answer(Asking(8, 2));
  EXPECT_EQ(conductor.counters().replans, 0u);
}

TEST(KvTransfer, AShortTurnPrefillsOnlyItsOwnTokens) {
  TestCluster cluster(3);
  const auto conductor = cluster.Conduct("a=0:1,b=2:out decode c");
  engine::Sequence sequence = conductor->NewSequence();
  sequence.SetHistory(model::RandomTokens(1000, kTestVocab));
  Answer(*conductor, sequence, Asking(40, 1));
  const uint64_t before = conductor->counters().prefill_tokens;
  for (const int32_t token : model::RandomTokens(24, kTestVocab)) sequence.Append(token);
  Answer(*conductor, sequence, Asking(4, 2));
  EXPECT_LE(conductor->counters().prefill_tokens - before, 25u);
}

// KV rows are exported from one topology and imported into another, and on one machine.
class RowsThatMove : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(RowsThatMove, AreContinued) {
  const std::vector<int32_t> tokens = model::RandomTokens(600, kTestVocab);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  TestCluster cluster(4);
  TestCluster elsewhere(4);
  const auto first = cluster.Conduct(GetParam().first);
  const auto second = elsewhere.Conduct(GetParam().second);
  engine::Sequence sequence = first->NewSequence();
  sequence.SetHistory(tokens);
  Answer(*first, sequence, Asking(30, 1));
  const uint32_t end = sequence.computed();
  ASSERT_EQ(end, 629u);

  std::vector<uint8_t> bytes;
  const Status exported = first->ExportRows(sequence, 0, end, [&](Bytes piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Ok();
  });
  ASSERT_TRUE(exported.ok()) << exported.error().message();
  EXPECT_FALSE(first->ExportRows(sequence, 0, end + 50, [](Bytes) { return Ok(); }).ok());

  engine::Sequence moved = second->NewSequence();
  moved.SetHistory(sequence.tokens());
  engine::Sequence expected = scheduler.NewSequence();
  expected.SetHistory(sequence.tokens());
  // Truncated rows are refused, and do no harm.
  EXPECT_FALSE(second->ImportRows(moved, Bytes(bytes).first(4000)).ok());
  ByteReader reader(bytes);
  while (!reader.at_end()) {
    // One KV chunk after the other.
    const Bytes rest = reader.ReadBytes(reader.left()).value();
    ByteReader chunk(rest);
    const kv::KvChunkHeader header = kv::ReadHeader(chunk).value();
    for (uint32_t i = 0; i < header.block_count; ++i) {
      ASSERT_TRUE(kv::ReadBlock(chunk, header.prefix_at_end).ok());
    }
    const size_t size = rest.size() - chunk.left();
    const Status imported = second->ImportRows(moved, rest.first(size));
    ASSERT_TRUE(imported.ok()) << imported.error().message();
    reader = ByteReader(rest.subspan(size));
  }
  EXPECT_EQ(moved.computed(), end);
  moved.Append(7);
  expected.Append(7);
  EXPECT_EQ(Answer(*second, moved, Asking(20, 2)), Answer(scheduler, expected, Asking(20, 2)));
  EXPECT_GE(second->counters().cached_tokens, end);
}

// Rows of a prompt are lost with the connection between two nodes, both of which the front end
// reaches: neither of them would ever send another message about the prompt.
TEST(LostRows, BreakTheRoute) {
  const std::vector<int32_t> tokens = model::RandomTokens(300, kTestVocab);
  const auto whole = plan::TestModel::Get().MakeWhole();
  SystemClock clock;
  engine::Scheduler scheduler(*whole, nullptr, clock);
  engine::Sequence here = scheduler.NewSequence();
  here.SetHistory(tokens);
  const plan::Plan next = TestPlan("c=0:out", 3);
  plan::TestModel::Get().Make(next.stages[0].slice, {});
  TestCluster cluster(3);
  ConductorOptions options;
  options.direct_tokens = 0;
  options.stall_ns = 20 * kNsPerSecond;
  std::vector<wire::NodeId> lost;
  const auto conductor = cluster.Conduct("a=0:out decode b=0:out", options,
                                         [&](const plan::Plan&, auto nodes, const Error&) {
                                           lost.assign(nodes.begin(), nodes.end());
                                           return next;
                                         });
  ASSERT_TRUE(conductor->Open().ok());
  cluster.hub().Delay(plan::TestNode(1), plan::TestNode(2), 3600 * kNsPerSecond);
  engine::Sequence there = conductor->NewSequence();
  there.SetHistory(tokens);
  engine::Request request = Asking(5, 1);
  bool is_cut = false;
  request.on_prefill = [&](uint64_t done, uint64_t) {
    if (done + 1 < tokens.size() || std::exchange(is_cut, true)) return;
    cluster.hub().Cut(plan::TestNode(1), plan::TestNode(2));
  };
  EXPECT_EQ(Answer(*conductor, there, request), Answer(scheduler, here, Asking(5, 1)));
  EXPECT_TRUE(is_cut);
  EXPECT_EQ(lost, std::vector{plan::TestNode(2)});
}

// A stage of the prefill path has computed the prompt and cannot send its rows: the request begins
// again.
TEST(LostRows, AreComputedAgainIfTheyCannotBeSent) {
  RecordingNetwork network;
  ConductorOptions options;
  options.direct_tokens = 0;
  Conductor conductor(network, plan::TestModel::Get().route_model(), nullptr,
                      TestPlan("a=0:out decode b=0:out", 2), options);
  const auto tell = [&](uint64_t node, wire::Message message) {
    conductor.Handle({.kind = net::Event::Kind::kMessage,
                      .from = plan::TestNode(node),
                      .message = std::move(message),
                      .why = Ok()});
    conductor.Tick();
  };
  engine::Sequence sequence = conductor.NewSequence();
  // Less than a page, for which no other node is asked.
  sequence.SetHistory(model::RandomTokens(100, kTestVocab));
  engine::Request request = Asking(5, 1);
  request.sequence = &sequence;
  const engine::RequestId id = conductor.Submit(std::move(request)).value();
  conductor.Tick();
  const wire::RouteId route = network.Take<wire::OpenRoute>().front().second.route;
  for (const uint64_t node : {1, 2}) {
    wire::RouteState ready{.route = route, .kind = wire::RouteState::Kind::kReady};
    ready.kv_positions = 1000;
    tell(node, std::move(ready));
  }
  const wire::Begin begin = network.Take<wire::Begin>().front().second;
  wire::Holds holds;
  holds.route = route;
  holds.sequence = begin.sequence;
  holds.epoch = begin.epoch;
  for (const uint32_t stage : {0, 1}) {
    holds.stage = stage;
    tell(stage + 1, holds);
  }
  uint32_t computed = 0;
  for (auto works = network.Take<wire::Work>(); !works.empty();
       works = network.Take<wire::Work>()) {
    for (const auto& [node, work] : works) {
      EXPECT_EQ(node, plan::TestNode(1));
      const wire::WorkSegment& segment = work.segments.at(0);
      computed = segment.begin + static_cast<uint32_t>(segment.tokens.size());
      wire::Done done{.route = route, .results = {}, .hops = {}, .logits = {}};
      wire::SegmentResult& result = done.results.emplace_back();
      result.sequence = segment.sequence;
      result.attempt = segment.attempt;
      result.end = computed;
      tell(1, std::move(done));
    }
  }
  EXPECT_EQ(computed, 99u);
  EXPECT_TRUE(network.Take<wire::Begin>().empty());
  holds.stage = 0;
  holds.why = Error(Code::kOutOfRange, "rows were freed");
  tell(1, holds);
  EXPECT_EQ(network.Take<wire::Begin>().size(), 2u);
  conductor.Cancel(id);
  conductor.Tick();
}

INSTANTIATE_TEST_SUITE_P(
    Topologies, RowsThatMove,
    testing::Values(std::pair("0:out", "0:0,1:1,2:2,3:out"), std::pair("0:0,1:2,3:out", "0:out"),
                    std::pair("a=0:1,b=2:out decode c", "0:1,2:out"),
                    std::pair("0:1,2:out", "a=0:0,b=1:out decode b"),
                    std::pair("a decode b", "b=0:2,c=3:out decode d=0:0,a=1:out"),
                    std::pair("a+b=0:out", "0:1,2:out"), std::pair("0:0,1:out", "b+a=0:out"),
                    std::pair("a+b=0:1,c=2:out", "d=0:0,c+b=1:out")));

}  // namespace
}  // namespace aster::conduct
