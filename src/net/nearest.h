// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which of a machine's addresses is the nearest: several networks may lead to it, and some of them
// nowhere. Must not know what is wanted there.
#pragma once

#include <vector>

#include "base/clock.h"
#include "net/socket.h"

namespace aster::net {

// Connects to all at once, says nothing, and puts those first that answered soonest. Once one has
// answered the others have ten times as long; those that have not then keep their order behind.
// Takes half a second at most.
std::vector<Endpoint> NearestFirst(std::vector<Endpoint> endpoints, const Clock& clock);

}  // namespace aster::net
