// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether the next turn of a conversation is computed by another plan: what each takes for it, and
// what the change costs where weights and KV rows are. Must not know how a route is opened.
#pragma once

#include <optional>
#include <string>

#include "open/node_pool.h"
#include "open/plan_by_ability.h"
#include "plan/plan.h"
#include "plan/turn_changes.h"

namespace aster::open {

// For people, why another plan takes over; nothing where the plan stays. `wanted` has the turn as
// its only request; `opening_s` is what a route with weights that no node has in memory takes.
std::optional<std::string> ChangeForTurn(const NodePool& pool, const WantedPlan& wanted,
                                         const plan::Plan& current, double opening_s,
                                         plan::TurnChanges& changes);

}  // namespace aster::open
