// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How fast tensors are hashed, beside the memory bandwidth of this machine; and how long it takes
// to open a file with a large vocabulary. The file is in the page cache; a disk is slower.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "gguf/content_hash.h"
#include "gguf/file.h"
#include "gguf/writer.h"

namespace aster::gguf {
namespace {

constexpr uint64_t kTensorBytes = uint64_t{256} << 20;
constexpr size_t kTensorCount = 4;
constexpr size_t kTokenCount = 128256;

// A file of 1 GiB of tensors and a vocabulary as large as Llama 3's.
class BenchFile {
 public:
  BenchFile() : path_(folder_.File("bench.gguf")) {
    MetadataBuilder metadata;
    metadata.Set("general.architecture", "llama");
    std::vector<std::string> tokens(kTokenCount);
    for (size_t i = 0; i < kTokenCount; ++i) tokens[i] = fmt::format("token{}", i);
    metadata.Set("tokenizer.ggml.tokens", tokens);
    std::vector<TensorSpec> specs(kTensorCount);
    for (size_t i = 0; i < kTensorCount; ++i) {
      specs[i] = {fmt::format("t{}", i), TensorType::kI8, {4096, kTensorBytes / 4096}};
    }
    Writer writer = Writer::Create(path_, metadata, specs).value();
    std::vector<uint8_t> data(kTensorBytes);
    std::iota(data.begin(), data.end(), uint8_t{0});
    for (const TensorSpec& spec : specs) CHECK(writer.Append(spec.name, data).ok());
    CHECK(writer.Finish().ok());
  }

  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  std::string path_;
};

const BenchFile& TheFile() {
  static const BenchFile file;
  return file;
}

void ReportBytes(benchmark::State& state, uint64_t bytes_per_iteration) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes_per_iteration));
}

// Only reads: eight independent sums, so that additions do not wait for each other.
uint64_t SumOf(Bytes bytes) {
  constexpr size_t kLanes = 8;
  uint64_t sums[kLanes] = {};
  for (size_t i = 0; i + sizeof(sums) <= bytes.size(); i += sizeof(sums)) {
    uint64_t words[kLanes];
    std::memcpy(words, bytes.data() + i, sizeof(words));
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += words[lane];
  }
  return std::accumulate(std::begin(sums), std::end(sums), uint64_t{0});
}

// The argument is the number of threads.
void BM_ReadMemory(benchmark::State& state) {
  ThreadPool pool(static_cast<size_t>(state.range(0)));
  const std::vector<uint8_t> memory(kTensorBytes * kTensorCount, 1);
  for (auto _ : state) {
    pool.ParallelFor(memory.size() / kHashChunkBytes, [&](size_t begin, size_t end, size_t) {
      const Bytes part =
          std::span(memory).subspan(begin * kHashChunkBytes, (end - begin) * kHashChunkBytes);
      benchmark::DoNotOptimize(SumOf(part));
    });
  }
  ReportBytes(state, memory.size());
}
BENCHMARK(BM_ReadMemory)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Reads through a mapping whose pages are dropped after use, as hashing does.
void BM_ReadMappedFile(benchmark::State& state) {
  ThreadPool pool(static_cast<size_t>(state.range(0)));
  const MappedFile file = MappedFile::Open(TheFile().path()).value();
  const Bytes bytes = file.bytes();
  for (auto _ : state) {
    pool.ParallelForDynamic(bytes.size() / kHashChunkBytes, 1,
                            [&](size_t begin, size_t end, size_t) {
                              const size_t offset = begin * kHashChunkBytes;
                              const size_t size = (end - begin) * kHashChunkBytes;
                              benchmark::DoNotOptimize(SumOf(bytes.subspan(offset, size)));
                              file.DontNeed(offset, size);
                            });
  }
  ReportBytes(state, bytes.size());
}
BENCHMARK(BM_ReadMappedFile)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_HashTensors(benchmark::State& state) {
  ThreadPool pool(static_cast<size_t>(state.range(0)));
  const File file = File::Open(TheFile().path()).value();
  for (auto _ : state) benchmark::DoNotOptimize(HashTensors(file, pool).value());
  ReportBytes(state, kTensorBytes * kTensorCount);
}
BENCHMARK(BM_HashTensors)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// The hash function alone, on bytes that stay in the cache.
void BM_HashCached(benchmark::State& state) {
  const std::vector<uint8_t> memory(size_t{256} << 10, 1);
  for (auto _ : state) benchmark::DoNotOptimize(Hash128Of(memory));
  ReportBytes(state, memory.size());
}
BENCHMARK(BM_HashCached);

void BM_OpenLargeVocabulary(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(File::Open(TheFile().path()).value());
}
BENCHMARK(BM_OpenLargeVocabulary)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace aster::gguf

BENCHMARK_MAIN();
