// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/plan_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "open/usual_request.h"

namespace aster::open {
namespace {

// Each look asks every node: every second if there are few.
constexpr int64_t kEveryNs = kNsPerSecond;
constexpr int64_t kEachWatchedNodeNs = 100 * kNsPerMs;
// The pause before drained nodes are left again, if the others could not take over.
constexpr int64_t kRetryDrainNs = 30 * kNsPerSecond;

// In a group, the members' time (with their messages) is another kind of work than a single node's.
constexpr uint32_t kOthers = uint32_t{1} << 31;

// The figure by which the plan is chosen: the requests' time, or else the rate of prompts.
std::optional<double> WorkTime(const NodePool& pool, const WantedPlan& wanted,
                               const NodeShares& shares, const plan::SplitPlan& split) {
  if (wanted.requests.empty()) return 1 / split.prefill_tokens_per_s;
  return SecondsByAbility(pool, wanted, shares, split.plan);
}

std::string ForRequests(const std::vector<ExpectedRequest>& usual) {
  if (usual.empty()) return {};
  const auto [least, most] = std::ranges::minmax(usual, {}, &ExpectedRequest::prompt_tokens);
  const ExpectedRequest mean = MeanOf(usual);
  const std::string prompts =
      least.prompt_tokens == most.prompt_tokens
          ? fmt::format("{}", mean.prompt_tokens)
          : fmt::format("{} to {}", least.prompt_tokens, most.prompt_tokens);
  return fmt::format(" for requests of {} tokens and answers of {}, one at a time", prompts,
                     mean.answer_tokens);
}

std::set<wire::NodeId> NodesOf(const plan::Plan& plan) {
  std::set<wire::NodeId> nodes;
  for (const plan::PlanStage& stage : plan.AllStages()) {
    nodes.insert(stage.node.id);
    for (const plan::PlanNode& member : stage.members) nodes.insert(member.id);
  }
  return nodes;
}

NodeShares SharesOf(const NodePool& pool, const plan::NodePaces& paces, int64_t now_ns) {
  NodeShares shares;
  for (const plan::NodeAbility& able : pool.nodes()) {
    const double share = paces.Of(able.node.id, now_ns);
    if (share < 1) shares[able.node.id] = share;
  }
  return shares;
}

}  // namespace

PlanWatch::PlanWatch(std::string name, OpenedModel& model, BetweenSteps between_steps,
                     MoveConversations move_conversations)
    : name_(std::move(name)),
      model_(model),
      between_steps_(std::move(between_steps)),
      move_conversations_(std::move(move_conversations)),
      thread_([this] { Run(); }) {}

PlanWatch::~PlanWatch() {
  {
    const MutexLock lock(mu_);
    is_ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

// False when the watch ends.
bool PlanWatch::Sleep(int64_t duration_ns) {
  const int64_t deadline_ns = clock_.NowNs() + duration_ns;
  const MutexLock lock(mu_);
  while (!is_ending_ && clock_.WaitUntil(changed_, mu_, deadline_ns)) {
  }
  return !is_ending_;
}

void PlanWatch::Run() {
  std::optional<PlanWatchPool> watch_pool;
  while (Sleep(kEveryNs)) {
    if (!watch_pool) {
      auto made = model_.MakePlanWatchPool();
      if (!made.ok()) continue;
      watch_pool = *std::move(made);
    }
    if (const Status looked = Look(*watch_pool); !looked.ok()) {
      log::Debug("the state of the nodes is not known",
                 {{"model", name_}, {"why", looked.error().message()}});
      // The others were found through one of the failed nodes.
      watch_pool.reset();
      continue;
    }
    const auto nodes = static_cast<int64_t>(watch_pool->pool->nodes().size());
    if (!Sleep(std::max<int64_t>(0, nodes * kEachWatchedNodeNs - kEveryNs))) return;
  }
}

Status PlanWatch::Look(PlanWatchPool& watch_pool) {
  std::optional<RouteNow> now;
  TRY(between_steps_([&] {
    now = model_.route_now();
    return Ok();
  }));
  if (!now) return Ok();
  TRY(watch_pool.pool->SetDrained(now->drained));
  watch_pool.pool->SetUsed(NodesOf(now->plan));
  TRY(watch_pool.pool->Refresh({}, Ok()));
  const int64_t now_ns = clock_.NowNs();
  if (TRY(LeaveDrained(watch_pool, *now, now_ns)) || !now->follows) return Ok();
  return LookForBetter(watch_pool, *now, now_ns);
}

// Replaces the nodes that report that they are drained, and moves their KV rows of conversations.
// Returns whether the plan has changed.
Result<bool> PlanWatch::LeaveDrained(PlanWatchPool& watch_pool, const RouteNow& now,
                                     int64_t now_ns) {
  std::set<wire::NodeId> drained;
  std::vector<wire::NodeId> to_leave;
  std::string names;
  bool are_used = false;
  for (const AbsentNode& node : watch_pool.pool->absent()) {
    if (!node.is_drained) continue;
    drained.insert(node.id);
    if (left_.contains(node.id)) continue;
    to_leave.push_back(node.id);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", node.name);
    are_used = are_used || std::ranges::any_of(now.plan.AllStages(), [&](const auto& stage) {
                 return stage.Has(node.id);
               });
  }
  // Nodes that are used again may be drained again.
  std::erase_if(left_, [&](const wire::NodeId& node) { return !drained.contains(node); });
  if (to_leave.empty() || now_ns < may_leave_ns_) return false;
  const NodeShares shares = SharesOf(*watch_pool.pool, paces_, now_ns);
  WantedPlan wanted = watch_pool.wanted;
  wanted.requests = now.usual_requests;
  const std::string why = fmt::format("drained: {}", names);
  // The running route is given up only for one that is possible.
  if (are_used) {
    const auto planned = PlanByAbility(*watch_pool.pool, wanted, shares);
    if (!planned.ok()) {
      may_leave_ns_ = now_ns + kRetryDrainNs;
      log::Warn("drained nodes are still used: the other nodes cannot take over",
                {{"model", name_}, {"nodes", names}, {"why", planned.error().message()}});
      return false;
    }
    log::Info("layers are moved from drained nodes", {{"model", name_}, {"nodes", names}});
  }
  const Status left = between_steps_([&]() -> Status {
    if (are_used) TRY(model_.Rebalance(*watch_pool.pool, shares, wanted.requests, why));
    move_conversations_();
    model_.Leave(to_leave);
    return Ok();
  });
  if (left.ok()) {
    left_.insert(to_leave.begin(), to_leave.end());
  } else {
    may_leave_ns_ = clock_.NowNs() + kRetryDrainNs;
    log::Warn("layers could not be moved from drained nodes",
              {{"model", name_}, {"nodes", names}, {"why", left.error().message()}});
  }
  return true;
}

Status PlanWatch::LookForBetter(PlanWatchPool& watch_pool, const RouteNow& now, int64_t now_ns) {
  LearnPaces(watch_pool, now, now_ns);
  const NodeShares shares = SharesOf(*watch_pool.pool, paces_, now_ns);
  // All kinds of plan if requests come one at a time.
  WantedPlan wanted = watch_pool.wanted;
  wanted.requests = now.usual_requests;
  // Without a better plan the cluster keeps the present one.
  const auto best = PlanByAbility(*watch_pool.pool, wanted, shares);
  if (!best.ok() || best->prefill_tokens_per_s <= 0) return Ok();
  const auto current = PredictByAbility(*watch_pool.pool, wanted, shares, now.plan);
  // If a node of the plan is missing, the plan is replaced when it fails.
  if (!current) return Ok();
  const auto current_s = WorkTime(*watch_pool.pool, wanted, shares, *current);
  const auto best_s = WorkTime(*watch_pool.pool, wanted, shares, *best);
  if (!current_s || !best_s) return Ok();
  const plan::Rebalancing::Offer offer{.current = plan::SplitText(now.plan),
                                       .best = plan::SplitText(best->plan),
                                       .current_s = *current_s,
                                       .best_s = *best_s,
                                       .is_busy = now.is_busy,
                                       .change_ns = now.opening_ns};
  if (!rebalancing_.Observe(now_ns, offer)) return Ok();
  const std::string why = fmt::format("{} is {:.0f} % faster than {}{}", offer.best,
                                      100 * (offer.current_s / offer.best_s - 1), offer.current,
                                      ForRequests(wanted.requests));
  log::Info("layers are moved to another plan", {{"model", name_}, {"why", why}});
  const Status changed = between_steps_(
      [&] { return model_.Rebalance(*watch_pool.pool, shares, wanted.requests, why); });
  if (!changed.ok()) {
    log::Warn("layers could not be moved to another plan",
              {{"model", name_}, {"why", changed.error().message()}});
  }
  return Ok();
}

// Compares the stages' times with those predicted from the measured rates.
void PlanWatch::LearnPaces(const PlanWatchPool& watch_pool, const RouteNow& now, int64_t now_ns) {
  const auto expected = PredictByAbility(*watch_pool.pool, watch_pool.wanted, {}, now.plan);
  const std::vector<plan::PlanStage> stages = now.plan.AllStages();
  if (!expected || expected->stage_times.size() != stages.size()) return;
  std::vector<plan::NodePaces::Seen> seen;
  for (size_t i = 0; i < stages.size() && i < now.paces.size(); ++i) {
    const conduct::StagePace::Pace& pace = now.paces[i];
    const plan::ExpectedTimes& times = expected->stage_times[i];
    const double expected_s =
        conduct::StagePace::IsOfRow(pace.kind) ? times.chunk_s : times.token_s - times.exchange_s;
    if (pace.kind == 0 || expected_s <= 0) continue;
    seen.push_back({stages[i].node.id, pace.kind, pace.own_ns / expected_s});
    // Times of a group do not tell which of its other members was slow.
    for (const plan::PlanNode& member : stages[i].members) {
      if (pace.others_ns > 0)
        seen.push_back({member.id, pace.kind | kOthers, pace.others_ns / expected_s});
    }
  }
  if (!seen.empty()) paces_.Observe(seen, now_ns);
}

}  // namespace aster::open
