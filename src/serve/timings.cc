// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/timings.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

double Milliseconds(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

ordered_json SecondsAsMs(double seconds) {
  return seconds > 0 ? ordered_json(seconds * 1000) : ordered_json(nullptr);
}

ordered_json PlanJson(const respond::PlanUsed& used) {
  return {{"nodes", used.plan},
          {"direct", used.is_direct},
          {"held_n", used.held_tokens},
          {"fetched_n", used.fetched_tokens},
          {"beside", used.others},
          {"expected_fetch_ms", SecondsAsMs(used.fetch_s)},
          {"fetch_ms", SecondsAsMs(used.actual_fetch_s)},
          {"expected_first_token_ms", SecondsAsMs(used.first_token_s)},
          {"first_token_ms", SecondsAsMs(used.actual_first_token_s)},
          {"expected_per_token_ms", SecondsAsMs(used.token_s)},
          {"per_token_ms", SecondsAsMs(used.actual_token_s)}};
}

}  // namespace

ordered_json TimingsJson(const Usage& usage) {
  const double prompt_ms = Milliseconds(usage.times.prefill_ns);
  const double answer_ms = Milliseconds(usage.times.decode_ns);
  const auto computed = static_cast<double>(usage.prompt - usage.cached);
  const double following = usage.answer > 0 ? static_cast<double>(usage.answer - 1) : 0;
  ordered_json json = {{"cache_n", usage.cached},
                       {"prompt_n", usage.prompt - usage.cached},
                       {"prompt_ms", prompt_ms},
                       {"prompt_per_token_ms", Ratio(prompt_ms, computed)},
                       {"prompt_per_second", Ratio(computed * 1000, prompt_ms)},
                       {"predicted_n", usage.answer},
                       {"predicted_ms", answer_ms},
                       {"predicted_per_token_ms", Ratio(answer_ms, following)},
                       {"predicted_per_second", Ratio(following * 1000, answer_ms)}};
  if (usage.drafted > 0) {
    json["draft_n"] = usage.drafted;
    json["draft_n_accepted"] = usage.accepted;
  }
  if (usage.plan) json["plan"] = PlanJson(*usage.plan);
  return json;
}

ordered_json ProgressJson(const PromptProgress& progress) {
  return {{"total", progress.total},
          {"processed", progress.done},
          {"time_ms", Milliseconds(progress.ns)}};
}

}  // namespace aster::serve
