// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/layers/rope_spec.h"

namespace aster::model {

kernels::RopeSpec RopeSpecOf(const Rope& rope) {
  kernels::RopeSpec spec{.pairs = rope.dimensions / 2, .base = rope.base};
  if (rope.scaling == RopeScaling::kNone) return spec;
  spec.scaling = rope.scaling == RopeScaling::kLinear ? kernels::RopeScaling::kLinear
                                                      : kernels::RopeScaling::kYarn;
  spec.factor = rope.factor;
  spec.original_context = rope.original_context;
  spec.beta_fast = rope.beta_fast;
  spec.beta_slow = rope.beta_slow;
  return spec;
}

double RopeMagnitudeOf(const Rope& rope) {
  if (rope.scaling != RopeScaling::kYarn) return rope.attention_factor;
  // The part of the magnitude that scores are already multiplied with is left out here.
  const double whole = kernels::YarnMagnitude(rope.factor);
  const double elsewhere = 1.0 + double{rope.log_multiplier} * (whole - 1.0);
  return whole / elsewhere * rope.attention_factor;
}

}  // namespace aster::model
