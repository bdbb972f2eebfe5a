// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/nearest.h"

#include <poll.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace aster::net {
namespace {

constexpr int64_t kLongestNs = 500 * kNsPerMs;
// Relative to the first answer: threads wake up late, too.
constexpr int64_t kTimesTheSoonest = 10;
constexpr int64_t kAtLeastNs = 5 * kNsPerMs;

struct Attempt {
  Endpoint endpoint;
  std::optional<Socket> socket;    // until it has connected or failed
  int64_t answered_ns = kNeverNs;  // after the beginning
};

// Attempts with a ready socket have connected or failed.
void Take(std::vector<Attempt>& attempts, const std::vector<pollfd>& polled, int64_t took_ns) {
  for (const pollfd& ready : polled) {
    if (ready.revents == 0) continue;
    const auto attempt = std::ranges::find_if(attempts, [&](const Attempt& of) {
      return of.socket && of.socket->descriptor() == ready.fd;
    });
    if (FinishConnect(ready.fd).ok()) attempt->answered_ns = took_ns;
    attempt->socket.reset();
  }
}

void SortByCost(std::vector<Attempt>& attempts, const PathRates* rates) {
  std::vector<double> rate_of;
  for (const Attempt& attempt : attempts)
    rate_of.push_back(rates == nullptr ? 0 : rates->Of(attempt.endpoint.host()));
  const double fastest = std::ranges::max(rate_of);
  for (size_t i = 0; i < attempts.size(); ++i) {
    const double rate = rate_of[i] > 0 ? rate_of[i] : fastest;
    attempts[i].answered_ns = PathCostNs(attempts[i].answered_ns, rate);
  }
  std::ranges::stable_sort(attempts, {}, &Attempt::answered_ns);
}

}  // namespace

std::vector<Endpoint> NearestFirst(std::vector<Endpoint> endpoints, const Clock& clock,
                                   const PathRates* rates) {
  if (endpoints.size() < 2) return endpoints;
  // Begins to connect to all, then waits until the deadline, which the first answer brings forward.
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
    const int64_t took_ns = clock.NowNs() - begin_ns;
    Take(attempts, polled, took_ns);
    const bool has_answer = std::ranges::any_of(
        attempts, [&](const Attempt& attempt) { return attempt.answered_ns == took_ns; });
    if (has_answer)
      until_ns = std::min(until_ns, begin_ns + std::max(kTimesTheSoonest * took_ns, kAtLeastNs));
  }
  SortByCost(attempts, rates);
  endpoints.clear();
  for (Attempt& attempt : attempts) endpoints.push_back(std::move(attempt.endpoint));
  return endpoints;
}

std::vector<std::string> NearestAddressesFirst(const std::vector<std::string>& addresses,
                                               const Clock& clock) {
  if (addresses.size() < 2) return addresses;
  std::vector<Endpoint> endpoints;
  std::map<std::string, std::string> address_of;  // keyed by the endpoint's text
  std::vector<std::string> unresolved;
  for (const std::string& address : addresses) {
    const auto host_port = ParseHostPort(address);
    auto found = host_port.ok() ? Resolve(*host_port) : host_port.error();
    const bool is_new = found.ok() && address_of.emplace(found->front().ToText(), address).second;
    if (is_new) {
      endpoints.push_back(found->front());
    } else {
      unresolved.push_back(address);
    }
  }
  std::vector<std::string> sorted;
  for (const Endpoint& endpoint : NearestFirst(std::move(endpoints), clock))
    sorted.push_back(address_of.at(endpoint.ToText()));
  sorted.insert(sorted.end(), unresolved.begin(), unresolved.end());
  return sorted;
}

}  // namespace aster::net
