// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a model's positions turn, in the words of the kernels. Must not know who turns by it.
#pragma once

#include "kernels/rope.h"
#include "model/shape/shape.h"

namespace aster::model {

// Of what CheckShape has passed.
kernels::RopeSpec RopeSpecOf(const Rope& rope);

// What cosines and sines are multiplied with.
double RopeMagnitudeOf(const Rope& rope);

}  // namespace aster::model
