// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/verify/verify_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/function_ref.h"
#include "engine/logits.h"
#include "engine/oracle_proposers.h"

namespace aster::cli {
namespace {

// Models with more layers are cut at some places only: each plan loads the model once more.
constexpr uint32_t kLayersCutEverywhere = 16;
// Between this many equal parts, after the first layer and before the last.
constexpr uint32_t kSpreadParts = 4;

using Tokens = std::span<const int32_t>;

// The layers between the cuts, on the nodes in turn.
plan::Plan PlanOf(std::span<const plan::PlanNode> nodes, std::span<const uint32_t> cuts,
                  uint32_t layer_count) {
  plan::Plan plan;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    plan.stages.push_back({.node = nodes[i % nodes.size()],
                           .slice = {.layer_begin = i == 0 ? 0 : cuts[i - 1],
                                     .layer_end = i == cuts.size() ? layer_count : cuts[i],
                                     .embedding = i == 0,
                                     .head = i == cuts.size()}});
  }
  return plan;
}

// `count` cuts at equal distances.
std::vector<uint32_t> EvenCuts(uint32_t layer_count, uint32_t count) {
  std::vector<uint32_t> cuts;
  for (uint32_t i = 1; i <= count; ++i) cuts.push_back(layer_count * i / (count + 1));
  return cuts;
}

// Plans that together have all these cuts, with as many in each as there are nodes for.
std::vector<plan::Plan> PlansWith(std::span<const uint32_t> cuts,
                                  std::span<const plan::PlanNode> nodes, uint32_t layer_count) {
  std::vector<plan::Plan> plans;
  const size_t in_a_plan = nodes.size() - 1;
  const size_t count = (cuts.size() + in_a_plan - 1) / in_a_plan;
  for (size_t first = 0; first < count; ++first) {
    std::vector<uint32_t> own;
    for (size_t i = first; i < cuts.size(); i += count) own.push_back(cuts[i]);
    plans.push_back(PlanOf(nodes, own, layer_count));
  }
  return plans;
}

std::vector<plan::Plan> PlansFor(std::span<const plan::PlanNode> nodes, uint32_t layer_count) {
  std::vector<plan::Plan> plans;
  const std::vector<plan::PlanNode> reversed(nodes.rbegin(), nodes.rend());
  plans.push_back(PlanOf(nodes.first(1), {}, layer_count));
  const auto in_use = static_cast<uint32_t>(std::min<size_t>(nodes.size(), layer_count));
  if (in_use < 2) return plans;
  const auto with_cuts = PlansWith(CutsToVerify(layer_count), nodes, layer_count);
  plans.insert(plans.end(), with_cuts.begin(), with_cuts.end());
  plans.push_back(PlanOf(reversed, EvenCuts(layer_count, in_use - 1), layer_count));
  if (layer_count >= 2 * in_use) {
    plans.push_back(PlanOf(nodes, EvenCuts(layer_count, 2 * in_use - 1), layer_count));
  }
  return plans;
}

// The plan with its first stage on a group of the first nodes; the first of them does `first_share`
// times as much as each other one.
plan::Plan Grouped(plan::Plan plan, std::span<const plan::PlanNode> nodes, uint32_t first_share) {
  plan::PlanStage& first = plan.stages.front();
  first.members.assign(nodes.begin() + 1, nodes.end());
  first.shares.assign(nodes.size(), 1);
  first.shares.front() = first_share;
  return plan;
}

// Groups of two to four nodes that own experts, with none or one of each layer on all of them; one
// that decodes after a node has prefilled, and one that prefills.
std::vector<plan::Plan> OwnersPlans(std::span<const plan::PlanNode> nodes, uint32_t layer_count) {
  std::vector<plan::Plan> plans;
  const auto add = [&](size_t count, uint32_t first_share, uint32_t replicas) {
    const plan::Plan whole = PlanOf(nodes.first(1), {}, layer_count);
    plans.push_back(Grouped(whole, nodes.first(count), first_share));
    plans.back().stages[0].owns_experts = true;
    plans.back().stages[0].replicas = replicas;
  };
  add(2, 1, 0);
  add(2, 2, 1);
  const plan::Plan alone = PlanOf(nodes.subspan(1, 1), {}, layer_count);
  plans.push_back({.stages = alone.stages, .decode = plans[0].stages});
  plans.push_back({.stages = plans[0].stages, .decode = alone.stages});
  if (nodes.size() > 2) add(3, 1, 1);
  if (nodes.size() > 3) add(4, 1, 0);
  return plans;
}

// Plans with groups of two nodes, and of three and four if there are as many: of all layers, with
// equal and unequal work, before nodes with layers of their own, and with other nodes that prefill
// or decode.
std::vector<plan::Plan> GroupPlans(const open::NodeSession& session) {
  const std::span<const plan::PlanNode> nodes = session.nodes();
  const uint32_t layer_count = session.layer_count();
  std::vector<plan::Plan> plans;
  const auto add = [&](plan::Plan plan, size_t count, uint32_t first_share) {
    plans.push_back(Grouped(std::move(plan), nodes.first(count), first_share));
  };
  if (nodes.size() < 2) return plans;
  const plan::Plan whole = PlanOf(nodes.first(1), {}, layer_count);
  add(whole, 2, 1);
  add(whole, 2, 2);
  // Separate layers for the prompt, and a group for the answer; and the other way round.
  const std::vector<plan::PlanStage> group = plans.front().stages;
  if (layer_count >= 2) {
    plans.push_back(PlanOf(nodes.first(2), EvenCuts(layer_count, 1), layer_count));
    plans.back().decode = group;
  }
  plans.push_back({.stages = group, .decode = PlanOf(nodes.subspan(1, 1), {}, layer_count).stages});
  if (session.has_experts()) {
    const std::vector<plan::Plan> owners = OwnersPlans(nodes, layer_count);
    plans.insert(plans.end(), owners.begin(), owners.end());
  }
  if (nodes.size() < 3) return plans;
  add(whole, 3, 1);
  if (nodes.size() > 3) add(whole, 4, 1);
  if (layer_count < 2) return plans;
  const plan::PlanNode apart[] = {nodes[0], nodes[2]};
  add(PlanOf(apart, EvenCuts(layer_count, 1), layer_count), 2, 1);
  return plans;
}

// Plans with other decode nodes than prefill nodes: the last node, the first one, one that has
// prefilled nothing, two nodes together.
std::vector<plan::Plan> DisaggregatedPlans(std::span<const plan::PlanNode> nodes,
                                           uint32_t layer_count) {
  std::vector<plan::Plan> plans;
  const auto in_use = static_cast<uint32_t>(std::min<size_t>(nodes.size(), layer_count));
  if (in_use < 2) return plans;
  const plan::Plan split = PlanOf(nodes, EvenCuts(layer_count, in_use - 1), layer_count);
  for (const size_t decodes : {nodes.size() - 1, size_t{0}}) {
    plans.push_back(split);
    plans.back().decode = PlanOf(nodes.subspan(decodes, 1), {}, layer_count).stages;
  }
  plans.push_back(PlanOf(nodes.first(1), {}, layer_count));
  plans.back().decode = PlanOf(nodes.subspan(1, 1), {}, layer_count).stages;
  const plan::PlanNode second_first[] = {nodes[1], nodes[0]};
  plans.push_back(PlanOf(nodes.first(1), {}, layer_count));
  plans.back().decode = PlanOf(second_first, EvenCuts(layer_count, 1), layer_count).stages;
  return plans;
}

// Computes a text with one plan after the other.
class NodeWays {
 public:
  NodeWays(open::NodeSession& nodes, Tokens tokens, const Clock& clock,
           const engine::VerifySink& sink, Console& console)
      : nodes_(nodes), tokens_(tokens), clock_(clock), sink_(sink), console_(console) {
    drafters_.AddText({tokens.begin(), tokens.end()});
  }

  Status Open(const plan::Plan& wanted) {
    const plan::Plan plan = plan::MovedCuts(wanted, nodes_.shape());
    split_ = plan::SplitText(plan);
    conductor_.reset();
    conductor_ = TRY(nodes_.Open(plan, /*tokenizer=*/nullptr, /*max_running=*/8,
                                 /*longest_frame_ns=*/0, console_, &drafters_));
    return Ok();
  }
  Status InChunks() {
    for (const size_t chunk : {engine::kDefaultChunk, size_t{40}}) {
      TRY(Add(fmt::format("{} in chunks of {}", split_, chunk), [&]() -> Result<Hash128> {
        engine::LogitsHash hash;
        TRY(conductor_->LogitsOf(tokens_, chunk,
                                 [&](std::span<const float> row) { return hash.Add(row); }));
        return hash.Digest();
      }));
    }
    return Ok();
  }
  Status BesideOthers() {
    return Add(split_ + " beside others",
               [&] { return engine::AnsweredBesideOthers(*conductor_, tokens_); });
  }
  Status InTurns() {
    return Add(split_ + " in turns", [&] { return engine::AnsweredInTurns(*conductor_, tokens_); });
  }
  // One answer alone, with several frames of draft tokens in flight if there are stages for them.
  Status WithDrafts() {
    return Add(split_ + " in turns, with draft tokens", [&] {
      return engine::AnsweredInTurns(*conductor_, tokens_,
                                     {.kind = engine::DraftKind::kModel, .most = 6});
    });
  }
  std::vector<engine::VerifiedWay> Take() { return std::move(ways_); }

 private:
  Status Add(std::string name, FunctionRef<Result<Hash128>()> compute) {
    const int64_t start_ns = clock_.NowNs();
    const Hash128 hash = TRY(compute().In(name));
    ways_.push_back({std::move(name), hash, clock_.NowNs() - start_ns});
    if (sink_) sink_(ways_.back());
    return Ok();
  }

  open::NodeSession& nodes_;
  const Tokens tokens_;
  const Clock& clock_;
  const engine::VerifySink& sink_;
  Console& console_;
  engine::OracleProposers drafters_{/*right=*/75};  // outlives the conductor
  std::string split_;
  std::unique_ptr<conduct::Conductor> conductor_;
  std::vector<engine::VerifiedWay> ways_;
};

}  // namespace

std::vector<uint32_t> CutsToVerify(uint32_t layer_count) {
  std::set<uint32_t> cuts;
  if (layer_count <= kLayersCutEverywhere) {
    for (uint32_t cut = 1; cut < layer_count; ++cut) cuts.insert(cut);
  } else {
    cuts = {1, layer_count - 1};
    for (uint32_t i = 1; i < kSpreadParts; ++i) cuts.insert(layer_count * i / kSpreadParts);
  }
  return {cuts.begin(), cuts.end()};
}

std::vector<std::string> GroupsLeftOut(const open::NodeSession& nodes) {
  std::vector<std::string> lines;
  for (const plan::Plan& plan : GroupPlans(nodes)) {
    const Status status = nodes.CheckGroups(plan);
    if (status.ok()) continue;
    lines.push_back(fmt::format("{}: {}", plan::SplitText(plan), status.error().message()));
  }
  return lines;
}

Result<std::vector<engine::VerifiedWay>> VerifyOnNodes(open::NodeSession& nodes,
                                                       const std::optional<plan::Plan>& asked,
                                                       Tokens tokens, const Clock& clock,
                                                       const engine::VerifySink& sink,
                                                       Console& console) {
  NodeWays ways(nodes, tokens, clock, sink, console);
  if (asked) {
    TRY(ways.Open(*asked));
    TRY(ways.InChunks());
    TRY(ways.BesideOthers());
    TRY(ways.InTurns());
    TRY(ways.WithDrafts());
  }
  for (const plan::Plan& plan : PlansFor(nodes.nodes(), nodes.layer_count())) {
    TRY(ways.Open(plan));
    TRY(ways.InChunks());
    TRY(ways.BesideOthers());
    TRY(ways.WithDrafts());
  }
  // Groups, unless their parts are too small for the model.
  for (const plan::Plan& plan : GroupPlans(nodes)) {
    if (!nodes.CheckGroups(plan).ok()) continue;
    TRY(ways.Open(plan));
    TRY(ways.InChunks());
    TRY(ways.BesideOthers());
    TRY(ways.InTurns());
  }
  for (const plan::Plan& plan : DisaggregatedPlans(nodes.nodes(), nodes.layer_count())) {
    TRY(ways.Open(plan));
    TRY(ways.BesideOthers());
    // Each token needs several stages, which so hold rows of draft tokens.
    TRY(plan.decode.size() > 1 ? ways.WithDrafts() : ways.InTurns());
  }
  return ways.Take();
}

}  // namespace aster::cli
