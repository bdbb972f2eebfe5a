// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_glm.h"

#include "model/shape/shape_router.h"

namespace aster::model {
namespace {

Status ReadSigmoidMixture(const Keys& keys, Shape& shape) {
  shape.experts.score = kernels::RouterScore::kSigmoid;
  shape.experts.choice_bias = true;
  // RoPE applies to a part of each head: without this key the results would be wrong.
  TRY(keys.Count("rope.dimension_count", kMaxWidth));
  TRY(keys.ExpectNumber("attention.sliding_window", 0));
  return ReadRouter(keys, shape);
}

}  // namespace

Status ReadGlm(const Keys& keys, Shape& shape) { return ReadSigmoidMixture(keys, shape); }

Status ReadMiniMax(const Keys& keys, Shape& shape) {
  // No published model has either, and both would need other tensors.
  TRY(keys.ExpectNumber("leading_dense_block_count", 0));
  TRY(keys.ExpectNumber("expert_shared_count", 0));
  return ReadSigmoidMixture(keys, shape);
}

Status CheckSigmoidMixture(const Shape& shape) {
  if (shape.tied_head) {
    return Unimplemented(
        "the head of this architecture is a tensor of its own, never the embedding");
  }
  return CheckRouter(shape);
}

}  // namespace aster::model
