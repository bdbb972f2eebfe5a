// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What all nodes of a route must agree on before their rows mean the same. Must not know how they
// talk about it.
#pragma once

#include <cstdint>
#include <span>

#include "base/hash.h"
#include "base/result.h"
#include "kernels/arithmetic_version.h"
#include "kv/layout.h"
#include "model/memory.h"
#include "model/shape.h"
#include "model/slice.h"
#include "wire/messages.h"

namespace aster::plan {

struct RouteModel {
  model::Shape shape;
  Hash128 fingerprint;
  uint32_t arithmetic = kernels::kArithmeticVersion;
};

// Names what pages of a route hold. Rows that travelled inexactly, between stages or in a KV
// transfer, are others than those that did not, and depend on where they travelled: they are never
// taken for one another. Those of groups have the same name: each node has its columns of them.
Hash128 MemoryName(const Hash128& fingerprint, wire::RowEncoding encoding,
                   wire::RowEncoding kv_encoding, std::span<const wire::StageAddress> stages);

// The KV cache of all stages; the hash of no tokens at all, from which they and the conductor
// count, is its digest.
Result<kv::Layout> LayoutOf(const model::Shape& shape, const model::MemoryOptions& memory,
                            const Hash128& memory_name);

model::Slice SliceOf(const wire::StageAddress& stage);
// Of the node that such a message is for: with its part, where a group computes the stage.
model::Slice OwnSliceOf(const wire::OpenRoute& open);
// The node that the message is for, and whether its groups are ones that plans have.
const wire::NodeId& NodeOf(const wire::OpenRoute& open);
Status CheckGroupsOf(const wire::OpenRoute& open);
// The group that computes a stage; null: its node alone.
const wire::StageGroup* GroupOf(const wire::OpenRoute& open, uint32_t stage);

}  // namespace aster::plan
