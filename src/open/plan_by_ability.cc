// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_by_ability.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "open/open_model.h"
#include "open/usual_request.h"

namespace aster::open {
namespace {

// Requests that represent all of those that are wanted.
constexpr size_t kMostParts = 4;
// Also for one request: predictions are not exact, and the simplest kind of plan is preferred.
constexpr double kAlmostAsSoon = 1.1;

using Request = std::optional<ExpectedRequest>;

Request MeanWanted(const WantedPlan& wanted) {
  if (wanted.requests.empty()) return std::nullopt;
  return MeanOf(wanted.requests);
}

plan::PlannerOptions OptionsFor(const NodePool& pool, const WantedPlan& wanted,
                                const Request& request) {
  plan::PlannerOptions options{.reserved_bytes = wanted.kv_bytes, .all_nodes = pool.wants_all()};
  options.exact_transfers = wanted.exact_transfers;
  options.longest_frame_s = static_cast<double>(kLongestStepNs) / kNsPerSecond;
  options.compares = !wanted.replaces;
  // A pipeline is best for several requests.
  if (!request) return options;
  options.may_choose = true;
  options.prompt_tokens = request->prompt_tokens;
  options.answer_tokens = request->answer_tokens;
  options.held = wanted.held;
  // The whole text counts if it is known which nodes have KV rows of it.
  if (!wanted.held.empty()) options.prompt_tokens += request->held_tokens;
  return options;
}

std::vector<plan::NodeAbility> AbilitiesOf(const NodePool& pool, const WantedPlan& wanted,
                                           const NodeShares& shares) {
  std::vector<plan::NodeAbility> nodes = pool.nodes();
  for (plan::NodeAbility& able : nodes) {
    if (!wanted.by_times) able.measured.clear();
    const auto found = shares.find(able.node.id);
    if (found == shares.end()) continue;
    able.multiply_flops_per_s *= found->second;
    able.memory_bytes_per_s *= found->second;
    for (plan::DeviceAbility& device : able.devices) {
      device.multiply_flops_per_s *= found->second;
      device.memory_bytes_per_s *= found->second;
    }
  }
  return nodes;
}

plan::ModelLoad LoadFor(const WantedPlan& wanted, const Request& request) {
  plan::ModelLoad load = wanted.load;
  if (!request) return load;
  uint32_t held = request->held_tokens;
  const uint32_t text = held + request->prompt_tokens;
  for (const plan::HeldRows& rows : wanted.held) held = std::max(held, std::min(rows.tokens, text));
  load.PrepareFor(text - held, request->answer_tokens, held);
  return load;
}

Result<plan::SplitPlan> PlanFor(const NodePool& pool, const WantedPlan& wanted,
                                const NodeShares& shares, const Request& request) {
  const plan::PlannerOptions options = OptionsFor(pool, wanted, request);
  const plan::ModelLoad load = LoadFor(wanted, request);
  // Layers that another front end runs are shared if exactly these are planned.
  const std::vector<SharedSlice>& shared = pool.shared();
  const std::vector<plan::NodeAbility> apart_nodes = AbilitiesOf(pool, wanted, shares);
  std::vector<plan::NodeAbility> nodes = apart_nodes;
  for (plan::NodeAbility& able : nodes) {
    for (const SharedSlice& held : shared)
      able.memory_bytes += held.node == able.node.id ? held.bytes : 0;
  }
  auto split = plan::PlanSplit(nodes, pool.links(), load, options);
  const auto is_shared = [&](const plan::PlanStage& stage) {
    const auto is_of_node = [&](const SharedSlice& held) { return held.node == stage.node.id; };
    return std::ranges::none_of(shared, is_of_node) ||
           std::ranges::any_of(shared, [&](const SharedSlice& held) {
             return is_of_node(held) && held.slice == stage.slice;
           });
  };
  if (wanted.replaces) return split;
  if (split.ok() && !std::ranges::all_of(split->plan.stages, is_shared)) {
    auto apart = plan::PlanSplit(apart_nodes, pool.links(), load, options);
    if (apart.ok()) split = std::move(apart);
  }
  return split;
}

std::optional<plan::SplitPlan> PredictFor(const NodePool& pool, const WantedPlan& wanted,
                                          const NodeShares& shares, const Request& request,
                                          const plan::Plan& plan) {
  return plan::PredictPlan(AbilitiesOf(pool, wanted, shares), pool.links(),
                           LoadFor(wanted, request), OptionsFor(pool, wanted, request), plan);
}

// The best plan of each kind for some of the requests.
struct Candidate {
  const plan::Alternative* of = nullptr;
  double seconds = 0;
};

// The simplest plan that answers all parts almost as soon as the best one; null if none is known.
const plan::Alternative* BestOfAll(const NodePool& pool, const WantedPlan& wanted,
                                   const NodeShares& shares,
                                   std::span<const plan::SplitPlan> splits) {
  std::vector<Candidate> candidates;
  double best_s = 0;
  for (size_t kind = 0; kind < splits.front().alternatives.size(); ++kind) {
    for (const plan::SplitPlan& split : splits) {
      if (kind >= split.alternatives.size() || !split.alternatives[kind].plan) continue;
      const plan::Alternative& of = split.alternatives[kind];
      const std::string text = plan::SplitText(*of.plan);
      const bool is_known = std::ranges::any_of(candidates, [&](const Candidate& other) {
        return plan::SplitText(*other.of->plan) == text;
      });
      if (is_known) continue;
      const auto seconds = SecondsByAbility(pool, wanted, shares, *of.plan);
      if (!seconds) continue;
      best_s = candidates.empty() ? *seconds : std::min(best_s, *seconds);
      candidates.push_back({&of, *seconds});
    }
  }
  for (const Candidate& candidate : candidates) {
    if (candidate.seconds <= kAlmostAsSoon * best_s) return candidate.of;
  }
  return nullptr;
}

// Puts the chosen plan and its predictions into `split`, whose other parts (made for the mean
// request) stay.
void Take(const plan::Alternative& chosen, const plan::SplitPlan& predicted, double mean_s,
          plan::SplitPlan& split) {
  const std::string kind = chosen.kind;
  const std::optional<plan::Plan> plan = chosen.plan;
  for (plan::Alternative& of : split.alternatives) {
    if (of.is_taken) of.why = "of the last requests some are much shorter than others";
    of.is_taken = of.kind == kind;
    if (!of.is_taken) continue;
    of.plan = plan;
    of.first_token_s = predicted.first_token_s;
    of.decode_tokens_per_s = predicted.decode_tokens_per_s;
    of.request_s = predicted.request_s;
    of.held_tokens = predicted.held_tokens;
    of.fetch_s = predicted.fetch_s;
    of.why.clear();
  }
  split.plan = predicted.plan;
  split.stage_times = predicted.stage_times;
  split.prefill_tokens_per_s = predicted.prefill_tokens_per_s;
  split.decode_tokens_per_s = predicted.decode_tokens_per_s;
  split.first_chunk_s = predicted.first_chunk_s;
  split.first_token_s = predicted.first_token_s;
  split.request_s = predicted.request_s;
  split.held_tokens = predicted.held_tokens;
  split.fetch_s = predicted.fetch_s;
  split.lines = {plan::DescribePlan(split.plan),
                 fmt::format("{}, for the last requests, which are unlike: {:.3g} s in the mean",
                             kind, mean_s)};
}

}  // namespace

Result<plan::SplitPlan> PlanByAbility(const NodePool& pool, const WantedPlan& wanted,
                                      const NodeShares& shares) {
  const std::vector<ExpectedRequest> parts = Summarise(wanted.requests, kMostParts);
  plan::SplitPlan split = TRY(PlanFor(pool, wanted, shares, MeanWanted(wanted)));
  if (parts.size() < 2 || split.alternatives.empty()) return split;
  std::vector<plan::SplitPlan> splits = {split};
  for (const ExpectedRequest& part : {parts.front(), parts.back()}) {
    auto of_part = PlanFor(pool, wanted, shares, part);
    if (of_part.ok()) splits.push_back(*std::move(of_part));
  }
  const plan::Alternative* const best = BestOfAll(pool, wanted, shares, splits);
  if (best == nullptr || plan::SplitText(*best->plan) == plan::SplitText(split.plan)) return split;
  const auto predicted = PredictByAbility(pool, wanted, shares, *best->plan);
  const auto mean_s = SecondsByAbility(pool, wanted, shares, *best->plan);
  if (predicted && mean_s) Take(*best, *predicted, *mean_s, split);
  return split;
}

std::optional<plan::SplitPlan> PredictByAbility(const NodePool& pool, const WantedPlan& wanted,
                                                const NodeShares& shares, const plan::Plan& plan) {
  return PredictFor(pool, wanted, shares, MeanWanted(wanted), plan);
}

std::optional<double> SecondsByAbility(const NodePool& pool, const WantedPlan& wanted,
                                       const NodeShares& shares, const plan::Plan& plan) {
  const std::vector<ExpectedRequest> parts = Summarise(wanted.requests, kMostParts);
  if (parts.empty()) return std::nullopt;
  double sum_s = 0;
  for (const ExpectedRequest& part : parts) {
    const auto whole = PredictFor(pool, wanted, shares, part, plan);
    if (!whole || whole->request_s <= 0) return std::nullopt;
    double seconds = whole->request_s;
    // Decode nodes compute a short prompt themselves.
    if (!plan.decode.empty()) {
      const plan::Plan direct{.stages = plan.decode, .decode = {}};
      const auto alone = PredictFor(pool, wanted, shares, part, direct);
      if (alone && alone->request_s > 0) seconds = std::min(seconds, alone->request_s);
    }
    sum_s += seconds;
  }
  return sum_s / static_cast<double>(parts.size());
}

}  // namespace aster::open
