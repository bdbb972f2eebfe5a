// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What GLM 4.5 to 4.7 and MiniMax M2 have of their own among a model's numbers: heads that turn in
// part, and a router whose scores are sigmoids. Must not know weights.
#pragma once

#include "base/result.h"
#include "model/shape/shape.h"
#include "model/shape/shape_keys.h"

namespace aster::model {

// Everything but what every mixture of experts has. The layers have been counted.
Status ReadGlm(const Keys& keys, Shape& shape);
Status ReadMiniMax(const Keys& keys, Shape& shape);

// Of either.
Status CheckSigmoidMixture(const Shape& shape);

}  // namespace aster::model
