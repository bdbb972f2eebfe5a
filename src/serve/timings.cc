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
  return json;
}

ordered_json ProgressJson(const PromptProgress& progress) {
  return {{"total", progress.total},
          {"processed", progress.done},
          {"time_ms", Milliseconds(progress.ns)}};
}

}  // namespace aster::serve
