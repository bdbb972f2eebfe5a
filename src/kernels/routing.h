// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chooses the experts of a token and their weights. Must not know what experts compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops.h"

namespace aster::kernels {

enum class RouterScore : uint8_t { kSoftmax, kSigmoid, kSqrtSoftplus };

struct RoutingSpec {
  RouterScore score = RouterScore::kSoftmax;
  bool normalized = false;      // the weights of the chosen are divided by their sum …
  float lowest_sum = 0x1p-14f;  // … or by this if the sum is smaller
  float scale = 1.0f;
  // Groups of neighbouring experts; experts are chosen from the best groups. 1: from all.
  uint32_t groups = 1;
  uint32_t used_groups = 1;
};

inline constexpr size_t kMaxExpertGroups = 64;

// scores[experts] from the logits, by the spec's function (softmax goes over all experts).
void RouterScores(const OpsTable& ops, RouterScore score, const float* logits, size_t experts,
                  float* scores);

// The `chosen` experts with the largest scores; bias, unless null, is added for the choice only.
// Ids in descending order of scores, of equal ones the lowest index first. NaN ranks with minus
// infinity.
void SelectExperts(const float* scores, const float* bias, size_t experts, size_t chosen,
                   int32_t* ids);

// The same among the experts in the spec's best groups. A group ranks by its largest score or, if
// there is a bias, by the sum of its two largest, bias added; of equal ones the lowest comes first.
// The used groups have at least `chosen` experts, and each group two if there is a bias.
void SelectGroupedExperts(const RoutingSpec& spec, const float* scores, const float* bias,
                          size_t experts, size_t chosen, int32_t* ids);

// weights[i] = scores[ids[i]], divided by the sum (in the order of ids) if the spec says so, times
// the scale. Ids may repeat.
void RouterWeights(const RoutingSpec& spec, const float* scores, const int32_t* ids, size_t chosen,
                   float* weights);

}  // namespace aster::kernels
