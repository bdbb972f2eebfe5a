// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The model of a route as all its nodes must agree on it, so that their rows mean the same. Must
// not know how messages are sent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/hash.h"
#include "base/result.h"
#include "kernels/arithmetic_version.h"
#include "kv/layout.h"
#include "model/memory/memory.h"
#include "model/parts/slice.h"
#include "model/shape/shape.h"
#include "wire/messages.h"

namespace aster::plan {

struct RouteModel {
  model::Shape shape;
  Hash128 fingerprint;
  // If a drafter of blocks was loaded with it: the first layer whose output rows it reads.
  std::optional<uint32_t> drafter_layer = std::nullopt;
  uint32_t arithmetic = kernels::kArithmeticVersion;
};

// The name of a route's KV cache. Rows that were sent inexactly, between stages or in a KV
// transfer, differ from exact ones, depending on where they were sent, and have another name. A
// group's rows have the same name as whole rows: each node has some columns of them.
Hash128 MemoryName(const Hash128& fingerprint, wire::RowEncoding encoding,
                   wire::RowEncoding kv_encoding, std::span<const wire::StageAddress> stages);

// The layout of the KV cache of all stages. Its digest is the prefix hash of no tokens, from which
// stages and the conductor compute all others.
Result<kv::Layout> LayoutOf(const model::Shape& shape, const model::MemoryOptions& memory,
                            const Hash128& memory_name);

model::Slice SliceOf(const wire::StageAddress& stage);
// The slice of the node that receives the message; if a group computes the stage, the node's part.
model::Slice OwnSliceOf(const wire::OpenRoute& open);
// The node that receives the message; an error if no plan could have its groups.
const wire::NodeId& NodeOf(const wire::OpenRoute& open);
Status CheckGroupsOf(const wire::OpenRoute& open);
// Whether two messages open stages of one route by one plan, but for the experts that their nodes
// have chosen.
bool AreOfOneRoute(wire::OpenRoute a, wire::OpenRoute b);
// The number of the own route of a group, which its members have. It differs from the conductor's
// route, of which a member may have another stage.
wire::RouteId GroupRouteOf(wire::RouteId route, uint32_t stage, const wire::NodeId& leader);
// The group that computes a stage; null: one node computes it.
const wire::StageGroup* GroupOf(const wire::OpenRoute& open, uint32_t stage);

}  // namespace aster::plan
