// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which of a machine's addresses is the nearest: several networks may lead to it, some of them slow
// or broken. Must not know what it is used for.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "net/path_rates.h"
#include "net/socket.h"

namespace aster::net {

// Connects to all at once, sends nothing, and puts the addresses that answered first at the front.
// After the first answer the others have ten times as long; those without an answer follow in their
// old order. Takes half a second at most. With rates, those that answered are sorted by the cost of
// their paths (PathCostNs); one without a rate counts as the fastest of the others.
std::vector<Endpoint> NearestFirst(std::vector<Endpoint> endpoints, const Clock& clock,
                                   const PathRates* rates = nullptr);
// The same for HOST:PORT. Addresses that cannot be resolved keep their order at the end.
std::vector<std::string> NearestAddressesFirst(const std::vector<std::string>& addresses,
                                               const Clock& clock);

}  // namespace aster::net
