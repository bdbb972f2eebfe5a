// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which nodes were a group lately, and what they waited for each other, by what each of them says
// of itself. Only numbers: must not know where they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/group_search.h"
#include "plan/planner.h"

namespace aster::plan {

// By what nodes took lately, the newest slice last. Nothing where no parts of the same layers make
// a whole, or older programs did not count what they waited.
std::optional<SeenGathers> FindGathers(std::span<const NodeAbility> nodes, uint32_t layer_count);

}  // namespace aster::plan
