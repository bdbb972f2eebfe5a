// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which of a machine's addresses is the nearest: several networks may lead to it, and some of them
// nowhere, or slowly. Must not know what is wanted there.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "net/path_rates.h"
#include "net/socket.h"

namespace aster::net {

// Connects to all at once, says nothing, and puts those first that answered soonest. Once one has
// answered the others have ten times as long; those that have not then keep their order behind.
// Takes half a second at most. Where rates are given, those that answered are sorted by the cost of
// their paths (PathCostNs); one without a rate counts as the fastest of the others.
std::vector<Endpoint> NearestFirst(std::vector<Endpoint> endpoints, const Clock& clock,
                                   const PathRates* rates = nullptr);
// The same of addresses (HOST:PORT). Those that cannot be resolved keep their order at the end.
std::vector<std::string> NearestAddressesFirst(const std::vector<std::string>& addresses,
                                               const Clock& clock);

}  // namespace aster::net
