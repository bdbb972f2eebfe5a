// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Ways of computing a text on several nodes, for `aster verify`. Must not know how they are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/terminal/console.h"
#include "engine/verify.h"
#include "open/node_session.h"
#include "plan/plan.h"

namespace aster::cli {

// The layers before which a model of `layer_count` layers is cut, ascending. All, except in a model
// of many layers.
std::vector<uint32_t> CutsToVerify(uint32_t layer_count);

// Groups of these nodes that cannot compute the model, and why: VerifyOnNodes leaves them out.
std::vector<std::string> GroupsLeftOut(const open::NodeSession& nodes);

// Cuts the model between the nodes, in this order and in the reverse, with several slices on a
// node, and with all of it on one other node; and, first, by the plan `asked`, if there is one.
Result<std::vector<engine::VerifiedWay>> VerifyOnNodes(open::NodeSession& nodes,
                                                       const std::optional<plan::Plan>& asked,
                                                       std::span<const int32_t> tokens,
                                                       const Clock& clock,
                                                       const engine::VerifySink& sink,
                                                       Console& console);

}  // namespace aster::cli
