// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Asks nodes which KV rows of a text are in their KV caches, before there is a plan for it. Must
// not know plans, nor routes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/layout.h"
#include "net/network.h"
#include "plan/planner.h"

namespace aster::open {

// Asks all of the nodes, and waits at most half a second for their answers. Finds only rows of full
// pages, and never that of the last token, which is computed in any case. No other code may receive
// from the network meanwhile.
std::vector<plan::HeldRows> FindHeldRows(net::Network& network,
                                         std::span<const plan::PlanNode> nodes,
                                         const kv::Layout& layout, std::span<const int32_t> tokens);

}  // namespace aster::open
