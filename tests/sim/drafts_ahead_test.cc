// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What draft tokens in flight gain, on a virtual clock: each row of a frame takes a known time at
// each stage, and a known share of the draft tokens is right.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/sanitized.h"
#include "conduct/conductor.h"
#include "engine/oracle_proposers.h"
#include "sim_network.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {
namespace {

constexpr int64_t kRowNs = 20 * kNsPerMs;
constexpr uint64_t kAnswerTokens = 160;
constexpr size_t kPromptTokens = 20;

struct DraftSetup {
  std::string split;
  double row_share = 1;           // of the first row's time, for each further row
  uint32_t accepted_percent = 0;  // of 100 draft tokens
  engine::DraftKind kind = engine::DraftKind::kNone;
  uint32_t most = 8;
  uint32_t frames = engine::kMostDrafts;  // in flight, at most
  uint64_t tokens = kAnswerTokens;
  std::string decode = "";  // the stages that decode, if others prefill
  uint32_t answers = 1;     // one after the other
  // The second row's share of the first row's time, if it differs from that of later rows.
  std::optional<double> second_share = {};
  // The time that the front end takes for a message, as a share of the first row's.
  double message_share = 0;
  // The time that a drafter at the front end takes for each call, likewise.
  double draft_share = 0;

  // The time of a frame of `rows` rows, in units of its first row's time.
  double RowsOf(uint32_t rows) const {
    return rows < 2 ? 1 : 1 + second_share.value_or(row_share) + row_share * (rows - 2);
  }
};

// A front end that takes some time for each message.
class Front final : public net::Network {
 public:
  Front(SimHub& hub, const wire::NodeId& id, double message_share)
      : hub_(hub), network_(hub, id), message_ns_(static_cast<int64_t>(message_share * kRowNs)) {}

  wire::NodeId self() const override { return network_.self(); }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>& at) override {
    network_.Introduce(node, at);
  }
  std::optional<net::Event> Receive(int64_t) override { return std::nullopt; }
  const Clock& clock() const override { return network_.clock(); }
  Status Send(const wire::NodeId& to, wire::Message message) override {
    Spend();
    hub_.SetSendDelay(busy_until_ns_ - clock().NowNs());
    Status sent = network_.Send(to, std::move(message));
    hub_.SetSendDelay(0);
    return sent;
  }
  // The time of one message.
  void Spend() { busy_until_ns_ = std::max(busy_until_ns_, clock().NowNs()) + message_ns_; }

 private:
  SimHub& hub_;
  SimNetwork network_;
  const int64_t message_ns_;
  int64_t busy_until_ns_ = 0;
};

// A node whose frames take the time of their rows.
class Worker final : public net::Network {
 public:
  // `asked` must outlive it.
  Worker(SimHub& hub, const wire::NodeId& id, const DraftSetup& setup, stage::SliceSource& source,
         const stage::StageOptions& options)
      : hub_(hub), network_(hub, id), setup_(setup), server_(*this, source, options) {
    hub.Add(id, [this](net::Event event) { Take(std::move(event)); });
  }

  wire::NodeId self() const override { return network_.self(); }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>& at) override {
    network_.Introduce(node, at);
  }
  std::optional<net::Event> Receive(int64_t) override { return std::nullopt; }
  const Clock& clock() const override { return network_.clock(); }
  // Results leave when they are computed, and carry the time of that.
  Status Send(const wire::NodeId& to, wire::Message message) override {
    std::vector<wire::Hop>* hops = nullptr;
    uint32_t rows = 0;
    if (auto* work = std::get_if<wire::Work>(&message)) {
      for (const auto& segment : work->segments) rows += TakeRows(segment.attempt, 0);
      hops = &work->hops;
    } else if (auto* done = std::get_if<wire::Done>(&message)) {
      for (const auto& result : done->results) rows += TakeRows(result.attempt, result.drafted);
      hops = &done->hops;
    }
    if (hops == nullptr) return network_.Send(to, std::move(message));
    // A result without hops belongs to a frame that was counted already: it is that of an accepted
    // draft token.
    if (!hops->empty()) {
      const auto cost_ns = static_cast<int64_t>(kRowNs * setup_.RowsOf(rows));
      hops->back().compute_ns = static_cast<uint64_t>(cost_ns);
      busy_until_ns_ = clock().NowNs() + cost_ns;
    }
    hub_.SetSendDelay(busy_until_ns_ - clock().NowNs());
    Status sent = network_.Send(to, std::move(message));
    hub_.SetSendDelay(0);
    return sent;
  }

  int64_t next_ns() const {
    return inbox_.empty() && !server_.has_work() ? kNeverNs : busy_until_ns_;
  }
  void Run() {
    if (busy_until_ns_ > clock().NowNs()) return;
    for (net::Event& event : std::exchange(inbox_, {})) server_.Handle(std::move(event));
    server_.Tick();
    if (server_.has_work()) server_.Compute();
  }

 private:
  void Take(net::Event event) {
    if (const auto* work = std::get_if<wire::Work>(&event.message)) {
      for (const auto& segment : work->segments) {
        rows_[segment.attempt] = static_cast<uint32_t>(segment.tokens.size());
      }
    }
    inbox_.push_back(std::move(event));
  }

  // The rows that were sent for the attempt, or those of a step that the stage began by itself.
  uint32_t TakeRows(uint64_t attempt, uint32_t drafted) {
    const auto sent = rows_.extract(attempt);
    return sent.empty() ? 1 + drafted : sent.mapped();
  }

  SimHub& hub_;
  SimNetwork network_;
  const DraftSetup& setup_;
  stage::StageServer server_;
  std::vector<net::Event> inbox_;
  std::map<uint64_t, uint32_t> rows_;  // rows of segments, by attempt
  int64_t busy_until_ns_ = 0;
};

// Drafters that take some time.
class SlowProposers final : public engine::ProposerSource {
 public:
  SlowProposers(engine::ProposerSource& source, VirtualClock& clock, double share)
      : source_(source), clock_(clock), each_ns_(static_cast<int64_t>(share * kRowNs)) {}
  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& request) override {
    return std::make_unique<Slow>(*this, TRY(source_.Make(request)));
  }

 private:
  class Slow final : public engine::Proposer {
   public:
    Slow(SlowProposers& source, std::unique_ptr<engine::Proposer> inner)
        : source_(source), inner_(std::move(inner)) {}
    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      source_.clock_.AdvanceBy(source_.each_ns_);
      return inner_->Propose(history, most, drafts);
    }

   private:
    SlowProposers& source_;
    const std::unique_ptr<engine::Proposer> inner_;
  };

  engine::ProposerSource& source_;
  VirtualClock& clock_;
  const int64_t each_ns_;
};

class DraftedLine {
 public:
  DraftedLine(const DraftSetup& setup, engine::OracleProposers& proposers)
      : random_(1),
        trace_(false),
        hub_(clock_, random_, trace_),
        setup_(setup),
        slow_(proposers, clock_, setup.draft_share) {
    const auto path = [](const std::string& text) {
      return plan::ParsePath(text, plan::kTestLayers, plan::TestNodes(4)).value();
    };
    plan::Plan plan{.stages = path(setup.split), .decode = {}};
    if (!setup.decode.empty()) plan.decode = path(setup.decode);
    const stage::StageOptions at_stage{.proposers = [&](auto&) { return proposers.Another(); }};
    for (const plan::PlanStage& stage : plan.AllStages()) {
      workers_.push_back(std::make_unique<Worker>(hub_, stage.node.id, setup_, source_, at_stage));
    }
    front_ = std::make_unique<Front>(hub_, plan::TestNode(99), setup.message_share);
    hub_.Add(front_->self(), [this](net::Event event) {
      front_->Spend();
      conductor_->Handle(std::move(event));
    });
    conduct::ConductorOptions options;
    options.id_seed = 1;
    options.proposers = &slow_;
    options.direct_tokens = 0;
    plan::RouteModel model = plan::TestModel::Get().route_model();
    model.shape.mtp_layers = 1;
    conductor_ = std::make_unique<conduct::Conductor>(*front_, model, nullptr, plan, options);
  }
  ~DraftedLine() { conductor_.reset(); }

  // The time from the first to the last token, summed over all answers.
  int64_t DecodeNs(std::vector<std::vector<int32_t>>& texts) {
    int64_t decode_ns = 0;
    for (uint32_t answer = 1; answer <= setup_.answers; ++answer) {
      engine::Sequence sequence = conductor_->NewSequence();
      sequence.SetHistory(model::RandomTokens(kPromptTokens, 298, answer));
      decode_ns += DecodeNs(sequence);
      texts.push_back(sequence.tokens());
    }
    return decode_ns;
  }
  // The number of prompt tokens that are computed for an answer and for the next turn, which
  // follows at once.
  uint64_t TokensOfTwoTurns() {
    engine::Sequence sequence = conductor_->NewSequence();
    sequence.SetHistory(model::RandomTokens(kPromptTokens, 298, 1));
    DecodeNs(sequence);
    for (const int32_t token : model::RandomTokens(kPromptTokens, 298, 2)) sequence.Append(token);
    DecodeNs(sequence);
    return counters().prefill_tokens;
  }
  const conduct::ConductorCounters& counters() const { return conductor_->counters(); }
  // The decoding time up to each token, over all answers.
  const std::vector<int64_t>& token_ns() const { return token_ns_; }

 private:
  int64_t DecodeNs(engine::Sequence& sequence) {
    int64_t first_ns = 0, last_ns = 0;
    const int64_t before_ns = token_ns_.empty() ? 0 : token_ns_.back();
    engine::Request request;
    request.sequence = &sequence;
    request.max_tokens = setup_.tokens;
    request.context_limit = 10000;
    request.draft = {.kind = setup_.kind, .most = setup_.most, .frames = setup_.frames};
    request.on_token = [&](const engine::Delta&) {
      last_ns = clock_.NowNs();
      if (first_ns == 0) first_ns = last_ns;
      token_ns_.push_back(before_ns + last_ns - first_ns);
    };
    CHECK(conductor_->Submit(std::move(request)).ok());
    while (!conductor_->idle()) Step();
    return last_ns - first_ns;
  }

  void Step() {
    conductor_->Tick();
    int64_t next_ns = std::min(hub_.next_ns(), conductor_->next_tick_ns());
    for (const auto& worker : workers_) next_ns = std::min(next_ns, worker->next_ns());
    clock_.AdvanceTo(std::max(next_ns, clock_.NowNs()));
    while (hub_.next_ns() <= clock_.NowNs()) hub_.DeliverNext();
    for (const auto& worker : workers_) worker->Run();
  }

  VirtualClock clock_;
  Random random_;
  Trace trace_;
  SimHub hub_;
  const DraftSetup setup_;
  SlowProposers slow_;
  std::vector<int64_t> token_ns_;
  stage::TestSliceSource source_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<conduct::Conductor> conductor_;
};

struct Gain {
  double rate = 0;      // relative to plain decode
  double expected = 0;  // likewise
};

// The gain over plain decode of n equal stages: with frames of w rows that follow each other and
// are cancelled at the first wrong token, or with one frame at a time, whichever w is best.
// `plain_rows`: the time of a token without draft tokens, in units of a row's time.
double ExpectedGain(const DraftSetup& setup, double rate, double plain_rows) {
  const auto n = static_cast<double>(1 + std::ranges::count(setup.split, ','));
  // A single node continues by itself without draft tokens; a step with draft tokens begins and
  // ends at the front end, by messages of 2.5 ms on average.
  const double hop = n > 1 ? plain_rows / n - 1 : 5.0 * kNsPerMs / kRowNs;
  double best = 1;
  for (uint32_t rows = 1; rows <= setup.most + 1; ++rows) {
    const double stage = setup.RowsOf(rows) + hop;
    const double whole = std::pow(rate, rows);
    const double single = (1 - whole) / (1 - rate) / (n * stage);
    const double ahead = 1 / (1 - rate) / (stage * (n + whole / (1 - whole)));
    best =
        std::max({best, single * plain_rows, setup.frames > 1 && n > 1 ? ahead * plain_rows : 0});
  }
  return best;
}

// The time without draft tokens, divided by the time with them.
Gain Measure(const DraftSetup& setup) {
  engine::OracleProposers proposers(setup.accepted_percent);
  DraftSetup plain = setup;
  plain.kind = engine::DraftKind::kNone;
  std::vector<std::vector<int32_t>> texts, drafted_texts;
  const int64_t plain_ns = DraftedLine(plain, proposers).DecodeNs(texts);
  for (const auto& text : texts) proposers.AddText(text, kPromptTokens);
  DraftedLine drafted(setup, proposers);
  const int64_t drafted_ns = drafted.DecodeNs(drafted_texts);
  EXPECT_EQ(texts, drafted_texts);
  const double plain_rows = static_cast<double>(plain_ns) / setup.answers /
                            (static_cast<double>(setup.tokens - 1) * kRowNs);
  const Gain gain{.rate = static_cast<double>(plain_ns) / static_cast<double>(drafted_ns),
                  .expected = ExpectedGain(setup, proposers.AcceptanceRate(), plain_rows)};
  std::printf(
      "%s, %u frames at most, a row %.2f, %.1f %% right: %.2f, and %.2f by the formula (%llu "
      "frames ahead, %llu cancelled; %llu bubbles filled)\n",
      setup.split.c_str(), setup.frames, setup.row_share, 100 * proposers.AcceptanceRate(),
      gain.rate, gain.expected, static_cast<unsigned long long>(drafted.counters().frames_ahead),
      static_cast<unsigned long long>(drafted.counters().frames_ahead_cancelled),
      static_cast<unsigned long long>(drafted.counters().bubbles_filled));
  return gain;
}

double GainOf(const DraftSetup& setup) { return Measure(setup).rate; }

using engine::DraftKind;

TEST(DraftsAhead, FillTheStagesThatWouldBeIdle) {
  // A row costs as much as a token, so only frames in flight can gain.
  EXPECT_GT(GainOf({"0:1,2:out", 1, 70, DraftKind::kModel}), 1.4);
  EXPECT_GT(GainOf({"0:1,2:out", 1, 90, DraftKind::kModel}), 1.65);
  EXPECT_GT(GainOf({"0:0,1:1,2:2,3:out", 1, 70, DraftKind::kModel}), 1.8);
  // With cheaper rows, larger frames gain as well.
  EXPECT_GT(GainOf({"0:1,2:out", 0.3, 70, DraftKind::kNgram}), 1.5);
}

// Gains come close to those of a formula, for a single node, for one frame at a time, and for
// frames in flight. They stay below it because times and acceptance rates must be learnt first.
TEST(DraftsAhead, GainsAreThoseOfTheModel) {
  if (kSanitized)
    GTEST_SKIP() << "the numbers are the same in every build, and take long with sanitizers";
  for (const double row_share : {0.05, 0.6}) {
    for (const uint32_t accepted_percent : {30U, 70U, 90U}) {
      DraftSetup setup{"0:out", row_share, accepted_percent, DraftKind::kModel};
      setup.tokens = 4 * kAnswerTokens;
      const Gain one = Measure(setup);
      EXPECT_GT(one.rate, 0.85 * one.expected);
      for (const char* const split : {"0:1,2:out", "0:0,1:1,2:2,3:out"}) {
        for (const uint32_t frames : {1U, engine::kMostDrafts}) {
          setup = {split, row_share, accepted_percent, DraftKind::kModel};
          setup.frames = frames;
          setup.tokens = 2 * kAnswerTokens;
          const Gain gain = Measure(setup);
          EXPECT_GT(gain.rate, 0.85 * gain.expected);
        }
      }
    }
  }
}

// Other nodes compute the prompt. They have the rows of the answer when the next prompt comes.
TEST(DraftsAhead, FillStagesThatDecodeAfterPrefillNodes) {
  DraftSetup setup{"a=0:1,b=2:out", 1, 70, DraftKind::kModel};
  setup.decode = "c=0:1,d=2:out";
  EXPECT_GT(GainOf(setup), 1.4);
  setup.kind = DraftKind::kMtp;
  EXPECT_GT(GainOf(setup), 1.2);
  engine::OracleProposers proposers(setup.accepted_percent);
  std::vector<std::vector<int32_t>> texts;
  setup.kind = DraftKind::kNone;
  DraftedLine(setup, proposers).DecodeNs(texts);
  proposers.AddText(texts.front(), kPromptTokens);
  setup.kind = DraftKind::kModel;
  // All of the answer's rows have arrived but the last part. (Less than a page is not fetched.)
  setup.tokens = 100;
  EXPECT_LT(DraftedLine(setup, proposers).TokensOfTwoTurns(), 2 * kPromptTokens + 64);
}

TEST(DraftsAhead, TheBlockBesideTheHeadFillsThemToo) {
  EXPECT_GT(GainOf({"0:1,2:out", 1, 70, DraftKind::kMtp}), 1.2);
}

TEST(DraftsAhead, NothingIsLostWhereDraftTokensAreWrong) {
  if (kSanitized)
    GTEST_SKIP() << "the numbers are the same in every build, and take long with sanitizers";
  for (const uint32_t accepted_percent : {0U, 5U, 20U}) {
    for (const double row_share : {0.3, 1.0}) {
      EXPECT_GT(GainOf({"0:1,2:out", row_share, accepted_percent, DraftKind::kModel}), 0.98);
    }
    EXPECT_GT(GainOf({"0:0,1:1,2:2,3:out", 1, accepted_percent, DraftKind::kModel}), 0.98);
  }
  EXPECT_GT(GainOf({"0:1,2:out", 1, 5, DraftKind::kMtp}), 0.98);
  // A single node continues by itself; the front end asks it for every token only if draft tokens
  // pay.
  for (const uint32_t accepted_percent : {0U, 20U}) {
    DraftSetup setup{"0:out", 1, accepted_percent, DraftKind::kModel};
    // The cost of trying draft tokens is limited to eight steps and a hundredth of the time.
    setup.tokens = 1000;
    EXPECT_GT(GainOf(setup), 0.975);
  }
}

// The most that answers with draft tokens were behind those without, at any token and beyond a
// hundredth of the time; in units of a token's time.
double MostBehind(const DraftSetup& setup, const std::function<bool(size_t)>& is_right) {
  engine::OracleProposers proposers(is_right);
  DraftSetup plain_asked = setup;
  plain_asked.kind = engine::DraftKind::kNone;
  std::vector<std::vector<int32_t>> texts, drafted_texts;
  DraftedLine plain(plain_asked, proposers);
  plain.DecodeNs(texts);
  for (const auto& text : texts) proposers.AddText(text, kPromptTokens);
  DraftedLine drafted(setup, proposers);
  drafted.DecodeNs(drafted_texts);
  EXPECT_EQ(texts, drafted_texts);
  const std::vector<int64_t>& without = plain.token_ns();
  const std::vector<int64_t>& with = drafted.token_ns();
  EXPECT_EQ(without.size(), with.size());
  const double token_ns = static_cast<double>(without.back()) / static_cast<double>(without.size());
  double behind = 0;
  for (size_t i = 0; i < std::min(with.size(), without.size()); ++i) {
    const double late_ns = static_cast<double>(with[i]) - 1.01 * static_cast<double>(without[i]);
    behind = std::max(behind, late_ns / token_ns);
  }
  return behind;
}

// Whichever draft tokens are right and however long drafting takes, at most eight tokens' time and
// a hundredth of the time are lost; and in addition the first try, whose cost is not known before.
TEST(DraftsAhead, LossesStayWithinTheBudget) {
  if (kSanitized)
    GTEST_SKIP() << "the numbers are the same in every build, and take long with sanitizers";
  const std::vector<std::pair<const char*, std::function<bool(size_t)>>> fates = {
      {"never right", [](size_t) { return false; }},
      {"in turns", [](size_t at) { return at % 2 == 0; }},
      {"in turns of 16", [](size_t at) { return at / 16 % 2 == 0; }},
      {"well, then badly", [](size_t at) { return at < 120; }},
      {"badly, then well", [](size_t at) { return at >= 120; }},
  };
  for (const auto& [name, is_right] : fates) {
    for (const char* const split : {"0:out", "0:1,2:out", "0:0,1:1,2:2,3:out"}) {
      for (const double row_share : {0.3, 1.0}) {
        for (const double message_share : {0.0, 0.2}) {
          for (const double draft_share : {0.0, 3.0}) {
            DraftSetup setup{split, row_share, 0, DraftKind::kModel};
            setup.answers = 3;
            setup.tokens = 200;
            setup.message_share = message_share;
            setup.draft_share = draft_share;
            // A node that would continue by itself also loses the time of messages to the front end
            // and back.
            const double on_the_way = split == std::string("0:out") ? 6 + 25 * message_share : 0;
            EXPECT_LT(MostBehind(setup, is_right), 9 + 4 * draft_share + on_the_way)
                << name << ", " << split << ", a row " << row_share << ", a message "
                << message_share << ", drafting " << draft_share;
          }
        }
      }
    }
  }
}

// In mixtures of experts, the second row of a frame chooses other experts than the first, and later
// rows fewer and fewer new ones. Answers are short, so a few of them must teach the times of
// frames.
TEST(DraftsAhead, ManyRowsAreTriedWhereTheSecondIsExpensive) {
  for (const uint32_t accepted_percent : {50U, 70U, 90U}) {
    DraftSetup setup{"0:1,2:out", 0.2, accepted_percent, DraftKind::kModel};
    setup.second_share = 0.7;
    setup.answers = 6;
    setup.tokens = 96;
    const Gain gain = Measure(setup);
    EXPECT_GT(gain.rate, 0.85 * gain.expected);
  }
}

// Cancelled frames cost the front end at least messages, whose time no stage reports.
TEST(DraftsAhead, NothingIsLostToMessages) {
  for (const double message_share : {0.05, 0.2}) {
    for (const uint32_t accepted_percent : {0U, 12U, 30U}) {
      DraftSetup setup{"0:1,2:out", 0.3, accepted_percent, DraftKind::kNgram};
      setup.message_share = message_share;
      setup.answers = 6;
      setup.tokens = 61;
      EXPECT_GT(GainOf(setup), 0.98);
    }
  }
}

}  // namespace
}  // namespace aster::sim
