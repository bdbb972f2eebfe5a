// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The round trip to a machine. The kernel there accepts the connection, so no thread of a busy
// machine has to wake up first. Must not know who listens.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace aster::net {

// The fastest of a few connections to HOST:PORT, without any data.
Result<int64_t> ConnectTime(const std::string& address, const Clock& clock, int64_t timeout_ns);

}  // namespace aster::net
