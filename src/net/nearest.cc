// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/nearest.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace aster::net {
namespace {

constexpr int64_t kLongestNs = 500 * kNsPerMs;
// Beside the soonest: threads wake up late, too.
constexpr int64_t kTimesTheSoonest = 10;
constexpr int64_t kAtLeastNs = 5 * kNsPerMs;

struct Attempt {
  Endpoint endpoint;
  std::optional<Socket> socket;  // until it has answered or failed
  int64_t answered_ns = kNeverNs;
};

// Those whose sockets are ready have answered, or cannot be reached.
void Take(std::vector<Attempt>& attempts, const std::vector<pollfd>& polled, int64_t now_ns) {
  for (const pollfd& ready : polled) {
    if (ready.revents == 0) continue;
    const auto attempt = std::ranges::find_if(attempts, [&](const Attempt& of) {
      return of.socket && of.socket->descriptor() == ready.fd;
    });
    if (FinishConnect(ready.fd).ok()) attempt->answered_ns = now_ns;
    attempt->socket.reset();
  }
}

}  // namespace

std::vector<Endpoint> NearestFirst(std::vector<Endpoint> endpoints, const Clock& clock) {
  if (endpoints.size() < 2) return endpoints;
  std::vector<Attempt> attempts;
  const int64_t begin_ns = clock.NowNs();
  for (Endpoint& endpoint : endpoints) {
    Attempt& attempt = attempts.emplace_back();
    attempt.endpoint = std::move(endpoint);
    if (auto socket = BeginConnect(attempt.endpoint); socket.ok())
      attempt.socket.emplace(*std::move(socket));
  }
  for (int64_t until_ns = begin_ns + kLongestNs;;) {
    std::vector<pollfd> polled;
    for (const Attempt& attempt : attempts) {
      if (attempt.socket) polled.push_back({attempt.socket->descriptor(), POLLOUT, 0});
    }
    const int64_t left_ns = until_ns - clock.NowNs();
    if (polled.empty() || left_ns <= 0) break;
    const auto left_ms = static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs);
    if (poll(polled.data(), polled.size(), left_ms) <= 0) break;
    const int64_t now_ns = clock.NowNs();
    Take(attempts, polled, now_ns);
    const bool has_answer = std::ranges::any_of(
        attempts, [&](const Attempt& attempt) { return attempt.answered_ns == now_ns; });
    const int64_t took_ns = now_ns - begin_ns;
    if (has_answer)
      until_ns = std::min(until_ns, begin_ns + std::max(kTimesTheSoonest * took_ns, kAtLeastNs));
  }
  std::ranges::stable_sort(attempts, {}, &Attempt::answered_ns);
  endpoints.clear();
  for (Attempt& attempt : attempts) endpoints.push_back(std::move(attempt.endpoint));
  return endpoints;
}

}  // namespace aster::net
