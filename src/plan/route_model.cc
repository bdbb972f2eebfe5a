// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/route_model.h"

namespace aster::plan {

Hash128 MemoryName(const Hash128& fingerprint, wire::RowEncoding encoding,
                   wire::RowEncoding kv_encoding, std::span<const wire::StageAddress> stages) {
  const bool is_exact = encoding == wire::RowEncoding::kF32;
  if (is_exact && kv_encoding == wire::RowEncoding::kF32) return fingerprint;
  Hasher hasher;
  hasher.AddValue(fingerprint.low);
  hasher.AddValue(fingerprint.high);
  hasher.AddValue(static_cast<uint8_t>(encoding));
  hasher.AddValue(static_cast<uint8_t>(kv_encoding));
  // KV rows were close to the exact ones before they travelled, on whichever node they were
  // computed.
  if (is_exact) return hasher.Digest();
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

}  // namespace aster::plan
