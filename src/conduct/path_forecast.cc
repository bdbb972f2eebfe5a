// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/path_forecast.h"

#include <algorithm>
#include <bit>

namespace aster::conduct {

double PathForecast::PlannedPrefill(uint32_t tokens) const {
  if (planned_.chunk_s <= 0) return tokens;
  // A short prompt takes at least the time of a token: the weights are read once.
  const double chunks = tokens / planned_.chunk_tokens;
  return std::max(planned_.first_chunk_s * std::min(chunks, 1.0), planned_.token_s) +
         planned_.chunk_s * std::max(chunks - 1, 0.0);
}

// The correction of the nearest magnitude with a known one, the smaller of two; 0: none is known.
double PathForecast::Corrected(const Corrections& corrections, size_t of_class) {
  for (size_t away = 0; away < kClasses; ++away) {
    if (away <= of_class && corrections[of_class - away].is_known())
      return corrections[of_class - away].value();
    if (of_class + away < kClasses && corrections[of_class + away].is_known())
      return corrections[of_class + away].value();
  }
  return 0;
}

double PathForecast::PrefillSeconds(uint32_t tokens) const {
  const double correction = Corrected(prefill_, std::bit_width(tokens));
  if (correction > 0) return PlannedPrefill(tokens) * correction;
  return planned_.chunk_s > 0 ? PlannedPrefill(tokens) : 0;
}

double PathForecast::TokenSeconds(size_t running) const {
  const auto of_class = static_cast<size_t>(std::bit_width(std::min(running, size_t{1} << 31)));
  const double correction = Corrected(token_, of_class);
  const double planned_s = planned_.token_s > 0 ? planned_.token_s : 1;
  if (correction > 0) return planned_s * correction;
  return planned_.token_s;
}

void PathForecast::LearnPrefill(uint32_t tokens, double seconds) {
  if (tokens == 0 || seconds <= 0) return;
  prefill_[std::bit_width(tokens)].Add(seconds / PlannedPrefill(tokens));
  has_learned_ = true;
}

void PathForecast::LearnToken(size_t running, double seconds) {
  if (seconds <= 0) return;
  const auto of_class = static_cast<size_t>(std::bit_width(std::min(running, size_t{1} << 31)));
  token_[of_class].Add(seconds / (planned_.token_s > 0 ? planned_.token_s : 1));
}

}  // namespace aster::conduct
