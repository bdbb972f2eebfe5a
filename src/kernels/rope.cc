// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/rope.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/math.h"

namespace aster::kernels {
namespace {

double Llama3Frequency(const RopeSpec& spec, double frequency) {
  const double turns = spec.original_context * frequency / (2.0 * kPi);
  if (turns > spec.high_frequency_factor) return frequency;
  if (turns < spec.low_frequency_factor) return frequency / spec.factor;
  const double kept = (turns - spec.low_frequency_factor) /
                      (spec.high_frequency_factor - spec.low_frequency_factor);
  return (1.0 - kept) * (frequency / spec.factor) + kept * frequency;
}

// The pair (as a fraction) that turns `turns` times within the original context.
double YarnPair(const RopeSpec& spec, double turns) {
  const auto dimensions = static_cast<double>(2 * spec.pairs);
  return dimensions * Log(spec.original_context / (turns * 2.0 * kPi)) / (2.0 * Log(spec.base));
}

// By conversion: a call of floor may be the platform's library.
double Floor(double x) {
  const auto whole = static_cast<double>(static_cast<int64_t>(x));
  return whole > x ? whole - 1.0 : whole;
}
double Ceiling(double x) { return -Floor(-x); }

struct YarnRamp {
  double low;
  double high;
};

YarnRamp MakeYarnRamp(const RopeSpec& spec) {
  const auto last = static_cast<double>(2 * spec.pairs - 1);
  return {.low = std::max(0.0, Floor(YarnPair(spec, spec.beta_fast))),
          .high = std::min(last, Ceiling(YarnPair(spec, spec.beta_slow)))};
}

double YarnFrequency(const RopeSpec& spec, const YarnRamp& ramp, size_t pair, double frequency) {
  const double along =
      (static_cast<double>(pair) - ramp.low) / std::max(0.001, ramp.high - ramp.low);
  const double kept = (1.0 - std::clamp(along, 0.0, 1.0)) * spec.extrapolation;
  return (frequency / spec.factor) * (1.0 - kept) + frequency * kept;
}

}  // namespace

void RopeFrequencies(const RopeSpec& spec, const float* divisors, double* frequencies) {
  CHECK(spec.pairs > 0 && spec.base > 1.0 && spec.factor > 0.0);
  const bool stretched = spec.scaling == RopeScaling::kLlama3 || spec.scaling == RopeScaling::kYarn;
  CHECK(!stretched || spec.original_context > 0.0);
  const YarnRamp ramp = spec.scaling == RopeScaling::kYarn ? MakeYarnRamp(spec) : YarnRamp{};
  const auto dimensions = static_cast<double>(2 * spec.pairs);
  for (size_t i = 0; i < spec.pairs; ++i) {
    double frequency = Power(spec.base, -2.0 * static_cast<double>(i) / dimensions);
    if (divisors != nullptr) frequency /= static_cast<double>(divisors[i]);
    switch (spec.scaling) {
      case RopeScaling::kNone:
        break;
      case RopeScaling::kLinear:
        frequency /= spec.factor;
        break;
      case RopeScaling::kLlama3:
        frequency = Llama3Frequency(spec, frequency);
        break;
      case RopeScaling::kYarn:
        frequency = YarnFrequency(spec, ramp, i, frequency);
        break;
    }
    frequencies[i] = frequency;
  }
}

double YarnMagnitude(double factor) { return 1.0 + 0.1 * Log(factor); }

void RopeAngles(const double* frequencies, size_t pairs, double magnitude, int64_t position,
                float* cosines, float* sines) {
  CHECK(position >= 0 && position < kRopePositions);
  for (size_t i = 0; i < pairs; ++i) {
    const auto [sine, cosine] = SinCos(static_cast<double>(position) * frequencies[i]);
    cosines[i] = static_cast<float>(cosine * magnitude);
    sines[i] = static_cast<float>(sine * magnitude);
  }
}

}  // namespace aster::kernels
