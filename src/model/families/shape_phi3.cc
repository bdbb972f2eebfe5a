// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/families/shape_phi3.h"

#include <cmath>

namespace aster::model {

Status ReadPhi3(const Keys& keys, Shape& shape) {
  for (const char* key : {"leading_dense_block_count", "nextn_predict_layers"})
    TRY(keys.ExpectNumber(key, 0));
  if (shape.rope.scaling != RopeScaling::kNone)
    return keys.Unexpected("rope.scaling.type", "another scaling", "none or longrope");
  shape.rope.original_context =
      TRY(keys.CountOr("rope.scaling.original_context_length", UINT32_MAX, shape.context_length));
  shape.rope.attention_factor = TRY(keys.PositiveOr("rope.scaling.attn_factor", 1.0f));
  // Some files have windows that are wider than the context.
  if (shape.sliding_window >= shape.context_length) shape.sliding_window = 0;
  return Ok();
}

Status CheckPhi3(const Shape& shape) {
  if (std::isfinite(shape.rope.attention_factor) && shape.rope.attention_factor > 0.0f &&
      shape.rope.original_context > 0) {
    return Ok();
  }
  return DataLoss(
      fmt::format("cosines and sines times {} from {} positions on; positive numbers are needed",
                  shape.rope.attention_factor, shape.rope.original_context));
}

std::string_view PhiFactorsOf(const Shape& shape) {
  return shape.context_length > shape.rope.original_context ? kLongPhiFactors : kShortPhiFactors;
}

void WritePhi3(const Shape& shape, gguf::MetadataBuilder& metadata) {
  const std::string arch(ArchName(shape.arch));
  metadata.Set(arch + ".rope.scaling.original_context_length", shape.rope.original_context);
  if (shape.rope.attention_factor != 1.0f)
    metadata.Set(arch + ".rope.scaling.attn_factor", shape.rope.attention_factor);
}

}  // namespace aster::model
