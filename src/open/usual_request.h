// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Summarises the recent requests of a server, for plans. Must not know plans.
#pragma once

#include <span>
#include <vector>

#include "conduct/live_request.h"
#include "open/cluster_options.h"

namespace aster::open {

// For each of the last requests, the tokens that it had to compute and its answer, the newest last.
// Empty if several ran at once (then a pipeline is best), or if there are too few.
std::vector<ExpectedRequest> UsualRequests(std::span<const conduct::RequestForecast> last);

// There must be at least one.
ExpectedRequest MeanOf(std::span<const ExpectedRequest> requests);

// At most `most` requests, each for an equal part of all: the mean of those with the shortest
// prompts, and so on. If all are similar, only their mean.
std::vector<ExpectedRequest> Summarise(std::vector<ExpectedRequest> requests, size_t most);

}  // namespace aster::open
