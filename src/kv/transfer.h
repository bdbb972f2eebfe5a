// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// KV transfer between page tables: rows are exported from one as a KV chunk (chunk.h) for another
// machine or the disk, and imported into another. A KV chunk holds the rows between two lengths of
// a history in a range of layers, as plain rows with checksums (docs/kv.md). Must not know sockets
// or files.
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

// Calls `visit` for every block of a KV chunk with that header, in order, until one fails. All
// layers of a page come before the next page, so that the blocks before a damaged one are a prefix
// of the history in all layers.
using BlockVisit =
    FunctionRef<Status(uint32_t layer, uint32_t stream, uint32_t page_index, RowRange rows)>;
Status ForEachBlock(const Layout& layout, const KvChunkHeader& header, BlockVisit visit);

// Writes the KV chunk that takes a table from `begin` to `end` positions: the tokens and the rows
// that were completed between. In streams with a sliding window these are only the rows that
// computations from Layout::ReachOf(end) on need if the table still has them, else from `end` on.
// Fails before anything is written if the layers do not hold the rows; fails if the sink does.
Status Export(const PageTable& table, LayerRange layers, uint32_t begin, uint32_t end,
              KvChunkSink sink);

// Adds the rows of a KV chunk that the table does not have yet. The chunk may begin before the
// table's length; one that begins after it (OutOfRange), does not continue its history or is of
// another layout (FailedPrecondition) is refused. On damage (DataLoss, naming the position) the
// rows before it stay imported as far as a computation can continue from them, and none after it.
Status Import(PageTable& table, const KvChunk& chunk);
// The same of a chunk whose header has not been read.
Status Import(PageTable& table, Bytes chunk);

}  // namespace aster::kv
