// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds which nodes were a group lately, and how long they waited for each other, from the times
// that each node reports. Only numbers: must not know where they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/group_search.h"
#include "plan/planner.h"

namespace aster::plan {

// From the nodes' recent times, the newest slice last. Nullopt if no parts of the same layers add
// up to a whole, or if the nodes' programs are too old to report waiting.
std::optional<SeenGathers> FindGathers(std::span<const NodeAbility> nodes, uint32_t layer_count);

}  // namespace aster::plan
