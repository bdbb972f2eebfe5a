// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rotary position embedding (RoPE): how far each pair of elements turns per position, and the
// cosines and sines of one position, for OpsTable::rope. Computed in double precision with our own
// functions, so the tables are the same everywhere. Must not know which layers or rows are turned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aster::kernels {

enum class RopeScaling : uint8_t {
  kNone,
  kLinear,  // every frequency divided by the factor
  kLlama3,  // low frequencies divided by the factor, high ones kept, a linear ramp between
  kYarn,    // the same, by the number of turns within the original context
};

struct RopeSpec {
  size_t pairs;  // elements that turn / 2
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;  // how many times the original context was stretched
  double original_context = 0.0;

  // kLlama3: wavelengths above original_context / low are divided, those below original_context /
  // high are kept.
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;

  // kYarn: pairs that turn more often than fast keep their frequency, those below slow are divided.
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double extrapolation = 1.0;  // share of the kept frequencies in the mix, where they are kept
};

// Writes frequencies[pairs], in radians per position; each is divided by divisors[i] unless that
// array is null (some files carry one).
void RopeFrequencies(const RopeSpec& spec, const float* divisors, double* frequencies);

// YaRN's factor of cosines and sines, unless a model says otherwise: 1 + 0.1 ln(factor).
double YarnMagnitude(double factor);

// Positions are at least zero and below this.
inline constexpr int64_t kRopePositions = int64_t{1} << 24;

// cosines[i] = float(cos(position * frequencies[i]) * magnitude), and the sines likewise.
void RopeAngles(const double* frequencies, size_t pairs, double magnitude, int64_t position,
                float* cosines, float* sines);

}  // namespace aster::kernels
