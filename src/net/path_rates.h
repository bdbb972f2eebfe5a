// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many bytes a second came from each address of other machines, as it was measured: a machine
// on several networks is to be used over the fastest. Must not know who measures, or why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/mutex.h"

namespace aster::net {

// What a path costs that carries both rows of one token and those of a prompt: until it has
// answered, and has carried 64 KiB. A rate of 0 is not known, and costs nothing.
int64_t PathCostNs(int64_t answer_ns, double bytes_per_s);

// Safe for concurrent use.
class PathRates {
 public:
  // Of the address as a number, without a port. Where too many are known, one is forgotten.
  void Set(const std::string& host, double bytes_per_s) EXCLUDES(mu_);
  // 0: not measured.
  double Of(const std::string& host) const EXCLUDES(mu_);

 private:
  static constexpr size_t kMaxHosts = 4096;

  mutable Mutex mu_;
  std::map<std::string, double> rates_ GUARDED_BY(mu_);
};

}  // namespace aster::net
