// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether the next turn of a conversation is computed by another plan: the times of both, and the
// cost of the change, with weights and KV rows where they are. Must not know how a route is opened.
#pragma once

#include <optional>
#include <string>

#include "open/node_pool.h"
#include "open/plan_by_ability.h"
#include "plan/plan.h"
#include "plan/turn_changes.h"

namespace aster::open {

// Why another plan takes over, for users; nullopt if the plan stays. `wanted` has the turn as its
// only request; `opening_s` is the time to open a route whose weights are not in memory.
std::optional<std::string> ChangeForTurn(const NodePool& pool, const WantedPlan& wanted,
                                         const plan::Plan& current, double opening_s,
                                         plan::TurnChanges& changes);

}  // namespace aster::open
