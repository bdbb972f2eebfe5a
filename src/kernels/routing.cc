// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kernels/routing.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace aster::kernels {
namespace {

float SelectionKey(const float* scores, const float* bias, size_t expert) {
  const float key = bias == nullptr ? scores[expert] : scores[expert] + bias[expert];
  return key == key ? key : -std::numeric_limits<float>::infinity();
}

// Puts an expert among the `count` best so far, if it is one of the `chosen` best. ids is kept
// sorted; an expert comes after all that are at least as good.
void Offer(const float* scores, const float* bias, size_t expert, size_t chosen, int32_t* ids,
           size_t& count) {
  const float key = SelectionKey(scores, bias, expert);
  const auto better = [&](size_t place) {
    return key > SelectionKey(scores, bias, static_cast<size_t>(ids[place]));
  };
  if (count == chosen && (chosen == 0 || !better(chosen - 1))) return;
  size_t place = count < chosen ? count++ : chosen - 1;
  for (; place > 0 && better(place - 1); --place) ids[place] = ids[place - 1];
  ids[place] = static_cast<int32_t>(expert);
}

float GroupRank(const float* scores, const float* bias, size_t first, size_t size) {
  int32_t best[2] = {};
  size_t count = 0;
  const size_t wanted = bias == nullptr ? 1 : 2;
  for (size_t expert = first; expert < first + size; ++expert)
    Offer(scores, bias, expert, wanted, best, count);
  CHECK(count == wanted);
  const float largest = SelectionKey(scores, bias, static_cast<size_t>(best[0]));
  return wanted == 1 ? largest : largest + SelectionKey(scores, bias, static_cast<size_t>(best[1]));
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
  size_t count = 0;
  for (size_t expert = 0; expert < experts; ++expert)
    Offer(scores, bias, expert, chosen, ids, count);
}

void SelectGroupedExperts(const RoutingSpec& spec, const float* scores, const float* bias,
                          size_t experts, size_t chosen, int32_t* ids) {
  if (spec.groups <= 1) return SelectExperts(scores, bias, experts, chosen, ids);
  CHECK(spec.groups <= kMaxExpertGroups && experts % spec.groups == 0);
  const size_t size = experts / spec.groups;
  CHECK(spec.used_groups <= spec.groups && chosen <= spec.used_groups * size);
  float ranks[kMaxExpertGroups];
  for (size_t group = 0; group < spec.groups; ++group)
    ranks[group] = GroupRank(scores, bias, group * size, size);
  int32_t groups[kMaxExpertGroups];
  SelectExperts(ranks, nullptr, spec.groups, spec.used_groups, groups);
  // In ascending order, so that of equal experts the first one comes first.
  std::sort(groups, groups + spec.used_groups);
  size_t count = 0;
  for (size_t i = 0; i < spec.used_groups; ++i) {
    const size_t first = static_cast<size_t>(groups[i]) * size;
    for (size_t expert = first; expert < first + size; ++expert)
      Offer(scores, bias, expert, chosen, ids, count);
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
