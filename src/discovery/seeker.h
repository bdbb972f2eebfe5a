// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Looks for the machines that have a label, for commands that know no address. Must not know what
// they are asked then.
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

  // The next place, HOST:PORT, where such a machine is said to be, each once; nothing at the
  // deadline.
  std::optional<std::string> Next(int64_t deadline_ns) EXCLUDES(mu_);

 private:
  // Of more answers, some are not honest.
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
