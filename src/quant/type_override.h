// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A user's choice of type for tensors with certain names. Must not know any recipe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gguf/types.h"

namespace aster::quant {

// A type for tensors with certain names. The pattern's parts between dots must match as many
// consecutive parts of the name; * matches any characters and ? one: "attn_v" and "blk.*.attn_v"
// both match blk.7.attn_v.weight, "output" does not match attn_output.weight.
struct TypeOverride {
  std::string pattern;
  gguf::TensorType type;

  // Parses "PATTERN=TYPE".
  static Result<TypeOverride> Parse(std::string_view text);
  bool Matches(std::string_view tensor_name) const;
};

}  // namespace aster::quant
