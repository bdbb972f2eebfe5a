// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Lists for each kind of plan the predicted times of a request, and why it is not taken. Must not
// know how plans are searched for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "plan/kind_search.h"
#include "plan/planner.h"

namespace aster::plan {

// Every kind once, the simplest first. `answers`: the best plan of each possible kind. `taken`
// represents its own kind.
std::vector<Alternative> CompareKinds(const KindProblem& problem, const PlannerOptions& options,
                                      std::span<const KindAnswer> answers, const KindAnswer& taken,
                                      FunctionRef<Plan(const KindAnswer&)> plan_of);

// The predicted times of the plan that is taken, and of the next best one, in words.
std::vector<std::string> DescribeChoice(std::span<const Alternative> alternatives,
                                        const PlannerOptions& options);
// A line for each alternative that is not taken.
std::vector<std::string> DescribeOthers(std::span<const Alternative> alternatives);

// " (the KV rows of 640 tokens are on its nodes)"; empty if all of the prompt is computed.
std::string DescribeHeld(const Alternative& of);

}  // namespace aster::plan
