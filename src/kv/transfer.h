// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows on their way between tables: to another machine, to the disk and back. A KV chunk holds what
// changed between two lengths of a history in a range of layers, as plain rows with checksums
// (docs/kv.md). Must not know sockets or files.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "kv/chunk.h"
#include "kv/page_table.h"

namespace aster::kv {

// Takes the next bytes of a KV chunk.
using KvChunkSink = FunctionRef<Status(Bytes)>;

// Rows of a stream, not of a page.
struct RowRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool empty() const { return begin >= end; }
};

// Calls `visit` for every block of a KV chunk with that header, in order, until one fails. Pages
// ascend, so that what comes before damage is the history's beginning in all layers.
using BlockVisit =
    FunctionRef<Status(uint32_t layer, uint32_t stream, uint32_t page_index, RowRange rows)>;
Status ForEachBlock(const Layout& layout, const KvChunkHeader& header, BlockVisit visit);

// Writes the KV chunk that takes a table from `begin` to `end` positions: the tokens between, the
// rows completed between, and of windowed streams only those that a computation at `end` needs, or
// one at Layout::ReachOf(end) where the table still has them.
// Fails, having written nothing, where the layers do not hold that; fails with the sink.
Status Export(const PageTable& table, LayerRange layers, uint32_t begin, uint32_t end,
              KvChunkSink sink);

// Reads one KV chunk and adds what is new in it to the table. A KV chunk that begins before the
// table's length is fine, one that begins after it (OutOfRange) or does not continue its history
// (FailedPrecondition) is refused, as is one of another layout (FailedPrecondition). On damage
// (DataLoss, naming the position) the rows before it stay imported where they are enough to go on
// from; nothing after it is.
Status Import(PageTable& table, ByteReader& chunk);

}  // namespace aster::kv
