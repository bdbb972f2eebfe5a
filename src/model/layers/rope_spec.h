// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model's RoPE as the kernels' specification. Must not know who uses it.
#pragma once

#include "kernels/rope.h"
#include "model/shape/shape.h"

namespace aster::model {

// The shape has passed CheckShape.
kernels::RopeSpec RopeSpecOf(const Rope& rope);

// The factor of cosines and sines.
double RopeMagnitudeOf(const Rope& rope);

}  // namespace aster::model
