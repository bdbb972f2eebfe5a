// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What the server has done since it began, for Prometheus and for people. Must not know who reads
// it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace aster::serve {

// Counts of values below bounds that grow by the same factor.
class Histogram {
 public:
  static constexpr std::array<double, 12> kBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                     0.5,   1,    2.5,   5,    15,  60};
  void Add(double value);
  // In Prometheus' form, cumulative.
  std::string ToText(const std::string& name, const std::string& help) const;
  double Quantile(double part) const;  // the bound below which so many values are
  uint64_t count() const { return count_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_ = {};
  uint64_t count_ = 0;
  double sum_ = 0;
};

struct Totals {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  // of them
  uint64_t answer_tokens = 0;
  uint64_t answers = 0;
  uint64_t abandoned = 0;  // the client was gone before the end
  uint64_t failed = 0;
};

// What is going on now.
struct Gauges {
  uint64_t queued = 0;
  uint64_t running = 0;
  uint64_t connections = 0;
};

// Safe for concurrent use.
class Metrics {
 public:
  void CountRequest(const std::string& path, int status) EXCLUDES(mu_);
  void AddAnswer(uint64_t prompt, uint64_t cached, uint64_t answer) EXCLUDES(mu_);
  void CountAbandoned() EXCLUDES(mu_);
  void CountFailed() EXCLUDES(mu_);
  void AddFirstToken(int64_t ns) EXCLUDES(mu_);
  void AddNextToken(int64_t ns) EXCLUDES(mu_);

  Totals totals() const EXCLUDES(mu_);
  Histogram first_token() const EXCLUDES(mu_);
  Histogram next_token() const EXCLUDES(mu_);
  std::string ToPrometheus(const Gauges& gauges) const EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  Totals totals_ GUARDED_BY(mu_);
  Histogram first_token_ GUARDED_BY(mu_);  // seconds from the request to its first token
  Histogram next_token_ GUARDED_BY(mu_);   // seconds between two tokens
  std::map<std::pair<std::string, int>, uint64_t> requests_ GUARDED_BY(mu_);  // by path and status
};

}  // namespace aster::serve
