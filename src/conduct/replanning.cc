// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/replanning.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace aster::conduct {
namespace {

constexpr uint32_t kMaxDoublings = 7;

}  // namespace

Replanning::Replanning(plan::Plan plan, uint32_t layer_count, Replanner replanner,
                       const Options& options)
    : plan_(std::move(plan)),
      layer_count_(layer_count),
      replanner_(std::move(replanner)),
      options_(options) {}

void Replanning::OnBroken(int64_t now_ns) {
  const uint32_t doublings = std::min(std::max(failures_, 1U) - 1, kMaxDoublings);
  open_at_ns_ = now_ns + (failures_ == 0 ? 0 : options_.wait_ns << doublings);
}

Status Replanning::Replace(std::span<const wire::NodeId> lost, const Error& why) {
  if (!replanner_) return why;
  plan::Plan plan = TRY(replanner_(plan_, lost, why));
  TRY(plan::CheckPlan(plan, layer_count_));
  plan_ = std::move(plan);
  ++count_;
  std::string nodes;
  for (const plan::PlanStage& stage : plan_.AllStages()) {
    nodes += (nodes.empty() ? "" : ", ") + stage.node.name;
  }
  log::Info("another route takes over", {{"nodes", nodes}, {"why", why.message()}});
  return Ok();
}

Status Replanning::ReplaceFailed(std::span<const wire::NodeId> lost, const Error& why) {
  if (!replanner_ || ++failures_ > options_.max_failures) return why;
  return Replace(lost, why);
}

}  // namespace aster::conduct
