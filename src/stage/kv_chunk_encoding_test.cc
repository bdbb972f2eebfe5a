// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/kv_chunk_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "base/random.h"
#include "kernels/isa_choice.h"
#include "kv/prefix_hash.h"
#include "model/forward/runner_for_test.h"
#include "model/memory/memory.h"
#include "quant/half.h"

namespace aster::stage {
namespace {

using wire::RowEncoding;

constexpr uint32_t kPage = 16;
constexpr uint32_t kRows = 5;

kv::Layout LayoutOfRows(const std::string& format, size_t row_bytes) {
  const kv::Stream stream{.codec = std::make_shared<kv::PlainCodec>(format, row_bytes, kPage)};
  return kv::Layout::Create(Hash128{1, 2}, kPage, 0, {{stream}}).value();
}

// One KV chunk of one block.
wire::Payload KvChunkOf(const kv::Layout& layout, kv::Block block) {
  kv::KvChunkHeader header;
  header.digest = header.prefix_at_begin = layout.digest();
  header.layers = {0, 1};
  header.end = kRows;
  header.block_count = 1;
  header.tokens.assign(kRows, 7);
  header.prefix_at_end = kv::ExtendPrefixHash(header.prefix_at_begin, header.tokens);
  header.description = "test";
  ByteWriter chunk;
  kv::WriteHeader(header, chunk);
  kv::WriteBlockHead(block, header.prefix_at_end, chunk);
  chunk.WriteBytes(block.rows);
  return {chunk.bytes().begin(), chunk.bytes().end()};
}

kv::Block BlockOf(Bytes rows) {
  return {.layer = 0,
          .stream = 0,
          .first_row = 0,
          .row_count = kRows,
          .row_bytes = static_cast<uint32_t>(rows.size() / kRows),
          .rows = rows};
}

kv::Block OnlyBlock(Bytes bytes) {
  const kv::KvChunk chunk = kv::ParseKvChunk(bytes).value();
  ByteReader in(chunk.blocks);
  const kv::Block block = kv::ReadBlock(in, chunk.header.prefix_at_end).value();
  EXPECT_TRUE(in.at_end());
  return block;
}

Result<wire::Payload> Compress(const kv::Layout& layout, kernels::Isa isa, Bytes chunk) {
  return CompressKvChunk(layout, isa, TRY(kv::ParseKvChunk(chunk)));
}

Result<wire::Payload> Decompress(const kv::Layout& layout, kernels::Isa isa, Bytes chunk) {
  return DecompressKvChunk(layout, isa, TRY(kv::ParseKvChunk(chunk)));
}

std::vector<uint8_t> BytesOf(const std::vector<uint16_t>& halves) {
  std::vector<uint8_t> bytes(halves.size() * sizeof(uint16_t));
  std::memcpy(bytes.data(), halves.data(), bytes.size());
  return bytes;
}

// Compresses and decompresses kRows rows of halves.
std::vector<uint16_t> RoundTrip(const std::string& format, const std::vector<uint16_t>& halves,
                                kernels::Isa isa = kernels::Isa::kRef) {
  const size_t row_bytes = halves.size() / kRows * sizeof(uint16_t);
  const kv::Layout layout = LayoutOfRows(format, row_bytes);
  const std::vector<uint8_t> rows = BytesOf(halves);
  const wire::Payload plain = KvChunkOf(layout, BlockOf(rows));
  const wire::Payload small = Compress(layout, isa, plain).value();
  EXPECT_EQ(OnlyBlock(small).row_bytes, EncodedRowBytes(RowEncoding::kQ8, layout.streams(0)[0]));
  const wire::Payload back = Decompress(layout, isa, small).value();
  EXPECT_EQ(back.size(), plain.size());
  std::vector<uint16_t> found(halves.size());
  std::memcpy(found.data(), OnlyBlock(back).rows.data(), row_bytes * kRows);
  return found;
}

std::vector<float> SomeNumbers(size_t width) {
  std::vector<float> values(width * kRows);
  FillNormal(1, width, 0, values);
  for (size_t i = 0; i < values.size(); i += 7) values[i] *= 100;
  return values;
}

TEST(KvChunkEncoding, ErrorsAreBoundedByTheLargestOfTheirGroup) {
  for (const size_t width : {1, 2, 31, 32, 33, 80, 512}) {
    const std::vector<float> values = SomeNumbers(width);
    std::vector<uint16_t> halves, bfloats;
    for (const float value : values) {
      halves.push_back(quant::FloatToHalf(value));
      bfloats.push_back(quant::FloatToBfloat16(value));
    }
    const std::vector<uint16_t> f16 = RoundTrip("f16 test", halves);
    const std::vector<uint16_t> bf16 = RoundTrip("bf16 test", bfloats);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t row = i / width * width;
      const size_t group = row + (i - row) / 32 * 32;
      float largest = 0;
      for (size_t k = group; k < std::min(group + 32, row + width); ++k) {
        largest = std::max(largest, std::abs(values[k]));
      }
      // Half a step of the scale, which was rounded itself, plus the rounding of the result.
      EXPECT_LE(std::abs(quant::HalfToFloat(f16[i]) - values[i]), largest / 127 * 0.65F);
      EXPECT_LE(std::abs(quant::Bfloat16ToFloat(bf16[i]) - values[i]), largest / 127 * 1.2F);
    }
  }
}

TEST(KvChunkEncoding, EveryInstructionSetMakesTheSameOfIt) {
  for (const size_t width : {33, 256}) {
    std::vector<uint16_t> halves;
    for (const float value : SomeNumbers(width)) halves.push_back(quant::FloatToHalf(value));
    halves[1] = 0x7c00;   // infinity
    halves[70] = 0x0001;  // the smallest there is
    const kv::Layout layout = LayoutOfRows("f16 test", width * 2);
    const std::vector<uint8_t> rows = BytesOf(halves);
    const wire::Payload plain = KvChunkOf(layout, BlockOf(rows));
    const wire::Payload small = Compress(layout, kernels::Isa::kRef, plain).value();
    const wire::Payload back = Decompress(layout, kernels::Isa::kRef, small).value();
    for (const kernels::Isa isa : kernels::AvailableIsas()) {
      EXPECT_EQ(Compress(layout, isa, plain).value(), small) << kernels::IsaName(isa);
      EXPECT_EQ(Decompress(layout, isa, small).value(), back) << kernels::IsaName(isa);
    }
  }
}

// 65504 is 127 steps of a scale that was rounded up: 65532, which f16 would call infinite.
TEST(KvChunkEncoding, TheLargestNumberStaysFinite) {
  std::vector<uint16_t> halves(64 * kRows, quant::FloatToHalf(65504));
  halves[3] = quant::FloatToHalf(-65504);
  const std::vector<uint16_t> back = RoundTrip("f16 test", halves);
  EXPECT_EQ(quant::HalfToFloat(back[0]), 65504);
  EXPECT_EQ(quant::HalfToFloat(back[3]), -65504);
}

TEST(KvChunkEncoding, WhatIsNoNumberSpoilsItsGroupAndNoOther) {
  std::vector<uint16_t> halves(64 * kRows, quant::FloatToHalf(1));
  halves[5] = 0x7e00;
  const std::vector<uint16_t> back = RoundTrip("f16 test", halves);
  EXPECT_TRUE(std::isnan(quant::HalfToFloat(back[0])));
  EXPECT_EQ(quant::HalfToFloat(back[32]), 1);
  EXPECT_EQ(quant::HalfToFloat(back[64]), 1);
}

TEST(KvChunkEncoding, RowsOfAnythingElseTravelAsTheyAre) {
  for (const char* format : {"q8 2x64 keys and values", "f8 512 rows", "f32 2x64 to compress"}) {
    const kv::Layout layout = LayoutOfRows(format, 64);
    EXPECT_FALSE(ChangesRows(RowEncoding::kQ8, layout));
    EXPECT_EQ(EncodedRowBytes(RowEncoding::kQ8, layout.streams(0)[0]), 64u);
    const std::vector<uint8_t> rows(64 * kRows, 0x5a);
    const wire::Payload plain = KvChunkOf(layout, BlockOf(rows));
    EXPECT_EQ(Compress(layout, kernels::Isa::kRef, plain).value(), plain);
    EXPECT_EQ(Decompress(layout, kernels::Isa::kRef, plain).value(), plain);
  }
}

TEST(KvChunkEncoding, ModelsSayWhichRowsTheyHave) {
  const model::Shape shape = model::SmallShape(model::Arch::kLlama);
  const auto changes = [&](kernels::KvType type, RowEncoding encoding) {
    return ChangesRows(encoding,
                       model::MakeMemoryLayout(shape, {.type = type}, Hash128{1, 2}).value());
  };
  EXPECT_TRUE(changes(kernels::KvType::kF16, RowEncoding::kQ8));
  EXPECT_TRUE(changes(kernels::KvType::kBf16, RowEncoding::kQ8));
  EXPECT_FALSE(changes(kernels::KvType::kQ8, RowEncoding::kQ8));
  EXPECT_FALSE(changes(kernels::KvType::kF16, RowEncoding::kF32));
}

class HostileKvChunks : public testing::Test {
 protected:
  const kv::Layout layout_ = LayoutOfRows("f16 test", 128);
  const std::vector<uint8_t> rows_ = std::vector<uint8_t>(68 * kRows, 0x11);

  Result<wire::Payload> Decompressed(const kv::Block& block) {
    return Decompress(layout_, kernels::Isa::kRef, KvChunkOf(layout_, block));
  }
};

TEST_F(HostileKvChunks, RowsOfAnotherSizeAreRefused) {
  EXPECT_TRUE(Decompressed(BlockOf(rows_)).ok());
  EXPECT_FALSE(Decompressed(BlockOf(Bytes(rows_).first(67 * kRows))).ok());
  EXPECT_FALSE(Decompressed(BlockOf({})).ok());
  // Plain rows that are marked as compressed.
  EXPECT_FALSE(Decompressed(BlockOf(std::vector<uint8_t>(128 * kRows))).ok());
}

TEST_F(HostileKvChunks, LayersAndStreamsThatAreNoneAreRefused) {
  kv::Block block = BlockOf(rows_);
  block.layer = 1;
  EXPECT_FALSE(Decompressed(block).ok());
  block.layer = 0;
  block.stream = 1;
  EXPECT_FALSE(Decompressed(block).ok());
}

TEST_F(HostileKvChunks, DamageAndOtherLayoutsAreRefused) {
  const wire::Payload small = KvChunkOf(layout_, BlockOf(rows_));
  EXPECT_FALSE(Decompress(LayoutOfRows("bf16 test", 128), kernels::Isa::kRef, small).ok());
  wire::Payload longer = small;
  longer.push_back(0);
  EXPECT_FALSE(Decompress(layout_, kernels::Isa::kRef, longer).ok());
  for (size_t size = 0; size < small.size(); size += 13) {
    EXPECT_FALSE(Decompress(layout_, kernels::Isa::kRef, Bytes(small).first(size)).ok());
  }
  for (size_t at = 0; at < small.size(); at += 7) {
    wire::Payload damaged = small;
    damaged[at] ^= 0x40;
    EXPECT_FALSE(Decompress(layout_, kernels::Isa::kRef, damaged).ok()) << at;
  }
}

TEST_F(HostileKvChunks, ScalesThatAreNoNumbersDoNoHarm) {
  std::vector<uint8_t> rows = rows_;
  for (size_t row = 0; row < kRows; ++row) {
    // Infinity and NaN; the numbers are -128.
    const uint16_t scales[] = {0x7c00, 0x7e01};
    std::memset(&rows[row * 68], 0x80, 64);
    std::memcpy(&rows[row * 68 + 64], scales, sizeof(scales));
  }
  const wire::Payload back = Decompressed(BlockOf(rows)).value();
  EXPECT_EQ(OnlyBlock(back).row_bytes, 128u);
}

TEST(KvChunkEncoding, NamesAreRead) {
  EXPECT_EQ(ParseKvChunkEncoding("exact").value(), RowEncoding::kF32);
  EXPECT_EQ(ParseKvChunkEncoding("q8").value(), RowEncoding::kQ8);
  EXPECT_FALSE(ParseKvChunkEncoding("bf16").ok());
}

}  // namespace
}  // namespace aster::stage
