// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the requests of a server are like at the moment, for plans. Must not know plans.
#pragma once

#include <optional>
#include <span>

#include "conduct/live_request.h"
#include "open/cluster_options.h"

namespace aster::open {

// Of the last requests, the newest last: the tokens that had to be computed and the answer, in the
// mean, where requests come one at a time. Nothing where several run at once, which a pipeline
// shares best, and of too few.
std::optional<ExpectedRequest> UsualRequest(std::span<const conduct::Foreseen> last);

}  // namespace aster::open
