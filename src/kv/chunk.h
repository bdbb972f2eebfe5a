// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The bytes of a KV chunk: KV rows of a layer range between two positions, outside of a page table
// (docs/kv.md has the format). A header with everything that identifies the rows, then blocks, each
// with the rows of one stream in one page. Must not know tables or pages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/hash.h"
#include "base/result.h"
#include "kv/layout.h"

namespace aster::kv {

inline constexpr uint64_t kKvChunkMagic = 0x314b565245545341;  // "ASTERVK1", little-endian
// Version 1 has no reach, and whole pages; it is written for layouts without sliding windows.
// Version 2 has no columns; it is written for layouts with whole rows. Both are still read.
inline constexpr uint32_t kKvChunkVersion = 3;
// Limit of the layout's description, which error messages show.
inline constexpr uint32_t kMaxDescriptionBytes = 4096;

struct KvChunkHeader {
  uint32_t version = kKvChunkVersion;
  Hash128 digest;  // of the layout
  LayerRange layers;
  uint32_t begin = 0;  // positions: importing it takes a table from begin to end
  uint32_t end = 0;
  // At most end. In streams with a sliding window the chunk has only the rows that computations at
  // positions from `reach` on read.
  uint32_t reach = 0;
  Columns columns = {};  // of every row that the chunk has
  uint32_t block_count = 0;
  Hash128 prefix_at_begin;
  Hash128 prefix_at_end;
  std::string description;      // of the layout
  std::vector<int32_t> tokens;  // [end - begin]
};

// The oldest version that can express a chunk of this layout, for older readers.
inline uint32_t KvChunkVersionFor(const Layout& layout) {
  if (!layout.columns().is_whole()) return kKvChunkVersion;
  return layout.has_windows() ? 2 : 1;
}

void WriteHeader(const KvChunkHeader& header, ByteWriter& out);
// Reads a header; DataLoss unless it is consistent: ranges in order, as many tokens as positions,
// and a prefix hash at the end that follows from that at the beginning and the tokens.
Result<KvChunkHeader> ReadHeader(ByteReader& in);

struct Block {
  uint32_t layer = 0;
  uint32_t stream = 0;
  uint32_t first_row = 0;  // of the stream, not of the page
  uint32_t row_count = 0;
  uint32_t row_bytes = 0;
  Bytes rows;  // [row_count, row_bytes], in the chunk's buffer
};

// A chunk whose header is read and checked, but not its blocks.
struct KvChunk {
  KvChunkHeader header;
  Bytes head;    // the header's bytes
  Bytes blocks;  // everything after them, in the same buffer
};
Result<KvChunk> ParseKvChunk(Bytes chunk);

// The part of a block before its rows. The checksum in it covers the rows, the block's own numbers
// and, through `prefix_at_end`, the history that they belong to: a block of another chunk is
// refused.
void WriteBlockHead(const Block& block, const Hash128& prefix_at_end, ByteWriter& out);
// A whole block. DataLoss if its checksum does not match.
Result<Block> ReadBlock(ByteReader& in, const Hash128& prefix_at_end);

// Lengths of a header and of a block, given their first kHeaderStartBytes and kBlockHeadBytes.
inline constexpr size_t kHeaderStartBytes = 84;  // of version 1; later ones are longer
inline constexpr size_t kBlockHeadBytes = 28;
// Far more than the largest page: a longer block is damaged.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 30;
Result<uint64_t> HeaderBytes(Bytes start);
Result<uint64_t> BlockBytes(Bytes head);

// A KV chunk with only those rows of `chunk` that are of these layers.
Result<std::vector<uint8_t>> CutKvChunk(const KvChunk& chunk, LayerRange layers);
// A KV chunk with only these columns of the rows of `chunk`, which has them.
Result<std::vector<uint8_t>> CutKvChunk(const KvChunk& chunk, const Columns& columns);
// A KV chunk with whole rows, made of chunks that differ only in their columns, are ordered by
// them, and together have all of them.
Result<std::vector<uint8_t>> JoinKvChunks(std::span<const KvChunk> parts);

// Reads KV chunks that arrive one after another, in pieces of any size. Not for concurrent use.
class KvChunkStream {
 public:
  // A block's rows are in memory until it returns.
  using Sink = FunctionRef<Status(const KvChunkHeader&, const Block&)>;

  // Calls `sink` for every block that is whole now, checked. Not to be called after an error.
  Status Take(Bytes piece, Sink sink);
  // DataLoss unless the last KV chunk is whole.
  Status Finish() const;

 private:
  std::vector<uint8_t> buffer_;  // the beginning of the next header or block
  std::optional<KvChunkHeader> header_;
  uint32_t blocks_left_ = 0;
};

}  // namespace aster::kv
