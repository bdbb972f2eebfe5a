// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Untrusted compressed KV chunks. As checksums would reject nearly all of them, the input
// determines the fields of a KV chunk, and the checksums are computed; or, if its first byte is
// odd, it is the KV chunk itself.
#include <memory>
#include <vector>

#include "base/check.h"
#include "kernels/isa_choice.h"
#include "kv/prefix_hash.h"
#include "stage/kv_chunk_encoding.h"

namespace aster::stage {
namespace {

kv::Stream StreamOf(const char* format, size_t row_bytes) {
  return {.codec = std::make_shared<kv::PlainCodec>(format, row_bytes, 16)};
}

const kv::Layout& FuzzLayout() {
  static const kv::Layout layout =
      kv::Layout::Create(Hash128{1, 2}, 16, 0,
                         {{StreamOf("f16 a", 2)},
                          {StreamOf("f16 b", 140), StreamOf("bf16 c", 64)},
                          {StreamOf("q8 d", 34)}})
          .value();
  return layout;
}

template <typename T>
T Take(ByteReader& in) {
  Result<T> value = in.Read<T>();
  return value.ok() ? *value : T{0};
}

// A chunk that can be decompressed has the same size when it is compressed again.
void CheckKvChunk(Bytes bytes) {
  const kv::Layout& layout = FuzzLayout();
  const Result<kv::KvChunk> chunk = kv::ParseKvChunk(bytes);
  if (!chunk.ok()) return;
  const Result<wire::Payload> wide = DecompressKvChunk(layout, kernels::Isa::kRef, *chunk);
  if (!wide.ok()) {
    CHECK(!wide.error().message().empty());
    return;
  }
  CHECK(wide->size() <= 2 * bytes.size());
  CHECK(DecompressKvChunk(layout, kernels::FastestIsa(), *chunk).value() == *wide);
  const kv::KvChunk plain = kv::ParseKvChunk(*wide).value();
  const wire::Payload small = CompressKvChunk(layout, kernels::Isa::kRef, plain).value();
  CHECK(small.size() == bytes.size());
  CHECK(CompressKvChunk(layout, kernels::FastestIsa(), plain).value() == small);
}

std::vector<uint8_t> TakeKvChunk(ByteReader& in) {
  const kv::Layout& layout = FuzzLayout();
  kv::KvChunkHeader header;
  header.digest = header.prefix_at_begin = layout.digest();
  if (Take<uint8_t>(in) == 1) header.digest.low ^= 1;
  header.layers = {0, 3};
  header.prefix_at_end = kv::ExtendPrefixHash(header.prefix_at_begin, header.tokens);
  ByteWriter blocks;
  const auto wanted = static_cast<uint32_t>(Take<uint8_t>(in) % 8);
  for (uint32_t i = 0; i < wanted; ++i) {
    kv::Block block;
    block.layer = Take<uint8_t>(in) % 4;
    block.stream = Take<uint8_t>(in) % 3;
    block.first_row = Take<uint8_t>(in);
    block.row_count = Take<uint8_t>(in) % 20;
    const bool is_there =
        block.layer < layout.layer_count() && block.stream < layout.streams(block.layer).size();
    const auto flaw = Take<uint8_t>(in);
    block.row_bytes = flaw % 16 == 1 || !is_there
                          ? flaw
                          : static_cast<uint32_t>(EncodedRowBytes(
                                wire::RowEncoding::kQ8, layout.streams(block.layer)[block.stream]));
    std::vector<uint8_t> rows(uint64_t{block.row_count} * block.row_bytes);
    for (uint8_t& byte : rows) byte = Take<uint8_t>(in);
    block.rows = rows;
    kv::WriteBlockHead(block, header.prefix_at_end, blocks);
    blocks.WriteBytes(rows);
    ++header.block_count;
  }
  if (Take<uint8_t>(in) == 1) header.block_count = Take<uint32_t>(in);
  ByteWriter chunk;
  kv::WriteHeader(header, chunk);
  chunk.WriteBytes(blocks.bytes());
  return std::move(chunk).Release();
}

}  // namespace
}  // namespace aster::stage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const aster::Bytes bytes = aster::Bytes(data, size).subspan(1);
  if (data[0] % 2 == 1) {
    aster::stage::CheckKvChunk(bytes);
    return 0;
  }
  aster::ByteReader in(bytes);
  aster::stage::CheckKvChunk(aster::stage::TakeKvChunk(in));
  return 0;
}
