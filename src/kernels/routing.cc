// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/routing.h"

#include <limits>

#include "base/check.h"

namespace aster::kernels {
namespace {

float SelectionKey(const float* scores, const float* bias, size_t expert) {
  const float key = bias == nullptr ? scores[expert] : scores[expert] + bias[expert];
  return key == key ? key : -std::numeric_limits<float>::infinity();
}

}  // namespace

void RouterScores(const OpsTable& ops, RouterScore score, const float* logits, size_t experts,
                  float* scores) {
  switch (score) {
    case RouterScore::kSoftmax:
      return ops.softmax(logits, experts, scores);
    case RouterScore::kSigmoid:
      return ops.sigmoid(logits, experts, scores);
    case RouterScore::kSqrtSoftplus:
      return ops.sqrt_softplus(logits, experts, scores);
  }
}

void SelectExperts(const float* scores, const float* bias, size_t experts, size_t chosen,
                   int32_t* ids) {
  CHECK(chosen <= experts);
  // ids is kept sorted; an expert goes behind all that are at least as good.
  size_t count = 0;
  for (size_t expert = 0; expert < experts; ++expert) {
    const float key = SelectionKey(scores, bias, expert);
    const auto better = [&](size_t place) {
      return key > SelectionKey(scores, bias, static_cast<size_t>(ids[place]));
    };
    if (count == chosen && (chosen == 0 || !better(chosen - 1))) continue;
    size_t place = count < chosen ? count++ : chosen - 1;
    for (; place > 0 && better(place - 1); --place) ids[place] = ids[place - 1];
    ids[place] = static_cast<int32_t>(expert);
  }
}

void RouterWeights(const RoutingSpec& spec, const float* scores, const int32_t* ids, size_t chosen,
                   float* weights) {
  float sum = 0.0f;
  for (size_t i = 0; i < chosen; ++i) sum += scores[ids[i]];
  if (sum < spec.lowest_sum) sum = spec.lowest_sum;
  for (size_t i = 0; i < chosen; ++i) {
    const float score = scores[ids[i]];
    weights[i] = (spec.normalized ? score / sum : score) * spec.scale;
  }
}

}  // namespace aster::kernels
