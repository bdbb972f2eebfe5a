// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How long the way to a machine and back is. The kernel there answers a new connection, so that no
// thread of a busy machine has to wake up first. Must not know who listens.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace aster::net {

// Of the fastest of a few connections to HOST:PORT, which say nothing.
Result<int64_t> ConnectTime(const std::string& address, const Clock& clock, int64_t timeout_ns);

}  // namespace aster::net
