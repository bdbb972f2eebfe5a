// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_mistral3.h"

#include <cmath>

namespace aster::model {

Status ReadMistral3(const Keys& keys, Shape& shape) {
  for (const char* key : {"leading_dense_block_count", "nextn_predict_layers"})
    TRY(keys.ExpectNumber(key, 0));
  for (const char* key : {"rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor"})
    TRY(keys.ExpectValue(key, 1.0f));
  shape.temperature = TRY(keys.ZeroOrPositive("attention.temperature_scale"));
  // Queries grow with every multiple of the original context.
  if (shape.temperature > 0.0f)
    TRY(keys.ExpectNumber("attention.temperature_length", shape.rope.original_context));
  return Ok();
}

Status CheckMistral3(const Shape& shape) {
  if (!std::isfinite(shape.temperature) || shape.temperature < 0.0f) {
    return DataLoss(
        fmt::format("queries that grow by {} (attention.temperature_scale); zero or a positive "
                    "number is needed",
                    shape.temperature));
  }
  if (shape.temperature == 0.0f) return Ok();
  if (shape.rope.original_context == 0) {
    return DataLoss(
        "attention.temperature_scale without rope.scaling.original_context_length, by which "
        "positions are counted");
  }
  if (shape.rope.dimensions == shape.head_dim) return Ok();
  // The factor is part of the cosines and sines of RoPE, which must apply to whole heads.
  return Unimplemented(
      fmt::format("attention.temperature_scale in heads of {} numbers of which {} turn "
                  "(rope.dimension_count); only heads that turn as a whole are supported",
                  shape.head_dim, shape.rope.dimensions));
}

void WriteMistral3(const Shape& shape, gguf::MetadataBuilder& metadata) {
  if (shape.temperature == 0.0f) return;
  metadata.Set(std::string(ArchName(shape.arch)) + ".attention.temperature_scale",
               shape.temperature);
}

}  // namespace aster::model
