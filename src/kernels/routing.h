// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which experts a token goes to, and with what weights. Must not know what experts compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops.h"

namespace aster::kernels {

enum class RouterScore : uint8_t { kSoftmax, kSigmoid, kSqrtSoftplus };

struct RoutingSpec {
  RouterScore score = RouterScore::kSoftmax;
  bool normalized = false;      // whether the weights of the chosen are divided by their sum …
  float lowest_sum = 0x1p-14f;  // … or by this where the sum is smaller
  float scale = 1.0f;
};

// scores[experts] of the logits, by the spec's function (softmax goes over all experts).
void RouterScores(const OpsTable& ops, RouterScore score, const float* logits, size_t experts,
                  float* scores);

// The `chosen` experts with the largest scores, bias added for the choice only unless it is null:
// ids in descending order, of equals the lowest index first. NaN ranks with minus infinity.
void SelectExperts(const float* scores, const float* bias, size_t experts, size_t chosen,
                   int32_t* ids);

// weights[i] = scores[ids[i]], divided by the sum (taken in the order of ids) if the spec says so,
// times the scale. Ids may repeat.
void RouterWeights(const RoutingSpec& spec, const float* scores, const int32_t* ids, size_t chosen,
                   float* weights);

}  // namespace aster::kernels
