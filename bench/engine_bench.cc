// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cost of choosing a token, and how long an answer waits beside a long prompt.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/random.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "gguf/model_files.h"
#include "model/shape/tensors.h"
#include "model/synth/presets.h"
#include "model/synth/synth.h"

namespace aster::engine {
namespace {

constexpr uint32_t kVocabSize = 128256;

// Logits of several steps, so that each step's are out of the caches when it is their turn again.
// They are spread like those of models: few tokens are likely.
std::vector<std::vector<float>> MakeLogits() {
  std::vector<std::vector<float>> all(8, std::vector<float>(kVocabSize));
  for (uint64_t step = 0; step < all.size(); ++step) {
    FillNormal(/*seed=*/1, step, 0, all[step]);
    for (float& logit : all[step]) logit *= 2.5F;
    for (uint64_t i = 0; i < 20; ++i) all[step][i * 4001] += 8;
  }
  return all;
}

void BM_Choose(benchmark::State& state, const SamplingOptions& options) {
  static const std::vector<std::vector<float>> logits = MakeLogits();
  Sampler sampler(options, kVocabSize);
  std::vector<int32_t> history(1000, 7);
  for (auto _ : state) {
    const Choice choice = sampler.Choose(logits[history.size() % logits.size()], history).value();
    history.push_back(choice.id);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_Choose, greedy, SamplingOptions{.temperature = 0})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, usual, SamplingOptions{})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, usual_with_penalties,
                  SamplingOptions{.repetition_penalty = 1.1F, .presence_penalty = 0.5F})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, usual_with_logprobs, SamplingOptions{.top_logprobs = 5})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, typical, SamplingOptions{.typical_p = 0.9F})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, top_p_of_all, SamplingOptions{.top_k = 0, .min_p = 0})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, all, SamplingOptions{.top_k = 0, .top_p = 1, .min_p = 0})
    ->Unit(benchmark::kMicrosecond);

// A synthetic model of a few megabytes on one thread.
std::unique_ptr<gguf::ModelFiles> MakeModel(const TemporaryDirectory& folder) {
  ThreadPool pool(1);
  model::SynthOptions options;
  options.shape = model::ShapeOfPreset("tiny").value();
  options.name = "tiny";
  options.choose_type = [](const model::TensorSpec& spec) {
    return spec.is_matrix ? gguf::TensorType::kQ8_0 : gguf::TensorType::kF32;
  };
  const std::string path = folder.File("model.gguf");
  CHECK(model::WriteSyntheticModel(options, path, pool, nullptr).ok());
  return std::make_unique<gguf::ModelFiles>(gguf::ModelFiles::Open(path).value());
}

Request Ask(Sequence& sequence, size_t prompt_length, uint64_t max_tokens, uint64_t seed) {
  Random random(seed);
  for (size_t i = 0; i < prompt_length; ++i) {
    sequence.Append(static_cast<int32_t>(random.NextBelow(1000)));
  }
  Request request;
  request.sequence = &sequence;
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.context_limit = 1 << 16;
  return request;
}

// An answer is being decoded when a prompt of 4096 tokens arrives. The argument is the number of
// prompt tokens in a step.
void BM_AnswerBesideAPrompt(benchmark::State& state) {
  const auto folder = TemporaryDirectory::Create().value();
  const auto files = MakeModel(folder);
  LocalModelOptions options;
  options.threads = 1;
  const SystemClock clock;
  SchedulerCounters counters;
  double alone_ns = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const auto model = LocalModel::Load(*files, options).value();
    Sequence answer(*model);
    Sequence prompt(*model);
    Scheduler scheduler(*model, nullptr, clock,
                        {.batch_tokens = static_cast<uint32_t>(state.range(0))});
    CHECK(scheduler.Submit(Ask(answer, 64, 400, 1)).ok());
    for (int i = 0; i < 20; ++i) CHECK(scheduler.Step().ok());
    const int64_t begin_ns = clock.NowNs();
    for (int i = 0; i < 20; ++i) CHECK(scheduler.Step().ok());
    alone_ns = static_cast<double>(clock.NowNs() - begin_ns) / 20;
    const RequestId id = scheduler.Submit(Ask(prompt, 4096, 1, 2)).value();
    state.ResumeTiming();
    while (prompt.length() == 4096) CHECK(scheduler.Step().ok());
    state.PauseTiming();
    counters = scheduler.counters();
    scheduler.Cancel(id);
    state.ResumeTiming();
  }
  state.counters["wait_steps"] = static_cast<double>(counters.longest_wait_steps);
  state.counters["wait_ms"] = static_cast<double>(counters.longest_wait_ns) * 1e-6;
  state.counters["token_alone_ms"] = alone_ns * 1e-6;
}
BENCHMARK(BM_AnswerBesideAPrompt)
    ->ArgName("batch")
    ->Arg(128)
    ->Arg(512)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace aster::engine

BENCHMARK_MAIN();
