// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/connect_time.h"

#include <poll.h>

#include <algorithm>

#include "net/socket.h"

namespace aster::net {
namespace {

constexpr int kConnections = 5;

Result<int64_t> ConnectOnce(const Endpoint& endpoint, const Clock& clock, int64_t timeout_ns) {
  const int64_t begin_ns = clock.NowNs();
  const Socket socket = TRY(BeginConnect(endpoint));
  pollfd connecting = {socket.descriptor(), POLLOUT, 0};
  if (poll(&connecting, 1, static_cast<int>(timeout_ns / kNsPerMs)) <= 0)
    return Error(Code::kDeadlineExceeded, endpoint.ToText() + " does not answer");
  TRY(FinishConnect(socket.descriptor()));
  return std::max<int64_t>(clock.NowNs() - begin_ns, 1);
}

}  // namespace

Result<int64_t> ConnectTime(const std::string& address, const Clock& clock, int64_t timeout_ns) {
  const Endpoint endpoint = TRY(Resolve(TRY(ParseHostPort(address)))).front();
  int64_t least_ns = kNeverNs;
  for (int i = 0; i < kConnections; ++i)
    least_ns = std::min(least_ns, TRY(ConnectOnce(endpoint, clock, timeout_ns)));
  return least_ns;
}

}  // namespace aster::net
