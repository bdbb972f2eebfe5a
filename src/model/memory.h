// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a model of a known architecture remembers of a sequence: the layout of its keys and values
// in pages, made of the kernels' own. Must not know sequences.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/result.h"
#include "kernels/pages.h"
#include "kv/layout.h"
#include "model/shape.h"

namespace aster::model {

struct MemoryOptions {
  kernels::KvType type = kernels::KvType::kF16;
  uint32_t window = 0;  // positions that a row sees, itself included; 0: all
  uint32_t sinks = 0;   // and the first of all
};

// The options, with the model's own sliding window where that is narrower. (A model that was
// trained with one never saw sinks before it.)
MemoryOptions Narrowed(const MemoryOptions& options, const Shape& shape);

// Pages of one key-value head.
kernels::PageLayout HeadPageLayout(const Shape& shape, kernels::KvType type);

// `fingerprint` names the model. One stream per layer; its page is the pages of all key-value
// heads, one after the other.
Result<kv::Layout> MakeMemoryLayout(const Shape& shape, const MemoryOptions& options,
                                    const Hash128& fingerprint);

}  // namespace aster::model
