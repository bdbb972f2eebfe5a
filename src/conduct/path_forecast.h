// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Foresees what a path of a route takes for prompts and for tokens: what the plan expects,
// corrected by what came before. Must not know requests, nor clocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/typical.h"

namespace aster::conduct {

// What a plan expects of a path; zeros are not known.
struct PlannedPath {
  double first_chunk_s = 0;  // through all stages, one after the other
  double chunk_s = 0;        // of the slowest stage
  double token_s = 0;        // from one token to the next
  double chunk_tokens = 256;
};

// A pure function of what it was told. Not for concurrent use.
class PathForecast {
 public:
  explicit PathForecast(const PlannedPath& planned = {}) : planned_(planned) {}

  // From the beginning of a prompt's computing to its first token. 0: not known.
  double PrefillSeconds(uint32_t tokens) const;
  // From one token to the next with this number of requests. 0: not known.
  double TokenSeconds(size_t running) const;
  bool has_learned() const { return has_learned_; }

  void LearnPrefill(uint32_t tokens, double seconds);
  void LearnToken(size_t running, double seconds);

 private:
  static constexpr size_t kClasses = 33;  // of magnitude
  using Corrections = std::array<Typical, kClasses>;

  static double Corrected(const Corrections& corrections, size_t of_class);
  double PlannedPrefill(uint32_t tokens) const;

  const PlannedPath planned_;
  // Measured by planned times, or by the token where nothing is planned.
  Corrections prefill_;  // by the magnitude of prompts
  Corrections token_;    // by the magnitude of the number of requests
  bool has_learned_ = false;
};

}  // namespace aster::conduct
