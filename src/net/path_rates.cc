// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/path_rates.h"

#include "base/clock.h"

namespace aster::net {
namespace {

constexpr double kWeighedBytes = 65536;

}  // namespace

int64_t PathCostNs(int64_t answer_ns, double bytes_per_s) {
  if (bytes_per_s <= 0 || answer_ns == kNeverNs) return answer_ns;
  return answer_ns + static_cast<int64_t>(kWeighedBytes / bytes_per_s * kNsPerSecond);
}

void PathRates::Set(const std::string& host, double bytes_per_s) {
  const MutexLock lock(mu_);
  if (rates_.size() >= kMaxHosts && !rates_.contains(host)) rates_.erase(rates_.begin());
  rates_[host] = bytes_per_s;
}

double PathRates::Of(const std::string& host) const {
  const MutexLock lock(mu_);
  const auto found = rates_.find(host);
  return found == rates_.end() ? 0 : found->second;
}

}  // namespace aster::net
