// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kv/prefix_hash.h"

namespace aster::kv {
namespace {

void WriteHash(const Hash128& hash, ByteWriter& out) {
  out.Write(hash.low);
  out.Write(hash.high);
}

Result<Hash128> ReadHash(ByteReader& in) {
  Hash128 hash;
  hash.low = TRY(in.Read<uint64_t>());
  hash.high = TRY(in.Read<uint64_t>());
  return hash;
}

void WriteIdentity(const Block& block, ByteWriter& out) {
  out.Write(block.layer);
  out.Write(block.stream);
  out.Write(block.first_row);
  out.Write(block.row_count);
  out.Write(block.row_bytes);
}

uint64_t ChecksumOf(const Block& block, const Hash128& prefix_at_end) {
  ByteWriter about;
  WriteIdentity(block, about);
  WriteHash(prefix_at_end, about);
  return Hash64Of(block.rows, Hash64Of(about.bytes()));
}

// Error messages show the description: no control characters reach a terminal.
bool IsPlainText(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool IsSamePlace(const Block& a, const Block& b) {
  return a.layer == b.layer && a.stream == b.stream && a.first_row == b.first_row &&
         a.row_count == b.row_count;
}

// An error unless the chunks differ only in their columns, and have each column once, in order.
Status CheckAllColumns(std::span<const KvChunk> parts) {
  if (parts.empty()) return InvalidArgument("no KV chunks to join");
  const KvChunkHeader& first = parts.front().header;
  uint32_t next = 0;
  for (const KvChunk& part : parts) {
    const KvChunkHeader& header = part.header;
    const bool is_alike = header.digest == first.digest && header.layers == first.layers &&
                          header.begin == first.begin &&
                          header.prefix_at_end == first.prefix_at_end && header.end == first.end &&
                          header.reach == first.reach && header.block_count == first.block_count &&
                          header.columns.count == first.columns.count;
    if (!is_alike || header.columns.begin != next) {
      return DataLoss("parts of rows that do not follow each other");
    }
    next = header.columns.end;
  }
  return next == first.columns.count ? Ok() : DataLoss("a part of the rows is missing");
}

// Reads the fields and checks that each is in bounds, but not that they agree with each other.
Result<KvChunkHeader> ReadFields(ByteReader& in) {
  if (TRY(in.Read<uint64_t>()) != kKvChunkMagic) {
    return DataLoss("not a KV chunk: the first bytes are not its magic number");
  }
  const uint32_t version = TRY(in.Read<uint32_t>());
  if (version == 0 || version > kKvChunkVersion) {
    return Unimplemented(
        fmt::format("KV rows in version {} of the format; this program reads versions up to {}",
                    version, kKvChunkVersion));
  }
  KvChunkHeader header;
  header.version = version;
  const uint32_t description_bytes = TRY(in.Read<uint32_t>());
  header.digest = TRY(ReadHash(in));
  header.layers.begin = TRY(in.Read<uint32_t>());
  header.layers.end = TRY(in.Read<uint32_t>());
  header.begin = TRY(in.Read<uint32_t>());
  header.end = TRY(in.Read<uint32_t>());
  header.block_count = TRY(in.Read<uint32_t>());
  header.prefix_at_begin = TRY(ReadHash(in));
  header.prefix_at_end = TRY(ReadHash(in));
  header.reach = version == 1 ? header.end : TRY(in.Read<uint32_t>());
  if (version > 2) {
    header.columns.begin = TRY(in.Read<uint32_t>());
    header.columns.end = TRY(in.Read<uint32_t>());
    header.columns.count = TRY(in.Read<uint32_t>());
    const bool is_possible = header.columns == Columns{} || IsPartOfRow(header.columns);
    if (!is_possible) return DataLoss("columns are out of range");
  }
  // Checked before anything is allocated by these numbers.
  if (header.layers.begin >= header.layers.end || header.begin > header.end ||
      header.end > kMaxPositions || header.reach > header.end ||
      description_bytes > kMaxDescriptionBytes) {
    return DataLoss("layers, positions or lengths are out of range");
  }
  header.description = AsText(TRY(in.ReadBytes(description_bytes)));
  const uint32_t token_count = header.end - header.begin;
  const Bytes tokens = TRY(in.ReadBytes(uint64_t{token_count} * sizeof(int32_t)));
  header.tokens.resize(token_count);
  if (token_count > 0) std::memcpy(header.tokens.data(), tokens.data(), tokens.size());
  return header;
}

}  // namespace

void WriteHeader(const KvChunkHeader& header, ByteWriter& out) {
  ByteWriter checked;  // everything that the checksum covers
  checked.Write(kKvChunkMagic);
  checked.Write(header.version);
  checked.Write(static_cast<uint32_t>(header.description.size()));
  WriteHash(header.digest, checked);
  checked.Write(header.layers.begin);
  checked.Write(header.layers.end);
  checked.Write(header.begin);
  checked.Write(header.end);
  checked.Write(header.block_count);
  WriteHash(header.prefix_at_begin, checked);
  WriteHash(header.prefix_at_end, checked);
  if (header.version > 1) checked.Write(header.reach);
  if (header.version > 2) {
    checked.Write(header.columns.begin);
    checked.Write(header.columns.end);
    checked.Write(header.columns.count);
  }
  checked.WriteBytes(AsBytes(header.description));
  checked.WriteBytes({reinterpret_cast<const uint8_t*>(header.tokens.data()),
                      header.tokens.size() * sizeof(int32_t)});
  out.WriteBytes(checked.bytes());
  out.Write(Hash64Of(checked.bytes()));
}

Result<KvChunkHeader> ReadHeader(ByteReader& in) {
  ByteReader start = in;
  KvChunkHeader header = TRY(ReadFields(in).In("header"));
  const Bytes checked = TRY(start.ReadBytes(in.offset() - start.offset()));
  // Checks the checksum of the header first, then the prefix hash of its tokens.
  if (TRY(in.Read<uint64_t>()) != Hash64Of(checked)) {
    return DataLoss("header: its checksum does not match");
  }
  if (!IsPlainText(header.description) ||
      ExtendPrefixHash(header.prefix_at_begin, header.tokens) != header.prefix_at_end) {
    return DataLoss("header: its hashes are not those of its tokens");
  }
  return header;
}

void WriteBlockHead(const Block& block, const Hash128& prefix_at_end, ByteWriter& out) {
  WriteIdentity(block, out);
  out.Write(ChecksumOf(block, prefix_at_end));
}

Result<KvChunk> ParseKvChunk(Bytes chunk) {
  ByteReader in(chunk);
  KvChunkHeader header = TRY(ReadHeader(in));
  return KvChunk{.header = std::move(header),
                 .head = chunk.first(in.offset()),
                 .blocks = chunk.subspan(in.offset())};
}

Result<Block> ReadBlock(ByteReader& in, const Hash128& prefix_at_end) {
  Block block;
  block.layer = TRY(in.Read<uint32_t>());
  block.stream = TRY(in.Read<uint32_t>());
  block.first_row = TRY(in.Read<uint32_t>());
  block.row_count = TRY(in.Read<uint32_t>());
  block.row_bytes = TRY(in.Read<uint32_t>());
  const uint64_t checksum = TRY(in.Read<uint64_t>());
  block.rows = TRY(in.ReadBytes(uint64_t{block.row_count} * block.row_bytes));
  if (ChecksumOf(block, prefix_at_end) != checksum) return DataLoss("its checksum does not match");
  return block;
}

Result<uint64_t> HeaderBytes(Bytes start) {
  ByteReader in(start.first(std::min(start.size(), kHeaderStartBytes)));
  TRY(in.Skip(sizeof(uint64_t)));  // magic
  const uint32_t version = TRY(in.Read<uint32_t>());
  const uint32_t description_bytes = TRY(in.Read<uint32_t>());
  TRY(in.Skip(sizeof(Hash128) + 2 * sizeof(uint32_t)));  // digest, layers
  const uint32_t begin = TRY(in.Read<uint32_t>());
  const uint32_t end = TRY(in.Read<uint32_t>());
  if (description_bytes > kMaxDescriptionBytes || begin > end || end > kMaxPositions) {
    return DataLoss("positions or lengths in the header are out of range");
  }
  const uint64_t reach_bytes = version > 1 ? sizeof(uint32_t) : 0;
  const uint64_t column_bytes = version > 2 ? sizeof(Columns) : 0;
  return kHeaderStartBytes + reach_bytes + column_bytes + description_bytes +
         uint64_t{end - begin} * sizeof(int32_t) + sizeof(uint64_t);
}

Result<uint64_t> BlockBytes(Bytes head) {
  ByteReader in(head);
  TRY(in.Skip(3 * sizeof(uint32_t)));  // layer, stream, first row
  const uint32_t row_count = TRY(in.Read<uint32_t>());
  const uint32_t row_bytes = TRY(in.Read<uint32_t>());
  const uint64_t bytes = uint64_t{row_count} * row_bytes;
  if (bytes > kMaxBlockBytes) return DataLoss(fmt::format("a block of {} bytes of rows", bytes));
  return kBlockHeadBytes + bytes;
}

Result<std::vector<uint8_t>> CutKvChunk(const KvChunk& chunk, LayerRange layers) {
  KvChunkHeader header = chunk.header;
  if (layers.begin >= layers.end || !header.layers.Contains(layers)) {
    return InvalidArgument(fmt::format("layers {} to {} of a KV chunk of {} to {}", layers.begin,
                                       layers.end, header.layers.begin, header.layers.end));
  }
  // Blocks of these layers are copied unchanged. Their checksums cover the prefix hash of the
  // header, which does not change.
  ByteReader in(chunk.blocks);
  ByteWriter blocks;
  uint32_t block_count = 0;
  for (uint32_t i = 0; i < header.block_count; ++i) {
    const size_t begin = in.offset();
    const Block block = TRY(ReadBlock(in, header.prefix_at_end));
    if (block.layer < layers.begin || block.layer >= layers.end) continue;
    blocks.WriteBytes(chunk.blocks.subspan(begin, in.offset() - begin));
    ++block_count;
  }
  header.layers = layers;
  header.block_count = block_count;
  ByteWriter out;
  WriteHeader(header, out);
  out.WriteBytes(blocks.bytes());
  return std::move(out).Release();
}

Result<std::vector<uint8_t>> CutKvChunk(const KvChunk& chunk, const Columns& columns) {
  KvChunkHeader header = chunk.header;
  if (!IsPartOfRow(columns) || !header.columns.Contains(columns)) {
    return InvalidArgument(
        fmt::format("{} of a KV chunk that has {}", Describe(columns), Describe(header.columns)));
  }
  header.columns = columns;
  header.version = kKvChunkVersion;
  ByteWriter out;
  WriteHeader(header, out);
  ByteReader in(chunk.blocks);
  std::vector<uint8_t> rows;
  for (uint32_t i = 0; i < header.block_count; ++i) {
    Block block = TRY(ReadBlock(in, header.prefix_at_end));
    const size_t row_bytes = RowBytesOf(columns, chunk.header.columns, block.row_bytes);
    if (row_bytes == 0) return DataLoss("rows that are not of such columns");
    rows.resize(row_bytes * block.row_count);
    CopyColumns({chunk.header.columns, block.row_bytes, block.rows.data()}, block.row_count,
                {columns, row_bytes, rows.data()});
    block.row_bytes = static_cast<uint32_t>(row_bytes);
    block.rows = rows;
    WriteBlockHead(block, header.prefix_at_end, out);
    out.WriteBytes(block.rows);
  }
  if (!in.at_end()) return DataLoss(fmt::format("{} bytes behind the last row", in.left()));
  return std::move(out).Release();
}

Result<std::vector<uint8_t>> JoinKvChunks(std::span<const KvChunk> parts) {
  TRY(CheckAllColumns(parts));
  KvChunkHeader header = parts.front().header;
  header.columns = {};
  header.version = kKvChunkVersion - 1;  // the version with whole rows
  ByteWriter out;
  WriteHeader(header, out);
  std::vector<ByteReader> readers;
  for (const KvChunk& part : parts) readers.emplace_back(part.blocks);
  // All parts have the same blocks in the same order: joins one block of each at a time.
  std::vector<uint8_t> rows;
  for (uint32_t i = 0; i < header.block_count; ++i) {
    Block whole;
    for (size_t part = 0; part < parts.size(); ++part) {
      const Columns& columns = parts[part].header.columns;
      const Block block = TRY(ReadBlock(readers[part], header.prefix_at_end));
      const size_t row_bytes = RowBytesOf(header.columns, columns, block.row_bytes);
      if (part == 0) {
        whole = block;
        whole.row_bytes = static_cast<uint32_t>(row_bytes);
        rows.resize(row_bytes * block.row_count);
      }
      if (row_bytes == 0 || row_bytes != whole.row_bytes || !IsSamePlace(block, whole)) {
        return DataLoss("parts of rows that do not fit together");
      }
      CopyColumns({columns, block.row_bytes, block.rows.data()}, block.row_count,
                  {header.columns, row_bytes, rows.data()});
    }
    whole.rows = rows;
    WriteBlockHead(whole, header.prefix_at_end, out);
    out.WriteBytes(whole.rows);
  }
  return std::move(out).Release();
}

Status KvChunkStream::Take(Bytes piece, Sink sink) {
  buffer_.insert(buffer_.end(), piece.begin(), piece.end());
  size_t offset = 0;
  for (;;) {
    // The first bytes of a header or block have its length; then waits until all of it has come.
    const Bytes rest = Bytes(buffer_).subspan(offset);
    const size_t start_bytes = header_ ? kBlockHeadBytes : kHeaderStartBytes;
    if (rest.size() < start_bytes) break;
    const uint64_t bytes =
        header_ ? TRY(BlockBytes(rest.first(start_bytes))) : TRY(HeaderBytes(rest));
    if (rest.size() < bytes) break;
    ByteReader in(rest.first(bytes));
    if (!header_) {
      header_ = TRY(ReadHeader(in));
      blocks_left_ = header_->block_count;
    } else {
      TRY(sink(*header_, TRY(ReadBlock(in, header_->prefix_at_end))));
      --blocks_left_;
    }
    offset += bytes;
    // After the last block the next chunk begins.
    if (blocks_left_ == 0) header_.reset();
  }
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(offset));
  return Ok();
}

Status KvChunkStream::Finish() const {
  if (buffer_.empty() && !header_) return Ok();
  return DataLoss("the rows end in the middle of a KV chunk");
}

}  // namespace aster::kv
