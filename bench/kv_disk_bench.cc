// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a KV cache on disk saves, and how fast it is: the time to the first token of a long prompt
// when its rows are not cached, on disk, and in memory; saving and loading rows, beside plain
// writing and reading of files, and copying of memory.
//
//   TMPDIR=/a/disk kv_disk_bench
//   ASTER_BENCH_PRESET=llama-1b ASTER_BENCH_TOKENS=4096 kv_disk_bench --benchmark_filter=FirstToken
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/machine.h"
#include "base/random.h"
#include "disk/disk_pages.h"
#include "disk/page_folder.h"
#include "disk/session_folder.h"
#include "engine/generate.h"
#include "engine/scheduler.h"
#include "kv/transfer.h"
#include "model/memory/memory.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"
#include "model/synth/synth.h"

namespace aster::disk {
namespace {

constexpr int64_t kPatienceNs = 600 * kNsPerSecond;
constexpr uint64_t kMemoryBytes = uint64_t{4} << 30;

std::string Setting(const char* name, const char* usual) {
  const char* value = std::getenv(name);
  return value == nullptr ? usual : value;
}

uint32_t TokenCount() {
  const std::string text = Setting("ASTER_BENCH_TOKENS", "16384");
  uint32_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

model::Shape TheShape() {
  return model::ShapeOfPreset(Setting("ASTER_BENCH_PRESET", "llama-1b")).value();
}

std::vector<int32_t> Prompt() {
  Random random(1);
  std::vector<int32_t> tokens(TokenCount());
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.NextBelow(1000));
  return tokens;
}

// Returns by value, as a reference into the temporary Result would dangle.
std::vector<IndexedFile> FilesOf(const std::string& folder) {
  return ListPageFiles(folder).value();
}

// Writes the files to the disk and drops them from the page cache.
void Forget(const std::string& folder) {
  for (const IndexedFile& file : FilesOf(folder)) {
    const int descriptor = open((folder + "/" + file.name.ToText()).c_str(), O_RDONLY | O_CLOEXEC);
    CHECK(descriptor >= 0);
    fdatasync(descriptor);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
  }
}

// The layout of a model, and rows of arbitrary values.
class Rows {
 public:
  Rows() {
    FillUniform(1, 0, 0, {reinterpret_cast<float*>(noise_.data()), noise_.size() / sizeof(float)});
  }

  const kv::Layout& layout() const { return layout_; }
  std::unique_ptr<DiskPages> Open() {
    return DiskPages::Open(
               {.folder = folder(), .size_bytes = uint64_t{64} << 30, .queue_bytes = kMemoryBytes},
               clock_)
        .value();
  }
  std::string folder() const { return holder_.File("pages"); }
  std::string path() const { return holder_.path(); }
  SystemClock& clock() { return clock_; }

  // Fills pages as a computation would, without computing.
  void Fill(kv::PageTable& table, const std::vector<int32_t>& tokens) {
    const uint32_t page = layout_.page_positions();
    for (size_t begin = 0; begin < tokens.size(); begin += page) {
      const auto chunk =
          std::span(tokens).subspan(begin, std::min<size_t>(page, tokens.size() - begin));
      CHECK(table.Reserve(static_cast<uint32_t>(chunk.size())).ok());
      for (uint32_t layer = 0; layer < layout_.layer_count(); ++layer) {
        uint8_t* const data =
            kv::HostPage(table.WritablePage(layer, static_cast<uint32_t>(begin / page)));
        std::memcpy(data, noise_.data(), layout_.streams(layer)[0].codec->page_bytes());
      }
      table.Advance(chunk);
    }
  }
  uint64_t RowBytes(size_t tokens) const {
    return tokens * layout_.layer_count() * layout_.streams(0)[0].codec->row_bytes();
  }

 private:
  const TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
  SystemClock clock_;
  const kv::Layout layout_ = model::MakeMemoryLayout(TheShape(), {}, {.low = 1}).value();
  std::vector<uint8_t> noise_ = std::vector<uint8_t>(size_t{8} << 20);
};

void SetRate(benchmark::State& state, uint64_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void BM_CopyMemory(benchmark::State& state) {
  std::vector<uint8_t> from(size_t{512} << 20, 1), to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
  }
  SetRate(state, from.size());
}
BENCHMARK(BM_CopyMemory)->Unit(benchmark::kMillisecond);

// The time until the operating system has everything; computing_ms is the part that the computing
// thread spends.
void BM_KeepPages(benchmark::State& state) {
  const std::vector<int32_t> tokens = Prompt();
  Rows rows;
  int64_t computing_ns = 0;
  for (auto _ : state) {
    state.PauseTiming();
    {
      const auto before = ListPageFiles(rows.folder());
      if (before.ok()) {
        for (const IndexedFile& file : *before) RemovePageFile(rows.folder(), file.name);
      }
    }
    const auto store = rows.Open();
    kv::Pool bare(kMemoryBytes), pool(kMemoryBytes, store.get());
    kv::PageTable without(rows.layout(), bare, rows.layout().all_layers());
    const int64_t start_ns = rows.clock().NowNs();
    rows.Fill(without, tokens);
    const int64_t bare_ns = rows.clock().NowNs() - start_ns;
    kv::PageTable table(rows.layout(), pool, rows.layout().all_layers());
    state.ResumeTiming();
    const int64_t filling_ns = rows.clock().NowNs();
    rows.Fill(table, tokens);
    computing_ns += rows.clock().NowNs() - filling_ns - bare_ns;
    CHECK(store->Flush(kPatienceNs));
    CHECK(store->counts().failed_files == 0 && store->counts().dropped_files == 0);
  }
  SetRate(state, rows.RowBytes(tokens.size()));
  state.counters["computing_ms"] =
      static_cast<double>(computing_ns) * 1e-6 / static_cast<double>(state.iterations());
}
BENCHMARK(BM_KeepPages)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(3);

enum Where : int64_t { kDisk, kPageCache, kMemory };

void BM_LoadPages(benchmark::State& state) {
  const std::vector<int32_t> tokens = Prompt();
  Rows rows;
  const auto where = static_cast<Where>(state.range(0));
  const auto store = rows.Open();
  kv::Pool first(kMemoryBytes, store.get());
  {
    kv::PageTable table(rows.layout(), first, rows.layout().all_layers());
    rows.Fill(table, tokens);
  }
  CHECK(store->Flush(kPatienceNs));
  for (auto _ : state) {
    state.PauseTiming();
    if (where == kDisk) Forget(rows.folder());
    kv::Pool fresh(kMemoryBytes, store.get());
    kv::PageTable table(rows.layout(), where == kMemory ? first : fresh,
                        rows.layout().all_layers());
    state.ResumeTiming();
    CHECK(table.Adopt(tokens) == tokens.size() / 64 * 64);
    state.PauseTiming();
    table = kv::PageTable(rows.layout(), fresh, rows.layout().all_layers());
    state.ResumeTiming();
  }
  SetRate(state, rows.RowBytes(tokens.size()));
}
BENCHMARK(BM_LoadPages)
    ->ArgName("disk0_cache1_memory2")
    ->DenseRange(kDisk, kMemory)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(3);

// Plain reading of the same files.
void BM_ReadFiles(benchmark::State& state) {
  const std::vector<int32_t> tokens = Prompt();
  Rows rows;
  {
    const auto store = rows.Open();
    kv::Pool pool(kMemoryBytes, store.get());
    kv::PageTable table(rows.layout(), pool, rows.layout().all_layers());
    rows.Fill(table, tokens);
    CHECK(store->Flush(kPatienceNs));
  }
  uint64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    if (state.range(0) == kDisk) Forget(rows.folder());
    bytes = 0;
    state.ResumeTiming();
    for (const IndexedFile& file : FilesOf(rows.folder())) {
      bytes += ReadFile(rows.folder() + "/" + file.name.ToText(), uint64_t{1} << 30).value().size();
    }
  }
  SetRate(state, bytes);
}
BENCHMARK(BM_ReadFiles)
    ->ArgName("disk0_cache1")
    ->DenseRange(kDisk, kPageCache)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(3);

// Saves and loads a whole session. The argument: 0 saves, 1 loads.
void BM_Session(benchmark::State& state) {
  const std::vector<int32_t> tokens = Prompt();
  Rows rows;
  kv::Pool pool(kMemoryBytes);
  kv::PageTable table(rows.layout(), pool, rows.layout().all_layers());
  rows.Fill(table, tokens);
  Session session;
  session.tokens = tokens;
  SessionFolder sessions(rows.path() + "/sessions", rows.clock());
  const auto save = [&] {
    CHECK(sessions
              .Save("kept", session, rows.layout(),
                    [&](FunctionRef<Status(Bytes)> sink) {
                      return kv::Export(table, table.layers(), 0, table.length(), sink);
                    })
              .ok());
  };
  if (state.range(0) == 1) save();
  for (auto _ : state) {
    if (state.range(0) == 0) {
      save();
      state.PauseTiming();
      CHECK(sessions.Remove("kept").ok());
      state.ResumeTiming();
      continue;
    }
    kv::Pool fresh(kMemoryBytes);
    kv::PageTable back(rows.layout(), fresh, rows.layout().all_layers());
    const OpenSession open = sessions.Open("kept").value();
    CHECK(
        sessions.LoadRows(open, rows.layout(), [&](Bytes chunk) { return kv::Import(back, chunk); })
            .ok());
    CHECK(back.length() == tokens.size());
  }
  SetRate(state, rows.RowBytes(tokens.size()));
}
BENCHMARK(BM_Session)
    ->ArgName("save0_load1")
    ->DenseRange(0, 1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(3);

// The time to the first token of a model with random weights: without a cache, with one on disk, in
// the page cache, and in memory.
class FirstToken {
 public:
  FirstToken() {
    ThreadPool pool(UsableCpuCount());
    model::SynthOptions options;
    options.shape = TheShape();
    options.name = "bench";
    options.choose_type = [](const model::TensorSpec& spec) {
      return spec.is_matrix ? gguf::TensorType::kQ4_K : gguf::TensorType::kF32;
    };
    const std::string path = holder_.File("model.gguf");
    CHECK(model::WriteSyntheticModel(options, path, pool, nullptr).ok());
    files_ = std::make_unique<gguf::ModelFiles>(gguf::ModelFiles::Open(path).value());
    store_ = DiskPages::Open({.folder = holder_.File("pages"), .queue_bytes = kMemoryBytes}, clock_)
                 .value();
    engine::LocalModelOptions local;
    local.name = Hash128{.low = 1};
    local.memory_bytes = kMemoryBytes;
    first_ = engine::LocalModel::Load(*files_, local).value();
  }

  double Seconds(Where where, bool is_cold) {
    engine::LocalModelOptions local;
    local.memory_bytes = kMemoryBytes;
    local.page_store = store_;
    if (where != kMemory) model_ = engine::LocalModel::ShareWeights(*first_, local).value();
    if (where == kDisk && !is_cold) Forget(holder_.File("pages"));
    engine::Scheduler scheduler(*model_, /*tokenizer=*/nullptr, clock_);
    engine::Sequence sequence = scheduler.NewSequence();
    const int64_t start_ns = clock_.NowNs();
    sequence.SetHistory(Prompt());
    engine::Request request;
    request.sequence = &sequence;
    request.max_tokens = 1;
    request.context_limit = TokenCount() + 2;
    const engine::Generated answer = engine::Generate(scheduler, request).value();
    const double seconds = static_cast<double>(clock_.NowNs() - start_ns) * 1e-9;
    CHECK(is_cold == (answer.finish.counts.cached == 0));
    CHECK(store_->Flush(kPatienceNs));
    return seconds;
  }

 private:
  const TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
  SystemClock clock_;
  std::unique_ptr<gguf::ModelFiles> files_;
  std::shared_ptr<DiskPages> store_;
  std::unique_ptr<engine::LocalModel> first_;
  std::unique_ptr<engine::LocalModel> model_;
};

void BM_FirstToken(benchmark::State& state) {
  FirstToken bench;
  for (auto _ : state) {
    state.SetIterationTime(bench.Seconds(kPageCache, /*is_cold=*/true));
    state.counters["from_disk_s"] = bench.Seconds(kDisk, /*is_cold=*/false);
    state.counters["from_page_cache_s"] = bench.Seconds(kPageCache, /*is_cold=*/false);
    state.counters["from_memory_s"] = bench.Seconds(kMemory, /*is_cold=*/false);
  }
}
BENCHMARK(BM_FirstToken)->Unit(benchmark::kSecond)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace aster::disk

BENCHMARK_MAIN();
