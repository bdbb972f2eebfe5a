// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bounds how much a TCP connection may receive: the kernel drops later segments, whenever this
// process next gets a processor. Must not know why.
#pragma once

#include <cstdint>

#include "net/socket.h"

namespace aster::rpc {

// Connections that the listener accepts from now on can be limited.
void KeepStarts(const net::Socket& listener);
// At most max_bytes and one segment more, from the connection's first byte on. False if the system
// cannot do that.
bool LimitInput(const net::Socket& connection, uint32_t max_bytes);
// The other end sends again what was dropped.
void EndInputLimit(const net::Socket& connection);

}  // namespace aster::rpc
