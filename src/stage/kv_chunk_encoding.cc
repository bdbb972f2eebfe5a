// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/kv_chunk_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "base/float_mode.h"
#include "kernels/ops.h"

namespace aster::stage {
namespace {

using wire::RowEncoding;

// Numbers of a row that share a scale; the last group of a row may be shorter.
constexpr size_t kGroup = 32;
constexpr float kLargestHalf = 65504;

enum class Numbers { kOther, kF16, kBf16 };

// By the format's name, which begins with the type (kv/page_codec.h).
Numbers NumbersOf(const kv::Stream& stream) {
  const std::string_view format = stream.codec->format();
  if (stream.codec->row_bytes() % sizeof(uint16_t) != 0) return Numbers::kOther;
  if (format.starts_with("f16 ")) return Numbers::kF16;
  if (format.starts_with("bf16 ")) return Numbers::kBf16;
  return Numbers::kOther;
}

// Compresses and decompresses rows of one stream.
class RowConverter {
 public:
  RowConverter(const kernels::OpsTable& ops, Numbers numbers, size_t count)
      : ops_(ops),
        numbers_(numbers),
        halves_(count),
        floats_(count),
        quants_(count),
        scales_(DivideUp(count, kGroup)) {}

  size_t plain_bytes() const { return halves_.size() * sizeof(uint16_t); }
  size_t small_bytes() const { return quants_.size() + scales_.size() * sizeof(uint16_t); }

  void Compress(const uint8_t* plain, uint8_t* small) {
    std::memcpy(halves_.data(), plain, plain_bytes());
    (numbers_ == Numbers::kF16 ? ops_.from_f16 : ops_.from_bf16)(halves_.data(), halves_.size(),
                                                                 floats_.data());
    ops_.to_q8(floats_.data(), floats_.size(), quants_.data(), scales_.data());
    std::memcpy(small, quants_.data(), quants_.size());
    std::memcpy(small + quants_.size(), scales_.data(), scales_.size() * sizeof(uint16_t));
  }

  void Decompress(const uint8_t* small, uint8_t* plain) {
    std::memcpy(quants_.data(), small, quants_.size());
    std::memcpy(scales_.data(), small + quants_.size(), scales_.size() * sizeof(uint16_t));
    ops_.from_q8(quants_.data(), scales_.data(), floats_.size(), floats_.data());
    if (numbers_ == Numbers::kF16) {
      // The largest of a group may be rounded up beyond the range of f16. NaN stays NaN.
      for (float& value : floats_) value = std::min(std::max(value, -kLargestHalf), kLargestHalf);
      ops_.to_f16(floats_.data(), floats_.size(), halves_.data());
    } else {
      ops_.to_bf16(floats_.data(), floats_.size(), halves_.data());
    }
    std::memcpy(plain, halves_.data(), plain_bytes());
  }

 private:
  const kernels::OpsTable& ops_;
  const Numbers numbers_;
  std::vector<uint16_t> halves_;  // [count]
  std::vector<float> floats_;     // [count]
  std::vector<int8_t> quants_;    // [count]
  std::vector<uint16_t> scales_;  // [groups]
};

Result<const kv::Stream*> StreamOf(const kv::Layout& layout, const kv::Block& block) {
  if (block.layer >= layout.layer_count() || block.stream >= layout.streams(block.layer).size()) {
    return DataLoss(
        fmt::format("rows of layer {}, stream {}, which do not exist", block.layer, block.stream));
  }
  return &layout.streams(block.layer)[block.stream];
}

enum class Direction { kCompress, kDecompress };

// Appends the block with its rows converted.
Status Convert(const kv::Layout& layout, const kernels::OpsTable& ops, Direction direction,
               const kv::Block& block, const Hash128& prefix_at_end, wire::Payload& out) {
  const bool compresses = direction == Direction::kCompress;
  const kv::Stream& stream = *TRY(StreamOf(layout, block));
  const Numbers numbers = NumbersOf(stream);
  kv::Block converted = block;
  const size_t head_begin = out.size();
  const size_t rows_begin = head_begin + kv::kBlockHeadBytes;
  if (numbers == Numbers::kOther) {
    out.resize(rows_begin + block.rows.size());
    if (!block.rows.empty()) {
      std::memcpy(out.data() + rows_begin, block.rows.data(), block.rows.size());
    }
  } else {
    RowConverter converter(ops, numbers, stream.codec->row_bytes() / sizeof(uint16_t));
    const size_t from = compresses ? converter.plain_bytes() : converter.small_bytes();
    const size_t to = compresses ? converter.small_bytes() : converter.plain_bytes();
    if (block.row_bytes != from) {
      return DataLoss(fmt::format("rows of {} bytes in layer {}, where {} bytes were expected",
                                  block.row_bytes, block.layer, from));
    }
    // At most twice the received bytes: row_count was checked against the rows that are there.
    out.resize(rows_begin + uint64_t{block.row_count} * to);
    for (uint32_t row = 0; row < block.row_count; ++row) {
      const uint8_t* const source = block.rows.data() + row * from;
      uint8_t* const target = out.data() + rows_begin + row * to;
      if (compresses) {
        converter.Compress(source, target);
      } else {
        converter.Decompress(source, target);
      }
    }
    converted.row_bytes = static_cast<uint32_t>(to);
  }
  // The head is written last: its checksum is of the converted rows.
  converted.rows = Bytes(out).subspan(rows_begin);
  ByteWriter head;
  kv::WriteBlockHead(converted, prefix_at_end, head);
  CHECK(head.size() == kv::kBlockHeadBytes);
  std::memcpy(out.data() + head_begin, head.bytes().data(), head.size());
  return Ok();
}

Result<wire::Payload> ConvertKvChunk(const kv::Layout& layout, kernels::Isa isa,
                                     Direction direction, const kv::KvChunk& chunk) {
  const ComputeFloatMode mode;
  const kernels::OpsTable& ops = kernels::Ops(isa);
  const kv::KvChunkHeader& header = chunk.header;
  if (header.digest != layout.digest()) {
    return FailedPrecondition(
        fmt::format("these rows are of another model or layout ({})", header.description));
  }
  const size_t bytes = chunk.head.size() + chunk.blocks.size();
  wire::Payload out;
  out.reserve(direction == Direction::kCompress ? bytes : 2 * bytes);
  // The header is copied: it does not depend on the size of rows.
  out.insert(out.end(), chunk.head.begin(), chunk.head.end());
  ByteReader in(chunk.blocks);
  for (uint32_t i = 0; i < header.block_count; ++i) {
    const kv::Block block = TRY(kv::ReadBlock(in, header.prefix_at_end));
    TRY(Convert(layout, ops, direction, block, header.prefix_at_end, out));
  }
  if (!in.at_end()) return DataLoss(fmt::format("{} bytes behind the last row", in.left()));
  return out;
}

}  // namespace

Result<RowEncoding> ParseKvChunkEncoding(std::string_view name) {
  if (name == "exact") return RowEncoding::kF32;
  if (name == "q8") return RowEncoding::kQ8;
  return InvalidArgument(
      fmt::format("\"{}\" is no encoding of KV transfers: exact and q8 are", name));
}

bool ChangesRows(RowEncoding encoding, const kv::Layout& layout) {
  if (encoding == RowEncoding::kF32) return false;
  for (uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
    const bool changes = std::ranges::any_of(layout.streams(layer), [](const kv::Stream& stream) {
      return NumbersOf(stream) != Numbers::kOther;
    });
    if (changes) return true;
  }
  return false;
}

size_t EncodedRowBytes(RowEncoding encoding, const kv::Stream& stream) {
  const size_t bytes = stream.codec->row_bytes();
  if (encoding == RowEncoding::kF32 || NumbersOf(stream) == Numbers::kOther) return bytes;
  const size_t count = bytes / sizeof(uint16_t);
  return count + DivideUp(count, kGroup) * sizeof(uint16_t);
}

Result<wire::Payload> CompressKvChunk(const kv::Layout& layout, kernels::Isa isa,
                                      const kv::KvChunk& chunk) {
  return ConvertKvChunk(layout, isa, Direction::kCompress, chunk);
}

Result<wire::Payload> DecompressKvChunk(const kv::Layout& layout, kernels::Isa isa,
                                        const kv::KvChunk& chunk) {
  return ConvertKvChunk(layout, isa, Direction::kDecompress, chunk);
}

}  // namespace aster::stage
