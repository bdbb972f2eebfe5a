// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the requests of a server are like at the moment, for plans. Must not know plans.
#pragma once

#include <span>
#include <vector>

#include "conduct/live_request.h"
#include "open/cluster_options.h"

namespace aster::open {

// Of the last requests, the newest last: the tokens that each had to compute, and its answer, where
// requests come one at a time. None where several run at once, which a pipeline shares best, and
// of too few.
std::vector<ExpectedRequest> UsualRequests(std::span<const conduct::Foreseen> last);

// There is one at least.
ExpectedRequest MeanOf(std::span<const ExpectedRequest> requests);

// As many requests as these at most, which stand for equal parts of all: the means of those with
// the shortest prompts, and so on. Of requests that are much alike their mean alone.
std::vector<ExpectedRequest> Summarise(std::vector<ExpectedRequest> requests, size_t most);

}  // namespace aster::open
