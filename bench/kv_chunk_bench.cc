// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The time that compressing and decompressing the KV chunk of a page takes (--kv-wire q8), in plain
// bytes per second. At 10 Gbit/s a plain byte takes 0.8 ns, of which compression saves 0.375 ns,
// and both ends work at the same time: each has to be faster than 2.67 GB/s for a gain.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "base/random.h"
#include "kernels/isa_choice.h"
#include "kv/chunk.h"
#include "kv/prefix_hash.h"
#include "quant/half.h"
#include "stage/kv_chunk_encoding.h"

namespace aster::conduct {
namespace {

constexpr uint32_t kRows = 128;
constexpr uint32_t kWidth = 1024;  // keys and values of 8 heads of 64
constexpr uint32_t kLayers = 16;

const kv::Layout& PageLayout() {
  static const kv::Layout layout = [] {
    const kv::Stream stream{
        .codec = std::make_shared<kv::PlainCodec>("f16 8x64 keys and values", kWidth * 2, kRows)};
    return kv::Layout::Create(Hash128{1, 2}, kRows, 0,
                              std::vector<std::vector<kv::Stream>>(kLayers, {stream}))
        .value();
  }();
  return layout;
}

std::vector<uint8_t> Page() {
  std::vector<float> values(size_t{kRows} * kWidth);
  FillNormal(1, 0, 0, values);
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(quant::FloatToHalf(value));
  kv::KvChunkHeader header;
  header.digest = header.prefix_at_begin = PageLayout().digest();
  header.layers = {0, kLayers};
  header.end = kRows;
  header.block_count = kLayers;
  header.tokens.assign(kRows, 7);
  header.prefix_at_end = kv::ExtendPrefixHash(header.prefix_at_begin, header.tokens);
  ByteWriter chunk;
  kv::WriteHeader(header, chunk);
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const kv::Block block{
        .layer = layer,
        .stream = 0,
        .first_row = 0,
        .row_count = kRows,
        .row_bytes = kWidth * 2,
        .rows = {reinterpret_cast<const uint8_t*>(halves.data()), halves.size() * 2}};
    kv::WriteBlockHead(block, header.prefix_at_end, chunk);
    chunk.WriteBytes(block.rows);
  }
  return std::move(chunk).Release();
}

wire::Payload Compressed(Bytes page) {
  const kv::KvChunk chunk = kv::ParseKvChunk(page).value();
  return stage::CompressKvChunk(PageLayout(), kernels::FastestIsa(), chunk).value();
}

void Compress(benchmark::State& state) {
  const std::vector<uint8_t> plain = Page();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Compressed(plain));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(plain.size()));
}

void Decompress(benchmark::State& state) {
  const std::vector<uint8_t> plain = Page();
  const wire::Payload small = Compressed(plain);
  for (auto _ : state) {
    const kv::KvChunk chunk = kv::ParseKvChunk(small).value();
    benchmark::DoNotOptimize(stage::DecompressKvChunk(PageLayout(), kernels::FastestIsa(), chunk));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(plain.size()));
}

BENCHMARK(Compress);
BENCHMARK(Decompress);

}  // namespace
}  // namespace aster::conduct

BENCHMARK_MAIN();
