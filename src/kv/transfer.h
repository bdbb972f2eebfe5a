// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV transfer between page tables: rows leave one as a KV chunk (chunk.h) for another machine or
// the disk, and enter another. A KV chunk holds what changed between two lengths of a history in a
// range of layers, as plain rows with checksums (docs/kv.md). Must not know sockets or files.
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
// ascend, so that the blocks before a damaged one are the history's beginning in all layers.
using BlockVisit =
    FunctionRef<Status(uint32_t layer, uint32_t stream, uint32_t page_index, RowRange rows)>;
Status ForEachBlock(const Layout& layout, const KvChunkHeader& header, BlockVisit visit);

// Writes the KV chunk that takes a table from `begin` to `end` positions: the tokens between, the
// rows completed between, and of streams with a sliding window only those that a computation at
// `end` needs, or one at Layout::ReachOf(end) where the table still has them. Fails before anything
// is written where the layers do not hold those rows; fails with the sink.
Status Export(const PageTable& table, LayerRange layers, uint32_t begin, uint32_t end,
              KvChunkSink sink);

// Adds the rows of a KV chunk that the table does not have yet. The chunk may begin before the
// table's length; one that begins behind it (OutOfRange), does not continue its history or is of
// another layout (FailedPrecondition) is refused. On damage (DataLoss, naming the position) the
// rows before it stay imported as far as a computation can continue from them, and none behind it.
Status Import(PageTable& table, const KvChunk& chunk);
// The same of a chunk whose header has not been read.
Status Import(PageTable& table, Bytes chunk);

}  // namespace aster::kv
