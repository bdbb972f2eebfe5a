// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The measured rate of each address of other machines: the fastest of several networks should be
// used. Must not know who measures, or why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/mutex.h"

namespace aster::net {

// The cost of a path for both rows of one token and those of a prompt: the time to connect, and to
// carry 64 KiB. A rate of 0 is unknown, and adds nothing.
int64_t PathCostNs(int64_t answer_ns, double bytes_per_s);

// Safe for concurrent use.
class PathRates {
 public:
  // `host`: the numeric address, without a port. If too many are stored, one is dropped.
  void Set(const std::string& host, double bytes_per_s) EXCLUDES(mu_);
  // 0: not measured.
  double Of(const std::string& host) const EXCLUDES(mu_);

 private:
  static constexpr size_t kMaxHosts = 4096;

  mutable Mutex mu_;
  std::map<std::string, double> rates_ GUARDED_BY(mu_);
};

}  // namespace aster::net
