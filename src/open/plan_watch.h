// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Follows the nodes of a cluster while a model is served on them: nodes that join or return get
// layers, and slow ones get fewer, as plan/rebalancing.h decides. On a thread of its own; it uses
// the model only between the steps of its loop. Must not know HTTP.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "open/open_model.h"
#include "plan/node_paces.h"
#include "plan/rebalancing.h"

namespace aster::open {

class PlanWatch {
 public:
  // Runs the function on the thread of the model's generator, and waits for it; an error if that
  // thread has ended.
  using BetweenSteps = std::function<Status(const std::function<Status()>&)>;
  // Called in such a function: moves KV rows of kept conversations to the nodes of the plan.
  using MoveConversations = std::function<void()>;

  // The model outlives it. If its plan was typed, the watch only replaces drained nodes.
  PlanWatch(std::string name, OpenedModel& model, BetweenSteps between_steps,
            MoveConversations move_conversations);
  ~PlanWatch();
  PlanWatch(const PlanWatch&) = delete;
  PlanWatch& operator=(const PlanWatch&) = delete;

 private:
  void Run() EXCLUDES(mu_);
  Status Look(PlanWatchPool& watch_pool);
  Status LookForBetter(PlanWatchPool& watch_pool, const RouteNow& now, int64_t now_ns);
  Result<bool> LeaveDrained(PlanWatchPool& watch_pool, const RouteNow& now, int64_t now_ns);
  void LearnPaces(const PlanWatchPool& watch_pool, const RouteNow& now, int64_t now_ns);
  bool Sleep(int64_t duration_ns) EXCLUDES(mu_);

  const std::string name_;
  OpenedModel& model_;
  const BetweenSteps between_steps_;
  const MoveConversations move_conversations_;
  SystemClock clock_;
  // Used by the watch's thread.
  plan::NodePaces paces_;
  plan::Rebalancing rebalancing_;
  std::set<wire::NodeId> left_;  // drained nodes that have been left
  int64_t may_leave_ns_ = 0;     // when it tries again, if the others could not take over

  Mutex mu_;
  CondVar changed_;
  bool is_ending_ GUARDED_BY(mu_) = false;
  std::thread thread_;  // uses all members above
};

}  // namespace aster::open
