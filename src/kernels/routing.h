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
  // Experts in groups of neighbours, of which the experts of some are chosen from; 1: of all.
  uint32_t groups = 1;
  uint32_t used_groups = 1;
};

inline constexpr size_t kMaxExpertGroups = 64;

// scores[experts] of the logits, by the spec's function (softmax goes over all experts).
void RouterScores(const OpsTable& ops, RouterScore score, const float* logits, size_t experts,
                  float* scores);

// The `chosen` experts with the largest scores, bias added for the choice only unless it is null:
// ids in descending order, of equals the lowest index first. NaN ranks with minus infinity.
void SelectExperts(const float* scores, const float* bias, size_t experts, size_t chosen,
                   int32_t* ids);

// The same of the experts in the spec's best groups. A group ranks by its largest score or, where
// there is a bias, by the sum of its two largest, bias added; of equals the lowest comes first. The
// used groups have `chosen` experts at least, and each group two where there is a bias.
void SelectGroupedExperts(const RoutingSpec& spec, const float* scores, const float* bias,
                          size_t experts, size_t chosen, int32_t* ids);

// weights[i] = scores[ids[i]], divided by the sum (taken in the order of ids) if the spec says so,
// times the scale. Ids may repeat.
void RouterWeights(const RoutingSpec& spec, const float* scores, const int32_t* ids, size_t chosen,
                   float* weights);

}  // namespace aster::kernels
