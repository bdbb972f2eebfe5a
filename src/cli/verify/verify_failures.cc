// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/verify/verify_failures.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"
#include "disk/session_folder.h"
#include "engine/logits.h"
#include "engine/scheduler.h"
#include "plan/plan.h"

namespace aster::cli {
namespace {

using engine::Generator;
using engine::LogitsHash;
using Tokens = std::span<const int32_t>;

enum class Phase : uint8_t { kPrefill, kTransfer, kDecode, kSync };

// Few rows at a time, so that there is a middle.
constexpr size_t kFrame = 16;
// Steps from a request until KV rows are sent: its nodes report their rows, then prefill.
constexpr int kStepsToRows = 3;

// Passes everything on to another generator, and runs a function in the middle of a phase.
class FailureInjector final : public Generator {
 public:
  FailureInjector(Generator& other, Phase phase, std::function<void()> inject)
      : other_(other), phase_(phase), inject_(std::move(inject)) {}

  bool has_injected() const { return inject_ == nullptr; }

  const model::Shape& shape() const override { return other_.shape(); }
  engine::Sequence NewSequence() override { return other_.NewSequence(); }
  Result<engine::RequestId> Submit(engine::Request request) override {
    steps_ = 0;
    // The first answer; it begins in the middle of the second half of the text.
    if (phase_ == Phase::kDecode && request.edit_logits) {
      request.edit_logits = [this, edit = std::move(request.edit_logits), rows = uint64_t{0},
                             middle = request.max_tokens / 2](Tokens history,
                                                              std::span<float> logits) mutable {
        if (rows++ == middle) Inject();
        edit(history, logits);
      };
    }
    if (phase_ == Phase::kSync) {
      request.on_finish = [this, told = std::move(request.on_finish)](const engine::Finish& end) {
        Inject();
        if (told) told(end);
      };
    }
    return other_.Submit(std::move(request));
  }
  void Cancel(engine::RequestId id) override { other_.Cancel(id); }
  bool idle() const override { return other_.idle(); }
  Status Step() override {
    if (phase_ == Phase::kTransfer && ++steps_ == kStepsToRows) Inject();
    return other_.Step();
  }
  Status LogitsOf(Tokens tokens, size_t chunk, engine::LogitsSink sink) override {
    if (phase_ != Phase::kPrefill) return other_.LogitsOf(tokens, chunk, sink);
    size_t row = 0;
    return other_.LogitsOf(tokens, std::min(chunk, kFrame), [&](std::span<const float> logits) {
      if (row++ == tokens.size() / 3) Inject();
      return sink(logits);
    });
  }
  Status ExportRows(engine::Sequence& sequence, uint32_t begin, uint32_t end,
                    kv::KvChunkSink sink) override {
    return other_.ExportRows(sequence, begin, end, sink);
  }
  Status ImportRows(engine::Sequence& sequence, Bytes chunk) override {
    return other_.ImportRows(sequence, chunk);
  }

 private:
  void Inject() {
    if (const auto inject = std::exchange(inject_, nullptr)) inject();
  }

  Generator& other_;
  const Phase phase_;
  std::function<void()> inject_;  // reset once it has run
  int steps_ = 0;                 // since the last request
};

struct FailureCase {
  const char* name;
  Phase phase;
  size_t victim;          // 0: the first prefill node; 1: the second, which also decodes
  bool together = false;  // both decode, as a group that the second leads
  bool owners = false;    // the group's nodes own experts
};

constexpr FailureCase kFailureCases[] = {
    {"a prefill node is killed in prefill", Phase::kPrefill, 0},
    {"the decode node is killed in prefill", Phase::kPrefill, 1},
    {"a prefill node is killed in KV transfer", Phase::kTransfer, 0},
    {"the decode node is killed in KV transfer", Phase::kTransfer, 1},
    {"the decode node is killed in decode", Phase::kDecode, 1},
    {"a prefill node is killed in KV sync", Phase::kSync, 0},
    {"a node of the group that decodes is killed in KV transfer", Phase::kTransfer, 0, true},
    {"a node of the group that decodes is killed in decode", Phase::kDecode, 0, true},
    {"the node that leads the group is killed in decode", Phase::kDecode, 1, true},
    {"a node of a group that owns experts is killed in decode", Phase::kDecode, 0, true, true},
};

// All layers on both nodes, each with its part of every layer.
plan::Plan GroupOf(const plan::PlanNode& first, const plan::PlanNode& second, uint32_t layer_count,
                   bool owns_experts = false) {
  return {.stages = {{.node = first,
                      .slice = {0, layer_count, true, true},
                      .members = {second},
                      .shares = {1, 1},
                      .owns_experts = owns_experts}},
          .decode = {}};
}

// Half of the layers each, in this order; if the second decodes alone, it has all of them.
plan::Plan HalvesOf(const plan::PlanNode& first, const plan::PlanNode& second,
                    const model::Shape& shape, bool second_answers) {
  const uint32_t layer_count = shape.layer_count;
  const uint32_t cut = layer_count / 2;
  plan::Plan plan;
  plan.stages = {{.node = first, .slice = {0, cut, true, false}},
                 {.node = second, .slice = {cut, layer_count, false, true}}};
  if (second_answers) plan.decode = {{.node = second, .slice = {0, layer_count, true, true}}};
  return plan::MovedCuts(std::move(plan), shape);
}

class Ways {
 public:
  Ways(const Clock& clock, const engine::VerifySink& sink) : clock_(clock), sink_(sink) {}

  Status Try(std::string name, FunctionRef<Result<Hash128>()> compute) {
    const int64_t start_ns = clock_.NowNs();
    const Hash128 hash = TRY(compute().In(name));
    ways_.push_back({std::move(name), hash, clock_.NowNs() - start_ns});
    if (sink_) sink_(ways_.back());
    return Ok();
  }
  std::vector<engine::VerifiedWay> Take() { return std::move(ways_); }

 private:
  const Clock& clock_;
  const engine::VerifySink& sink_;
  std::vector<engine::VerifiedWay> ways_;
};

Result<Hash128> WithFailure(const FreshNodes& start, const FailureCase& failure, Tokens tokens,
                            Console& console) {
  const auto nodes = TRY(start());
  const plan::PlanNode victim = nodes->nodes()[failure.victim];
  const plan::PlanNode& first = nodes->nodes()[0];
  const plan::PlanNode& second = nodes->nodes()[1];
  plan::Plan plan = HalvesOf(first, second, nodes->shape(), /*second_answers=*/true);
  if (failure.together)
    plan.decode = GroupOf(second, first, nodes->layer_count(), failure.owners).stages;
  const auto conductor = TRY(
      nodes->Open(plan, /*tokenizer=*/nullptr, /*max_running=*/8, /*longest_frame_ns=*/0, console));
  Status killed = Ok();
  FailureInjector injector(*conductor, failure.phase, [&] { killed = nodes->Kill(victim.id); });
  const Hash128 hash = TRY(engine::AnsweredInTurns(injector, tokens));
  TRY(std::move(killed));
  if (!injector.has_injected())
    return FailedPrecondition("the text is too short for anything to happen");
  if (conductor->counters().replans == 0)
    return FailedPrecondition("no route used the node that was killed");
  return hash;
}

// One generator prefills the first half and saves it; another one loads it, and is given the second
// half as its answer.
Result<Hash128> SavedAndLoaded(Generator& from, Generator& to, const kv::Layout& layout,
                               disk::SessionFolder& sessions, Tokens tokens) {
  const Tokens half = tokens.first(tokens.size() / 2);
  LogitsHash hash;
  size_t row = 1;  // the last row gives the first answer token
  TRY(from.LogitsOf(half, engine::kDefaultChunk, [&](std::span<const float> logits) {
    return row++ < half.size() ? hash.Add(logits) : Ok();
  }));
  engine::Sequence saved = from.NewSequence();
  saved.SetHistory(half);
  Status status = FailedPrecondition("the request never ended");
  TRY(from.Submit({.sequence = &saved, .max_tokens = 0, .on_finish = [&](const auto& finish) {
                     status = finish.status;
                   }}));
  while (!from.idle()) TRY(from.Step());
  TRY(std::move(status));
  disk::Session session;
  session.tokens.assign(half.begin(), half.end());
  TRY(sessions.Save("session", session, layout, [&](kv::KvChunkSink sink) {
    return from.ExportRows(saved, 0, saved.computed(), sink);
  }));
  engine::Sequence loaded = to.NewSequence();
  loaded.SetHistory(half);
  loaded.Release();
  TRY(sessions.LoadRows(TRY(sessions.Open("session")), layout,
                        [&](Bytes chunk) { return to.ImportRows(loaded, chunk); }));
  if (loaded.computed() + 1 < half.size())
    return DataLoss("not all of its KV rows were found again");
  TRY(engine::AnswerWith(to, loaded, tokens, tokens.size(), {}, hash));
  return hash.Digest();
}

}  // namespace

GroupSupport GroupSupportOf(const open::NodeSession& nodes) {
  const auto is_possible = [&](bool owns_experts) {
    const plan::Plan group =
        GroupOf(nodes.nodes()[0], nodes.nodes()[1], nodes.layer_count(), owns_experts);
    return nodes.CheckGroups(group).ok();
  };
  return {.group = is_possible(false), .own = is_possible(true)};
}

Result<std::vector<engine::VerifiedWay>> VerifyFailures(const FreshNodes& start,
                                                        GroupSupport supported, Tokens tokens,
                                                        const Clock& clock,
                                                        const engine::VerifySink& sink,
                                                        Console& console) {
  Ways ways(clock, sink);
  for (const FailureCase& failure : kFailureCases) {
    if ((failure.together && !supported.group) || (failure.owners && !supported.own)) continue;
    TRY(ways.Try(failure.name, [&] { return WithFailure(start, failure, tokens, console); }));
  }
  return ways.Take();
}

Result<std::vector<engine::VerifiedWay>> VerifySessions(
    open::NodeSession& nodes, const FreshNodes& start, const gguf::ModelFiles& files,
    const engine::LocalModelOptions& model, Tokens tokens, Clock& clock,
    const engine::VerifySink& sink, Console& console) {
  Ways ways(clock, sink);
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create());
  disk::SessionFolder sessions(folder.File("sessions"), clock);
  const auto local = TRY(engine::LocalModel::Load(files, model));
  engine::Scheduler here(*local, /*tokenizer=*/nullptr, clock);
  const auto open = [&](open::NodeSession& among, bool is_reversed) {
    const plan::PlanNode& first = among.nodes()[0];
    const plan::PlanNode& second = among.nodes()[1];
    return among.Open(is_reversed ? HalvesOf(second, first, among.shape(), false)
                                  : HalvesOf(first, second, among.shape(), true),
                      /*tokenizer=*/nullptr, /*max_running=*/8, /*longest_frame_ns=*/0, console);
  };
  const auto there = TRY(open(nodes, /*is_reversed=*/false));
  TRY(ways.Try("saved by nodes, loaded by one machine",
               [&] { return SavedAndLoaded(*there, here, local->layout(), sessions, tokens); }));
  // Nodes with an empty KV cache, if there are any; they end before the next ones start.
  const auto loaded_by_nodes = [&](const char* name, Generator& from) -> Status {
    std::unique_ptr<open::NodeSession> fresh;
    if (start) fresh = TRY(start());
    const auto others = TRY(open(fresh ? *fresh : nodes, /*is_reversed=*/true));
    return ways.Try(
        name, [&] { return SavedAndLoaded(from, *others, local->layout(), sessions, tokens); });
  };
  TRY(loaded_by_nodes("saved by one machine, loaded by nodes", here));
  if (start) TRY(loaded_by_nodes("saved by nodes, loaded by other nodes", *there));
  const GroupSupport supported = GroupSupportOf(nodes);
  if (!supported.group) return ways.Take();
  // From a group to one machine, and from there to a group; with experts, its nodes own them.
  const auto open_group = [&](open::NodeSession& among) {
    return among.Open(
        GroupOf(among.nodes()[0], among.nodes()[1], among.layer_count(), supported.own),
        /*tokenizer=*/nullptr, /*max_running=*/8, /*longest_frame_ns=*/0, console);
  };
  const auto group = TRY(open_group(nodes));
  TRY(ways.Try("saved by a group, loaded by one machine",
               [&] { return SavedAndLoaded(*group, here, local->layout(), sessions, tokens); }));
  std::unique_ptr<open::NodeSession> fresh;
  if (start) fresh = TRY(start());
  const auto other_group = TRY(open_group(fresh ? *fresh : nodes));
  TRY(ways.Try("saved by one machine, loaded by a group", [&] {
    return SavedAndLoaded(here, *other_group, local->layout(), sessions, tokens);
  }));
  return ways.Take();
}

}  // namespace aster::cli
