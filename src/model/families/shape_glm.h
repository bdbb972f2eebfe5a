// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of GLM 4.5 to 4.7 and MiniMax M2: RoPE on a part of each head, and a router whose
// scores are sigmoids. Must not know weights.
#pragma once

#include "base/result.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything except what every mixture of experts has. The number of layers is known.
Status ReadGlm(const Keys& keys, Shape& shape);
Status ReadMiniMax(const Keys& keys, Shape& shape);

// An error if the computation does not support the numbers of either.
Status CheckSigmoidMixture(const Shape& shape);

}  // namespace aster::model
