// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The time of a token on one node, in a pipeline and in a group, on a virtual clock: up to four
// machines with a memory each, links of three speeds, and small models whose layers take as long as
// those of large ones. Real nodes exchange real messages; only weights take a known time. The
// planner's predictions are compared with it. Also the times of several prompts or answers.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/sanitized.h"
#include "conduct/conductor.h"
#include "engine/answers_for_test.h"
#include "plan/group_search.h"
#include "plan/planner.h"
#include "sim_network.h"
#include "stage/slice_source_for_test.h"
#include "stage/stage_server.h"

namespace aster::sim {
namespace {

using model::Arch;
using model::Shape;

constexpr Hash128 kFingerprint{7, 8};
constexpr uint32_t kPrompt = 2;

// A small model that stands for a large one of the same family.
struct Stand {
  std::string name;
  Shape shape;
  gguf::TensorType type;
  double layer_s;         // time of a token in a layer of the large model, on one machine
  double gathered_bytes;  // sent for it between the nodes of a group
};

Shape Wide(Shape shape) {
  shape.layer_count = 4;
  shape.vocab_size = 320;
  shape.head_count = 8;
  shape.kv_head_count = 4;
  shape.head_dim = 32;
  shape.rope.dimensions = 32;
  shape.feed_forward = 1024;
  return shape;
}

// Llama of 1.2 B parameters in Q8_0, Qwen3-30B-A3B and DeepSeek V4 Flash, with the times of a core.
std::vector<Stand> Stands() {
  Shape mixture = Wide(model::SmallShape(Arch::kQwen3Moe));
  Shape latent = model::ShapeOfPreset("flash-shape-tiny").value();
  latent.vocab_size = 320;
  latent.mtp_layers = 0;
  latent.layer_count = 4;
  latent.latent.ratios = {0, 4, 128, 4};
  latent.head_count = 8;
  latent.latent.output_groups = 4;
  return {
      {"Llama 1B", Wide(model::SmallShape(Arch::kLlama)), gguf::TensorType::kQ8_0, 4.9e-3, 27904},
      {"Qwen3-30B-A3B", mixture, gguf::TensorType::kQ4_K, 3.2e-3, 45120},
      {"DeepSeek V4 Flash", latent, gguf::TensorType::kQ8_0, 15e-3, 58112}};
}

struct Way {
  std::string name;
  double latency_s;
  double bytes_per_s;
};
const Way kWays[] = {
    {"loopback", 5e-6, 3e9}, {"0.2ms,10Gbit", 0.2e-3, 1.25e9}, {"1ms,1Gbit", 1e-3, 0.125e9}};

double BytesOf(const compute::ExpertWeights& of) {
  return static_cast<double>(of.gate.bytes() + of.up.bytes() + of.down.bytes());
}

// The bytes of a layer's matrices that a token reads.
double ReadBytes(const Shape& shape, const model::LayerWeights& of) {
  double bytes = static_cast<double>(of.query.bytes() + of.key.bytes() + of.value.bytes() +
                                     of.output.bytes() + of.router.bytes());
  bytes += BytesOf(of.dense) + BytesOf(of.shared);
  const model::LatentWeights& latent = of.latent;
  for (const compute::Matrix* matrix :
       {&latent.query_low, &latent.query_high, &latent.row, &latent.output_high,
        &latent.compressor.values, &latent.compressor.scores, &latent.index_compressor.values,
        &latent.index_compressor.scores, &latent.index_query, &latent.index_heads,
        &of.attention_mix.mix, &of.feed_forward_mix.mix}) {
    bytes += static_cast<double>(matrix->bytes());
  }
  for (const compute::Matrix& low : latent.output_low) bytes += static_cast<double>(low.bytes());
  double experts = 0;
  for (const compute::ExpertWeights& expert : of.experts) experts += BytesOf(expert);
  return bytes + (experts > 0 ? experts * shape.experts.used / shape.experts.count : 0);
}

// The model of a test, and its slices.
class Model {
 public:
  explicit Model(const Stand& stand) : file_(stand.shape, stand.type), shape_(stand.shape) {}

  const gguf::ModelFiles& files() const { return file_.files(); }
  const Shape& shape() const { return shape_; }
  const engine::LocalModel& Packed(const model::Slice& slice) {
    for (const auto& known : packed_) {
      if (known->weights().slice == slice) return *known;
    }
    engine::LocalModelOptions options;
    options.threads = 1;
    options.slice = slice;
    return *packed_.emplace_back(engine::LocalModel::Load(files(), options).value());
  }

 private:
  model::ModelFile file_;
  const Shape shape_;
  std::vector<std::unique_ptr<engine::LocalModel>> packed_;
};

// The times of a node's part: of each layer's steps, and of the head.
struct Costs {
  std::vector<double> layers_s;
  double head_s = 0;
};

class Source final : public stage::SliceSource {
 public:
  Source(Model& model, double bytes_per_s) : model_(model), bytes_per_s_(bytes_per_s) {}

  Result<std::unique_ptr<stage::SliceLoading>> Start(const stage::SliceRequest& request) override {
    const engine::LocalModel& packed = model_.Packed(request.slice);
    costs_ = {};
    for (const model::LayerWeights& layer : packed.weights().layers)
      costs_.layers_s.push_back(ReadBytes(model_.shape(), layer) / bytes_per_s_);
    costs_.head_s = static_cast<double>(packed.weights().head.bytes()) / bytes_per_s_;
    return std::make_unique<Loading>(packed, request);
  }
  const Costs& costs() const { return costs_; }

 private:
  class Loading final : public stage::SliceLoading {
   public:
    Loading(const engine::LocalModel& packed, const stage::SliceRequest& request)
        : packed_(packed), request_(request) {}
    Progress progress() const override { return {.done_bytes = 1, .total_bytes = 1}; }
    uint64_t reserved_bytes() const override { return 0; }
    std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() override {
      engine::LocalModelOptions options;
      options.threads = 1;
      options.slice = request_.slice;
      options.memory = request_.memory;
      options.memory_bytes = uint64_t{1} << 26;
      options.name = request_.memory_name;
      return engine::LocalModel::ShareWeights(packed_, options);
    }

   private:
    const engine::LocalModel& packed_;
    const stage::SliceRequest request_;
  };

  Model& model_;
  const double bytes_per_s_;
  Costs costs_;
};

int64_t Ns(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

// A node that takes a known time for what it computes; its messages leave after that. `more_rows`:
// the time of each further row of a frame, as a share of the first row's.
class TimedNode final : public net::Network {
 public:
  TimedNode(SimHub& hub, const wire::NodeId& id, Model& model, double bytes_per_s, double more_rows,
            const stage::StageOptions& options)
      : hub_(hub),
        network_(hub, id),
        source_(model, bytes_per_s),
        more_rows_(more_rows),
        steps_of_layer_(4),
        server_(*this, source_, options) {
    hub.Add(id, [this](net::Event event) { inbox_.push_back(std::move(event)); });
  }

  wire::NodeId self() const override { return network_.self(); }
  void Introduce(const wire::NodeId& node, const std::vector<std::string>& at) override {
    network_.Introduce(node, at);
  }
  std::optional<net::Event> Receive(int64_t) override { return std::nullopt; }
  const Clock& clock() const override { return network_.clock(); }
  Status Send(const wire::NodeId& to, wire::Message message) override {
    NoteRows(message);
    if (const auto* work = std::get_if<wire::Work>(&message); work != nullptr && work->job != 0)
      ++others_of_job_[work->job];
    Charge(message);
    hub_.SetSendDelay(std::max<int64_t>(0, busy_until_ns_ - clock().NowNs()));
    Status sent = network_.Send(to, std::move(message));
    hub_.SetSendDelay(0);
    return sent;
  }

  int64_t next_ns() const {
    return inbox_.empty() && !server_.has_work() ? kNeverNs : busy_until_ns_;
  }
  void Run() {
    if (busy_until_ns_ > clock().NowNs()) return;
    for (net::Event& event : std::exchange(inbox_, {})) {
      NoteRows(event.message);
      NoteLastStep(event.message);
      server_.Handle(std::move(event));
    }
    server_.Tick();
    if (!server_.has_work()) return;
    server_.Compute();
    ChargeHeads();
  }
  // Counts of the last token, if the node leads a group.
  uint64_t gathers() const { return gathers_; }
  uint64_t gather_bytes() const { return gather_bytes_; }

 private:
  uint32_t GathersOf() const {
    return static_cast<uint32_t>(source_.costs().layers_s.size()) * steps_of_layer_ + 1;
  }
  // The leading node's Work message says how many rows a job has.
  void NoteRows(const wire::Message& message) {
    const auto* const work = std::get_if<wire::Work>(&message);
    if (work == nullptr || work->job == 0) return;
    size_t rows = 0;
    for (const wire::WorkSegment& segment : work->segments) rows += segment.tokens.size();
    rows_of_job_[work->job] = rows;
  }
  // Rows of the head come last: the leading node sends none of them, and computes its own after the
  // rows of the last layer.
  void NoteLastStep(const wire::Message& message) {
    const auto* const rows = std::get_if<wire::PartRows>(&message);
    if (rows != nullptr && rows->gather + 2 == GathersOf() && others_of_job_.contains(rows->job))
      ++last_steps_[rows->job];
  }
  void ChargeHeads() {
    std::erase_if(last_steps_, [this](const auto& item) {
      if (item.second < others_of_job_.at(item.first)) return false;
      busy_until_ns_ = std::max(busy_until_ns_, clock().NowNs()) +
                       Ns(AsOne(item.first) * source_.costs().head_s);
      return true;
    });
  }
  // The time of a job's rows, in units of one row's time.
  double AsOne(uint64_t job) const {
    return 1 + more_rows_ * (static_cast<double>(rows_of_job_.at(job)) - 1);
  }
  // Adds the time of what was computed for the message.
  void Charge(const wire::Message& message) {
    const Costs& costs = source_.costs();
    const int64_t now_ns = clock().NowNs();
    busy_until_ns_ = std::max(busy_until_ns_, now_ns);
    if (const auto* rows = std::get_if<wire::PartRows>(&message)) {
      // The same rows go to each of the other nodes, but are computed once.
      if (std::exchange(last_gather_, std::pair(rows->job, rows->gather)) ==
          std::pair(rows->job, rows->gather)) {
        return;
      }
      const size_t layer = rows->gather / steps_of_layer_;
      busy_until_ns_ += Ns(AsOne(rows->job) * (layer < costs.layers_s.size()
                                                   ? costs.layers_s[layer] / steps_of_layer_
                                                   : costs.head_s));
      return;
    }
    const auto* const done = std::get_if<wire::Done>(&message);
    const auto* const work = std::get_if<wire::Work>(&message);
    // Nothing was computed for a message without times, or for a leader's message to its group.
    const bool has_hops = (done != nullptr && !done->hops.empty()) ||
                          (work != nullptr && work->job == 0 && !work->hops.empty());
    if (!has_hops) return;
    const wire::Hop& hop = done != nullptr ? done->hops.back() : work->hops.back();
    if (hop.gathers > 0) {
      gathers_ = hop.gathers;
      gather_bytes_ = hop.gather_bytes;
    } else {
      busy_until_ns_ +=
          Ns(std::accumulate(costs.layers_s.begin(), costs.layers_s.end(), 0.0) + costs.head_s);
    }
  }

  SimHub& hub_;
  SimNetwork network_;
  Source source_;
  const double more_rows_;
  std::map<uint64_t, size_t> rows_of_job_;
  const uint32_t steps_of_layer_;
  stage::StageServer server_;
  std::vector<net::Event> inbox_;
  std::pair<uint64_t, uint32_t> last_gather_ = {0, 0};
  // For each job that this node leads: the number of other nodes, and how many of them have sent
  // their rows of the last layer.
  std::map<uint64_t, size_t> others_of_job_;
  std::map<uint64_t, size_t> last_steps_;
  int64_t busy_until_ns_ = 0;
  uint64_t gathers_ = 0;
  uint64_t gather_bytes_ = 0;
};

// A plan with nodes that execute it.
class Route {
 public:
  Route(Model& model, const plan::Plan& plan, double bytes_per_s, SimHub::Link link,
        double more_rows = 0, stage::StageOptions stage_options = {})
      : random_(1),
        trace_(false),
        hub_(clock_, random_, trace_),
        more_rows_(more_rows),
        stage_options_(std::move(stage_options)) {
    const plan::PlanStage& first = plan.stages.front();
    const wire::NodeId front = plan::TestNode(99);
    link.together = {first.node.id, front};
    hub_.SetLink(link);
    for (const plan::PlanStage& stage : plan.stages) {
      AddMachine(stage.node.id, model, bytes_per_s);
      for (const plan::PlanNode& member : stage.members) AddMachine(member.id, model, bytes_per_s);
    }
    front_ = std::make_unique<SimNetwork>(hub_, front);
    hub_.Add(front, [this](net::Event event) { conductor_->Handle(std::move(event)); });
    conduct::ConductorOptions options;
    options.id_seed = 1;
    conductor_ = std::make_unique<conduct::Conductor>(
        *front_, plan::RouteModel{.shape = model.shape(), .fingerprint = kFingerprint}, nullptr,
        plan, options);
  }
  ~Route() { conductor_.reset(); }

  // The time between two tokens of an answer.
  double TokenSeconds() {
    constexpr uint64_t kFew = 4, kMany = 16;
    TimeOf(1);  // opens the route
    const int64_t few_ns = TimeOf(kFew), many_ns = TimeOf(kMany);
    return static_cast<double>(many_ns - few_ns) / (kMany - kFew) / 1e9;
  }
  // The time between two tokens of all answers.
  double RoundSeconds(size_t answers, bool one_by_one = false) {
    constexpr uint64_t kFew = 16, kMany = 64;
    TimeOf(32, answers);  // turns are tried during these tokens
    const int64_t few_ns = TimeOf(kFew, answers, kPrompt, one_by_one);
    const int64_t many_ns = TimeOf(kMany, answers, kPrompt, one_by_one);
    return static_cast<double>(many_ns - few_ns) / (kMany - kFew) / 1e9;
  }
  // The time of prompts that come at once.
  double PrefillSeconds(size_t prompts, uint32_t length) {
    TimeOf(1);
    return static_cast<double>(TimeOf(1, prompts, length)) / 1e9;
  }
  const TimedNode& leader() const { return *machines_.front(); }

 private:
  void AddMachine(const wire::NodeId& id, Model& model, double bytes_per_s) {
    machines_.push_back(
        std::make_unique<TimedNode>(hub_, id, model, bytes_per_s, more_rows_, stage_options_));
  }

  // The time until all requests have their tokens. They come at once, or each when the one before
  // it has been answered for a while.
  int64_t TimeOf(uint64_t tokens, size_t requests = 1, uint32_t prompt = kPrompt,
                 bool one_by_one = false) {
    std::vector<engine::Sequence> sequences;
    sequences.reserve(requests);
    uint64_t count = 0;
    const int64_t start_ns = clock_.NowNs();
    for (size_t i = 0; i < requests; ++i) {
      while (one_by_one && count < 3 * i) Step();
      sequences.push_back(conductor_->NewSequence());
      sequences.back().SetHistory(model::RandomTokens(prompt, 298, ++requests_));
      engine::Request request;
      request.sequence = &sequences.back();
      request.max_tokens = tokens;
      request.context_limit = 2000;
      request.on_token = [&](const engine::Delta&) { ++count; };
      request.on_finish = [](const engine::Finish& finish) { CHECK(finish.status.ok()); };
      CHECK(conductor_->Submit(std::move(request)).ok());
    }
    while (!conductor_->idle()) Step();
    CHECK(count == tokens * requests);
    return clock_.NowNs() - start_ns;
  }

  void Step() {
    conductor_->Tick();
    int64_t next_ns = std::min(hub_.next_ns(), conductor_->next_tick_ns());
    for (const auto& machine : machines_) next_ns = std::min(next_ns, machine->next_ns());
    clock_.AdvanceTo(std::max(next_ns, clock_.NowNs()));
    while (hub_.next_ns() <= clock_.NowNs()) hub_.DeliverNext();
    for (const auto& machine : machines_) machine->Run();
  }

  VirtualClock clock_;
  Random random_;
  Trace trace_;
  SimHub hub_;
  const double more_rows_;
  const stage::StageOptions stage_options_;
  std::vector<std::unique_ptr<TimedNode>> machines_;
  std::unique_ptr<SimNetwork> front_;
  std::unique_ptr<conduct::Conductor> conductor_;
  uint64_t requests_ = 0;
};

// What the planner knows: the rates of machines, as slow as the model is small, and the links.
struct Problem {
  std::vector<plan::NodeAbility> nodes;
  std::vector<plan::LinkAbility> links;
  plan::ModelLoad load;
  plan::PlannerOptions options;
  double bytes_per_s = 0;  // of a machine's memory
  SimHub::Link link;
};

Problem ProblemOf(Model& model, const Stand& stand, const Way& way, size_t count) {
  Problem problem;
  problem.load = plan::LoadOf(model.files(), {}, /*kv_positions=*/1024, /*context=*/16).value();
  double read = 0;
  for (const plan::ModelLoad::Layer& layer : problem.load.layers) read += layer.read_bytes;
  problem.bytes_per_s = read / model.shape().layer_count / stand.layer_s;
  const double rate = way.bytes_per_s * static_cast<double>(problem.load.together.gathered_bytes) /
                      stand.gathered_bytes;
  // Both ends of a message spend a time that measurements of the link do not show.
  problem.link = {.latency_ns = Ns(way.latency_s + plan::kGatherOverheadS), .bytes_per_s = rate};
  for (const plan::PlanNode& node : plan::TestNodes(count)) {
    problem.nodes.push_back({.node = node,
                             .memory_bytes = uint64_t{1} << 34,
                             .multiply_flops_per_s = 1e15,
                             .memory_bytes_per_s = problem.bytes_per_s,
                             .may_own_experts = false});
  }
  for (size_t from = 0; from < count; ++from) {
    for (size_t to = 0; to < count; ++to) {
      if (from == to) continue;
      problem.links.push_back(
          {.from = from, .to = to, .round_trip_s = 2 * way.latency_s, .bytes_per_s = rate});
    }
  }
  problem.options.may_choose = true;
  problem.options.prompt_tokens = kPrompt;
  problem.options.answer_tokens = 16;
  return problem;
}

// A pipeline with equal numbers of layers.
plan::Plan Pipeline(size_t count) {
  constexpr const char* kSplits[] = {"a=0:out", "a=0:1,b=2:out", "a=0:1,b=2:2,c=3:out",
                                     "a=0:0,b=1:1,c=2:2,d=3:out"};
  return plan::ParseSplit(kSplits[count - 1], 4, plan::TestNodes(count)).value();
}

// A cell of the table: the times of plans, and the shortest of them.
class Cell {
 public:
  Cell(Model& model, const Problem& problem, std::string title)
      : model_(model), problem_(problem), line_(std::move(title)) {}

  // The seconds of a token.
  double Measure(const std::string& kind, const plan::Plan& plan, double predicted_s) {
    Route route(model_, plan, problem_.bytes_per_s, problem_.link);
    const double token_s = route.TokenSeconds();
    line_ += fmt::format("  {} {:.2f} ({:.2f})", kind, 1e3 * token_s, 1e3 * predicted_s);
    EXPECT_NEAR(predicted_s, token_s, 0.15 * token_s) << line_;
    best_s_ = std::min(best_s_, token_s);
    return token_s;
  }
  double best_s() const { return best_s_; }
  const std::string& line() const { return line_; }

 private:
  Model& model_;
  const Problem& problem_;
  std::string line_;
  double best_s_ = 1e9;
};

class GroupTimes : public testing::TestWithParam<size_t> {};

// The cells of the table: each link, with one to four nodes.
TEST_P(GroupTimes, ThePlannerTakesTheFastestKind) {
  if (kSanitized && GetParam() > 0) GTEST_SKIP() << "sanitizer builds test one model only";
  const Stand stand = Stands()[GetParam()];
  Model model(stand);
  fmt::print("{}: ms a token, predicted in brackets\n", stand.name);
  for (const Way& way : kWays) {
    for (size_t count = 1; count <= 4; ++count) {
      const Problem problem = ProblemOf(model, stand, way, count);
      const plan::SplitPlan split =
          plan::PlanSplit(problem.nodes, problem.links, problem.load, problem.options).value();
      Cell cell(model, problem, fmt::format("{:13} {} nodes", way.name, count));
      std::string taken;
      double taken_s = 0;
      for (const plan::Alternative& kind : split.alternatives) {
        if (!kind.plan || !kind.plan->decode.empty()) continue;
        const double token_s = cell.Measure(kind.kind, *kind.plan, 1 / kind.decode_tokens_per_s);
        if (!kind.is_taken) continue;
        taken = kind.kind;
        taken_s = token_s;
      }
      if (count > 1) {
        const plan::Plan pipeline = Pipeline(count);
        const auto predicted = plan::PredictPlan(problem.nodes, problem.links, problem.load,
                                                 problem.options, pipeline);
        cell.Measure("a pipeline of all nodes", pipeline, 1 / predicted->decode_tokens_per_s);
      }
      fmt::print("{}: {}\n", cell.line(), taken);
      EXPECT_GT(taken_s, 0) << cell.line();
      EXPECT_LE(taken_s, 1.1 * cell.best_s()) << cell.line();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GroupTimes, testing::Values(0, 1, 2));

// Four nodes with a memory each; they send each other the computed number of bytes.
TEST(GroupOfFour, IsThreeTimesAsFastAsOneNode) {
  const Stand stand = Stands()[0];
  Model model(stand);
  const Problem problem = ProblemOf(model, stand, kWays[0], 4);
  const auto route_of = [&](const char* split) {
    const plan::Plan plan =
        plan::ParseSplit(split, stand.shape.layer_count, plan::TestNodes(4)).value();
    return std::make_unique<Route>(model, plan, problem.bytes_per_s, problem.link);
  };
  const double one_s = route_of("a=0:out")->TokenSeconds();
  const auto group = route_of("group");
  EXPECT_GT(one_s / group->TokenSeconds(), 3.3);
  const Shape& shape = stand.shape;
  EXPECT_EQ(group->leader().gathers(), 4 * shape.layer_count);
  // The leader sends each of three others a quarter of two rows of floats, and of two rows of
  // blocks with a scale for 32 numbers.
  const uint64_t blocks = shape.head_count * shape.head_dim + shape.feed_forward;
  const uint64_t of_layer = 2 * shape.embedding * 4 + blocks + blocks / 32 * 4;
  EXPECT_EQ(group->leader().gather_bytes(), 3 * shape.layer_count * of_layer / 4);
}

// A group computes one prompt while rows of another one are in flight: over 1 Gbit/s, sending a
// chunk of this model takes as long as computing it.
TEST(GroupOfTwo, ComputesTwoPromptsInTurns) {
  const Stand stand = Stands()[0];
  Model model(stand);
  const Problem problem = ProblemOf(model, stand, kWays[2], 2);
  const plan::Plan plan = plan::ParseSplit("group", 4, plan::TestNodes(2)).value();
  // 256 rows take as long as 13 tokens.
  Route route(model, plan, problem.bytes_per_s, problem.link, 12.0 / 255);
  // The chunks of a long prompt follow each other.
  const double long_s = route.PrefillSeconds(1, 1024);
  const double two_s = route.PrefillSeconds(2, 512);
  fmt::print("a prompt of 1024 tokens in {:.0f} ms, two of 512 in {:.0f} ms\n", 1e3 * long_s,
             1e3 * two_s);
  EXPECT_LT(two_s, 0.85 * long_s);
}

// Answers are computed in two frames that take turns if that is faster, and else in one. Further
// rows take the time of a machine where they are nearly free, and of a core with AVX2.
TEST(GroupOfTwo, ComputesAnswersInTurnsWhereThatIsFaster) {
  const Stand stand = Stands()[0];
  Model model(stand);
  const plan::Plan plan = plan::ParseSplit("group", 4, plan::TestNodes(2)).value();
  const auto check = [&](const Way& way, double more_rows, size_t answers) {
    const Problem problem = ProblemOf(model, stand, way, /*count=*/2);
    const auto round_s = [&](bool in_turns) {
      return Route(model, plan, problem.bytes_per_s, problem.link, more_rows,
                   {.two_batch_overlap = in_turns})
          .RoundSeconds(answers);
    };
    const double one_s = round_s(false), turns_s = round_s(true);
    fmt::print(
        "{:13} {:.2f} {:2} answers: {:.1f} ms a token of all in one frame, {:.1f} in turns\n",
        way.name, more_rows, answers, 1e3 * one_s, 1e3 * turns_s);
    const double most = way.latency_s == 1e-3 && answers == 8 ? 0.92 : 1.01;
    EXPECT_LT(turns_s, most * one_s);
  };
  for (const Way& way : kWays) {
    for (const double more_rows : {0.05, 0.25}) {
      for (size_t i = 2; i <= (kSanitized ? 2 : 16); i *= 2) check(way, more_rows, i);
    }
  }
}

// Answers that begin later join the frame of the others: two frames would read the weights twice.
TEST(GroupOfTwo, AnswersThatBeginLaterAreComputedWithTheOthers) {
  const Stand stand = Stands()[0];
  Model model(stand);
  const Problem problem = ProblemOf(model, stand, kWays[0], 2);
  const plan::Plan plan = plan::ParseSplit("group", 4, plan::TestNodes(2)).value();
  const auto round_s = [&](bool one_by_one) {
    Route route(model, plan, problem.bytes_per_s, problem.link, 0.05, {.two_batch_overlap = false});
    return route.RoundSeconds(4, one_by_one);
  };
  EXPECT_LT(round_s(true), 1.02 * round_s(false));
}

}  // namespace
}  // namespace aster::sim
