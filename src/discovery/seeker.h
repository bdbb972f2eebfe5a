// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the machines that have a label, for commands without an address. Must not know what they
// are asked then.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "discovery/discovery.h"

namespace aster::discovery {

class Seeker {
 public:
  // The clock outlives it.
  static Result<std::unique_ptr<Seeker>> Start(std::string label, uint16_t port, Clock& clock);

  // The next claimed address of such a machine, HOST:PORT, each once; nullopt at the deadline.
  std::optional<std::string> Next(int64_t deadline_ns) EXCLUDES(mu_);

 private:
  // With more answers, some are not honest.
  static constexpr size_t kMaxPlaces = 32;

  explicit Seeker(Clock& clock) : clock_(clock) {}
  void Add(const std::string& address) EXCLUDES(mu_);

  Clock& clock_;
  Mutex mu_;
  CondVar changed_;
  std::set<std::string> seen_ GUARDED_BY(mu_);
  std::deque<std::string> fresh_ GUARDED_BY(mu_);
  std::unique_ptr<Discovery> discovery_;  // ends first
};

}  // namespace aster::discovery
