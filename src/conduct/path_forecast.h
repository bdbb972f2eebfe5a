// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Predicts the times that a path of a route takes for prompts and for tokens: those of the plan,
// corrected by the times of earlier requests. Must not know requests, nor clocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/typical.h"

namespace aster::conduct {

// The times that a plan expects of a path; 0: not known.
struct PlannedPath {
  double first_chunk_s = 0;  // through all stages, one after the other
  double chunk_s = 0;        // of the slowest stage
  double token_s = 0;        // from one token to the next
  double chunk_tokens = 256;
};

// Depends only on the times that it has learned. Not for concurrent use.
class PathForecast {
 public:
  explicit PathForecast(const PlannedPath& planned = {}) : planned_(planned) {}

  // From the beginning of prefill to the first token. 0: not known.
  double PrefillSeconds(uint32_t tokens) const;
  // From one token to the next with this number of requests. 0: not known.
  double TokenSeconds(size_t running) const;
  bool has_learned() const { return has_learned_; }

  void LearnPrefill(uint32_t tokens, double seconds);
  void LearnToken(size_t running, double seconds);

 private:
  static constexpr size_t kClasses = 33;  // classes of magnitude
  using Corrections = std::array<Typical, kClasses>;

  static double Corrected(const Corrections& corrections, size_t of_class);
  double PlannedPrefill(uint32_t tokens) const;

  const PlannedPath planned_;
  // Measured times divided by planned ones, or times of a token if the plan has none.
  Corrections prefill_;  // by the magnitude of the prompt
  Corrections token_;    // by the magnitude of the number of requests
  bool has_learned_ = false;
};

}  // namespace aster::conduct
