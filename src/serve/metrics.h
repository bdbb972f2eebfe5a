// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Counters and histograms of the server since its start (time to first token, TTFT; inter-token
// latency; throughput), for Prometheus and for users. Must not know who reads them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "open/figures.h"

namespace aster::serve {

// Counts of values below bounds that grow by a constant factor.
class Histogram {
 public:
  using Bounds = std::array<double, 12>;
  static constexpr Bounds kSeconds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60};
  static constexpr Bounds kTokensPerSecond = {1,   2.5, 5,   10,   25,   50,
                                              100, 250, 500, 1000, 2500, 10000};

  // `bounds`: one of these.
  explicit Histogram(const Bounds& bounds = kSeconds) : bounds_(&bounds) {}
  void Add(double value);
  // In Prometheus' form, cumulative; `label` distinguishes it from others of the same name.
  std::string ToText(const std::string& name, const std::string& label) const;
  double Quantile(double part) const;  // the bound below which this part of the values lies
  uint64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  const Bounds* bounds_;
  std::array<uint64_t, std::tuple_size_v<Bounds> + 1> counts_ = {};
  uint64_t count_ = 0;
  double sum_ = 0;
};

struct Totals {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  // of prompt_tokens
  uint64_t answer_tokens = 0;
  uint64_t drafted_tokens = 0;   // draft tokens that were checked
  uint64_t accepted_tokens = 0;  // of these, those that were right
  uint64_t answers = 0;          // completed
  uint64_t abandoned = 0;        // the client was gone before the end
  uint64_t failed = 0;

  Totals& operator+=(const Totals& other);
};

// The metrics of one model. Safe for concurrent use.
class Metrics {
 public:
  void Add(const Totals& more) EXCLUDES(mu_);
  void AddFirstToken(int64_t ns) EXCLUDES(mu_);
  void AddNextToken(int64_t ns) EXCLUDES(mu_);
  void SetHops(open::HopsFigures hops) EXCLUDES(mu_);
  void SetRemoteDrafts(const open::RemoteDraftFigures& drafts) EXCLUDES(mu_);
  void SetMemory(const open::MemoryFigures& memory) EXCLUDES(mu_);
  // The rate of a prefill, or of a decode; nothing if it took no time.
  void AddPromptRate(uint64_t tokens, int64_t ns) EXCLUDES(mu_);
  void AddAnswerRate(uint64_t tokens, int64_t ns) EXCLUDES(mu_);

  Totals totals() const EXCLUDES(mu_);
  Histogram first_token() const EXCLUDES(mu_);
  Histogram next_token() const EXCLUDES(mu_);
  open::HopsFigures hops() const EXCLUDES(mu_);
  open::RemoteDraftFigures remote_drafts() const EXCLUDES(mu_);
  open::MemoryFigures memory() const EXCLUDES(mu_);
  Histogram prompt_rate() const EXCLUDES(mu_);
  Histogram answer_rate() const EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  Totals totals_ GUARDED_BY(mu_);
  Histogram first_token_ GUARDED_BY(mu_);  // seconds from the request to its first token
  Histogram next_token_ GUARDED_BY(mu_);   // seconds between two tokens
  Histogram prompt_rate_ GUARDED_BY(mu_) = Histogram(Histogram::kTokensPerSecond);
  Histogram answer_rate_ GUARDED_BY(mu_) = Histogram(Histogram::kTokensPerSecond);
  open::HopsFigures hops_ GUARDED_BY(mu_);
  open::RemoteDraftFigures remote_drafts_ GUARDED_BY(mu_);
  open::MemoryFigures memory_ GUARDED_BY(mu_);
};

// Requests by path and status. Safe for concurrent use.
class RequestCounts {
 public:
  using Map = std::map<std::pair<std::string, int>, uint64_t>;
  void Count(const std::string& path, int status) EXCLUDES(mu_);
  Map all() const EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  Map counts_ GUARDED_BY(mu_);
};

// The present state of a model.
struct ModelFigures {
  std::string model;  // its name
  uint64_t queued = 0;
  uint64_t running = 0;
  Totals totals = {};
  Histogram first_token = Histogram();
  Histogram next_token = Histogram();
  Histogram prompt_rate = Histogram(Histogram::kTokensPerSecond);
  Histogram answer_rate = Histogram(Histogram::kTokensPerSecond);
  open::HopsFigures hops = {};
  open::RemoteDraftFigures remote_drafts = {};
  open::MemoryFigures memory = {};
};

// All of it in Prometheus' format.
std::string ToPrometheus(const RequestCounts::Map& requests, uint64_t connections,
                         std::span<const ModelFigures> models);

}  // namespace aster::serve
