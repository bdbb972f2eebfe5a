// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace aster::serve {
namespace {

constexpr double kNsPerS = 1e9;

std::string Line(const char* kind, const char* name, const char* help, uint64_t value) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, kind, value);
}

}  // namespace

void Histogram::Add(double value) {
  const auto bound = std::ranges::lower_bound(kBounds, value);
  ++counts_[static_cast<size_t>(bound - kBounds.begin())];
  ++count_;
  sum_ += value;
}

double Histogram::Quantile(double part) const {
  uint64_t below = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    below += counts_[i];
    if (static_cast<double>(below) >= part * static_cast<double>(count_)) return kBounds[i];
  }
  return kBounds.back();
}

std::string Histogram::ToText(const std::string& name, const std::string& help) const {
  std::string text = fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
  uint64_t below = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    below += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], below);
  }
  return text + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                            count_, sum_);
}

void Metrics::CountRequest(const std::string& path, int status) {
  const MutexLock lock(mu_);
  ++requests_[{path, status}];
}

void Metrics::AddAnswer(uint64_t prompt, uint64_t cached, uint64_t answer) {
  const MutexLock lock(mu_);
  totals_.prompt_tokens += prompt;
  totals_.cached_tokens += cached;
  totals_.answer_tokens += answer;
  ++totals_.answers;
}

void Metrics::CountAbandoned() {
  const MutexLock lock(mu_);
  ++totals_.abandoned;
}

void Metrics::CountFailed() {
  const MutexLock lock(mu_);
  ++totals_.failed;
}

void Metrics::AddFirstToken(int64_t ns) {
  const MutexLock lock(mu_);
  first_token_.Add(static_cast<double>(ns) / kNsPerS);
}

void Metrics::AddNextToken(int64_t ns) {
  const MutexLock lock(mu_);
  next_token_.Add(static_cast<double>(ns) / kNsPerS);
}

Totals Metrics::totals() const {
  const MutexLock lock(mu_);
  return totals_;
}

Histogram Metrics::first_token() const {
  const MutexLock lock(mu_);
  return first_token_;
}

Histogram Metrics::next_token() const {
  const MutexLock lock(mu_);
  return next_token_;
}

std::string Metrics::ToPrometheus(const Gauges& gauges) const {
  const MutexLock lock(mu_);
  std::string text =
      "# HELP aster_http_requests_total Requests that were answered.\n"
      "# TYPE aster_http_requests_total counter\n";
  for (const auto& [key, count] : requests_) {
    text += fmt::format("aster_http_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, count);
  }
  text += Line("counter", "aster_prompt_tokens_total", "Tokens of prompts.", totals_.prompt_tokens);
  text += Line("counter", "aster_cached_tokens_total", "Of them, remembered already.",
               totals_.cached_tokens);
  text += Line("counter", "aster_answer_tokens_total", "Tokens of answers.", totals_.answer_tokens);
  text +=
      Line("counter", "aster_answers_total", "Answers that came to their end.", totals_.answers);
  text +=
      Line("counter", "aster_abandoned_total", "Answers whose client was gone.", totals_.abandoned);
  text += Line("counter", "aster_failed_total", "Answers that failed.", totals_.failed);
  text += Line("gauge", "aster_queued", "Answers that wait to be begun.", gauges.queued);
  text += Line("gauge", "aster_running", "Answers under way.", gauges.running);
  text += Line("gauge", "aster_connections", "Connections that are open.", gauges.connections);
  text += first_token_.ToText("aster_first_token_seconds", "From the request to its first token.");
  return text + next_token_.ToText("aster_next_token_seconds", "Between two tokens of an answer.");
}

}  // namespace aster::serve
