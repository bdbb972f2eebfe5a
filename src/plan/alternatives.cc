// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/alternatives.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace aster::plan {
namespace {

constexpr PlanKind kKinds[] = {PlanKind::kOneNode, PlanKind::kPipeline, PlanKind::kGroup,
                               PlanKind::kMixed, PlanKind::kDisaggregated};

const char* KindName(PlanKind kind) {
  switch (kind) {
    case PlanKind::kOneNode:
      return "one node alone";
    case PlanKind::kPipeline:
      return "a pipeline";
    case PlanKind::kGroup:
      return "a group";
    case PlanKind::kMixed:
      return "a pipeline with groups";
    case PlanKind::kDisaggregated:
      return "prefill and decode apart";
  }
  return "";
}

std::string TimeText(double seconds) {
  return FormatDuration(static_cast<int64_t>(std::min(seconds, 1e9) * 1e9));
}

std::string WhyNotTaken(const KindAnswer& answer, const KindAnswer& taken, bool may_choose) {
  const double later_s = answer.request_s - taken.request_s;
  if (later_s <= 0) {
    return may_choose ? "that is less than a tenth sooner, and takes more machines or messages"
                      : "several requests share a pipeline better";
  }
  // Names the larger part of the difference.
  const double first_s = answer.first_token_s - taken.first_token_s;
  if (first_s >= later_s - first_s) {
    const bool is_transfer = answer.transfer_s - taken.transfer_s > first_s / 2;
    const bool is_fetch = answer.fetch_s - taken.fetch_s > first_s / 2;
    const bool is_held = answer.held_tokens < taken.held_tokens;
    return fmt::format("the first token comes {} later{}", TimeText(first_s),
                       is_transfer ? ", for the KV transfer"
                       : is_fetch  ? ", for KV rows from other nodes"
                       : is_held   ? ", as more of the prompt is to be computed"
                                   : "");
  }
  const double token_s = answer.token_s - taken.token_s;
  const bool is_exchange = answer.exchange_s - taken.exchange_s > token_s / 2;
  return fmt::format("each token takes {} more{}", TimeText(token_s),
                     is_exchange ? ", for messages between nodes" : "");
}

std::string WhyNone(const KindProblem& problem, const PlannerOptions& options, PlanKind kind) {
  const size_t nodes = problem.split.nodes.size();
  if (kind == PlanKind::kOneNode && options.all_nodes && nodes > 1)
    return "all nodes are to take part";
  if (kind == PlanKind::kOneNode) return "no node has memory for the whole model";
  if (nodes < (kind == PlanKind::kMixed ? 3 : 2)) return "there are too few nodes";
  if (kind == PlanKind::kPipeline) return "none of several nodes is faster than one node alone";
  const bool is_linked = std::ranges::any_of(
      problem.group.links, [](const GroupProblem::Link& link) { return link.message_s > 0; });
  if (!is_linked) return "links between the nodes were not measured";
  if (!options.exact_transfers) return "its KV rows travel exactly: leave --kv-wire out";
  if (kind == PlanKind::kDisaggregated)
    return "no node, and no group, has memory for it beside the others";
  if (problem.group.heads < 2) return "no group can compute this model";
  if (std::ranges::count(problem.group.nodes, true, &GroupProblem::Node::may_divide) < 2)
    return "the nodes' programs are older than groups of this model: update them";
  if (options.all_nodes) return "none with all nodes is better, or fits";
  return kind == PlanKind::kMixed ? "no group beside other nodes is better than without"
                                  : "no group of nodes has memory for it, or a head for each";
}

std::string DescribeTimes(const Alternative& of) {
  return fmt::format("{}, the first token after {}{}, then {}", TimeText(of.request_s),
                     TimeText(of.first_token_s), DescribeHeld(of),
                     FormatRate(of.decode_tokens_per_s, "tokens"));
}

std::string DescribeOther(const Alternative& of) {
  if (!of.plan) return fmt::format("{} is not possible: {}", of.kind, of.why);
  return fmt::format("{} ({}) would take {}: {}", of.kind, OptionsText(*of.plan), DescribeTimes(of),
                     of.why);
}

}  // namespace

std::string DescribeHeld(const Alternative& of) {
  if (of.held_tokens == 0) return {};
  if (of.fetch_s <= 0)
    return fmt::format(" (the KV rows of {} tokens are on its nodes)", of.held_tokens);
  return fmt::format(" ({} of it until the KV rows of {} tokens have come from other nodes)",
                     TimeText(of.fetch_s), of.held_tokens);
}

std::vector<Alternative> CompareKinds(const KindProblem& problem, const PlannerOptions& options,
                                      std::span<const KindAnswer> answers, const KindAnswer& taken,
                                      FunctionRef<Plan(const KindAnswer&)> plan_of) {
  std::vector<Alternative> all;
  for (const PlanKind kind : kKinds) {
    Alternative& other = all.emplace_back();
    other.kind = KindName(kind);
    other.is_taken = kind == taken.kind;
    const auto found = std::ranges::find(answers, kind, &KindAnswer::kind);
    if (found == answers.end() && !other.is_taken) {
      other.why = WhyNone(problem, options, kind);
      continue;
    }
    const KindAnswer& answer = other.is_taken ? taken : *found;
    other.plan = plan_of(answer);
    other.first_token_s = answer.first_token_s;
    other.decode_tokens_per_s = 1 / answer.token_s;
    other.request_s = answer.request_s;
    other.held_tokens = answer.held_tokens;
    other.fetch_s = answer.fetch_s;
    if (!other.is_taken) other.why = WhyNotTaken(answer, taken, options.may_choose);
  }
  return all;
}

std::vector<std::string> DescribeChoice(std::span<const Alternative> alternatives,
                                        const PlannerOptions& options) {
  std::vector<std::string> lines;
  const Alternative* next = nullptr;
  for (const Alternative& of : alternatives) {
    if (of.is_taken) {
      lines.push_back(fmt::format("a prompt of {} tokens and an answer of {} take {}",
                                  options.prompt_tokens, options.answer_tokens, DescribeTimes(of)));
    } else if (of.plan && (next == nullptr || of.request_s < next->request_s)) {
      next = &of;
    }
  }
  if (next != nullptr) lines.push_back(DescribeOther(*next));
  return lines;
}

std::vector<std::string> DescribeOthers(std::span<const Alternative> alternatives) {
  std::vector<std::string> lines;
  for (const Alternative& of : alternatives) {
    if (!of.is_taken) lines.push_back(DescribeOther(of));
  }
  return lines;
}

}  // namespace aster::plan
