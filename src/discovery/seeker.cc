// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/seeker.h"

#include <utility>

namespace aster::discovery {

Result<std::unique_ptr<Seeker>> Seeker::Start(std::string label, uint16_t port, Clock& clock) {
  // tidy: allow(ownership) make_unique does not reach a private constructor
  std::unique_ptr<Seeker> seeker(new Seeker(clock));
  DiscoveryOptions options;
  options.port = port;
  options.wanted = {std::move(label)};
  options.on_found = [self = seeker.get()](const std::string& address) { self->Add(address); };
  seeker->discovery_ = TRY(Discovery::Start(std::move(options), clock));
  return seeker;
}

void Seeker::Add(const std::string& address) {
  const MutexLock lock(mu_);
  if (seen_.size() >= kMaxPlaces || !seen_.insert(address).second) return;
  fresh_.push_back(address);
  changed_.NotifyAll();
}

std::optional<std::string> Seeker::Next(int64_t deadline_ns) {
  const MutexLock lock(mu_);
  while (fresh_.empty()) {
    if (!clock_.WaitUntil(changed_, mu_, deadline_ns)) return std::nullopt;
  }
  std::string address = std::move(fresh_.front());
  fresh_.pop_front();
  return address;
}

}  // namespace aster::discovery
