// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/parts/slice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace aster::model {

Status CheckFirstLayer(const Slice& slice, const Shape& shape) {
  if (shape.can_begin(slice.layer_begin)) return Ok();
  std::vector<uint32_t> first;
  for (uint32_t layer = 0; layer < shape.layer_count; ++layer) {
    if (shape.can_begin(layer)) first.push_back(layer);
  }
  return Unimplemented(
      fmt::format("layer {} of this model needs results of an earlier layer: a node's layers can "
                  "begin with {} only",
                  slice.layer_begin, fmt::join(first, ", ")));
}

}  // namespace aster::model
