// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "route/route_model.h"

namespace aster::route {

Hash128 MemoryName(const Hash128& fingerprint, wire::RowEncoding encoding,
                   std::span<const wire::StageAddress> stages) {
  if (encoding == wire::RowEncoding::kF32) return fingerprint;
  Hasher hasher;
  hasher.AddValue(fingerprint.low);
  hasher.AddValue(fingerprint.high);
  hasher.AddValue(static_cast<uint8_t>(encoding));
  for (const wire::StageAddress& stage : stages) hasher.AddValue(stage.layer_end);
  return hasher.Digest();
}

Result<kv::Layout> LayoutOf(const model::Shape& shape, const model::MemoryOptions& memory,
                            const Hash128& memory_name) {
  return model::MakeMemoryLayout(shape, model::Narrowed(memory, shape), memory_name);
}

model::Slice SliceOf(const wire::StageAddress& stage) {
  return {.layer_begin = stage.layer_begin,
          .layer_end = stage.layer_end,
          .embedding = stage.embedding,
          .head = stage.head};
}

}  // namespace aster::route
