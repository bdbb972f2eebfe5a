// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The bytes of a KV chunk: rows of streams outside of memory (docs/kv.md says the same in words). A
// header with everything that identifies the rows, then blocks, each with the rows of one stream in
// one page. Must not know tables or pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/hash.h"
#include "base/result.h"
#include "kv/layout.h"

namespace aster::kv {

inline constexpr uint64_t kKvChunkMagic = 0x314b565245545341;  // "ASTERVK1", little-endian
// Version 1 has no reach, and whole pages. It is still read, and written where there are no
// windows.
inline constexpr uint32_t kKvChunkVersion = 2;
// Of the layout in words. Whoever reads it wants to show it to a person.
inline constexpr uint32_t kMaxDescriptionBytes = 4096;

struct KvChunkHeader {
  uint32_t version = kKvChunkVersion;
  Hash128 digest;  // of the layout
  LayerRange layers;
  uint32_t begin = 0;  // positions: the KV chunk takes a table from begin to end
  uint32_t end = 0;
  // Of windowed streams it has the rows between that computations from here on read; at most end.
  uint32_t reach = 0;
  uint32_t block_count = 0;
  Hash128 prefix_at_begin;
  Hash128 prefix_at_end;
  std::string description;      // of the layout
  std::vector<int32_t> tokens;  // [end - begin]
};

// The oldest version that can say it.
inline uint32_t KvChunkVersionFor(const Layout& layout) { return layout.has_windows() ? 2 : 1; }

void WriteHeader(const KvChunkHeader& header, ByteWriter& out);
// Whatever it returns adds up: ranges in order, as many tokens as positions, the prefix hash at the
// end that of the tokens after the prefix at the beginning. DataLoss otherwise.
Result<KvChunkHeader> ReadHeader(ByteReader& in);

struct Block {
  uint32_t layer = 0;
  uint32_t stream = 0;
  uint32_t first_row = 0;  // of the stream, not of the page
  uint32_t row_count = 0;
  uint32_t row_bytes = 0;
  Bytes rows;  // [row_count, row_bytes], in somebody else's buffer
};

// The part of a block before its rows. The checksum in it covers the rows, what the block says of
// itself and, through `prefix_at_end`, the history that they belong to: rows that strayed in from
// another KV chunk are not taken.
void WriteBlockHead(const Block& block, const Hash128& prefix_at_end, ByteWriter& out);
// A whole block. DataLoss if its checksum is another.
Result<Block> ReadBlock(ByteReader& in, const Hash128& prefix_at_end);

// How long a header is, and a block, given their first kHeaderStartBytes and kBlockHeadBytes.
inline constexpr size_t kHeaderStartBytes = 84;  // of version 1; later ones are longer
inline constexpr size_t kBlockHeadBytes = 28;
// No page is nearly that large.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 30;
Result<uint64_t> HeaderBytes(Bytes start);
Result<uint64_t> BlockBytes(Bytes head);

// The part of a KV chunk that is of these layers, as a KV chunk.
Result<std::vector<uint8_t>> CutKvChunk(Bytes chunk, LayerRange layers);

// KV chunks that come one after another, in pieces of any size. Not for concurrent use.
class KvChunkStream {
 public:
  // A block's rows are in memory until it returns.
  using Sink = FunctionRef<Status(const KvChunkHeader&, const Block&)>;

  // Hands over the blocks that are whole now, checked. After an error there is no more.
  Status Take(Bytes piece, Sink sink);
  // DataLoss unless the last KV chunk is whole.
  Status Finish() const;

 private:
  std::vector<uint8_t> buffer_;  // what is not a whole header or block yet
  std::optional<KvChunkHeader> header_;
  uint32_t blocks_left_ = 0;
};

}  // namespace aster::kv
