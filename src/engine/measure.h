// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures how fast a model runs here: prompts and answers after texts of some length, with some
// thread counts, for one or many sequences; and the machine's limits, measured in the same minute.
// Must not know how results are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/local_model.h"
#include "engine/machine_limits.h"

namespace aster::engine {

struct MeasurePlan {
  std::vector<uint32_t> prompts = {};  // tokens of each prompt; empty: no prompts
  uint32_t answer = 128;               // tokens of each answer; 0: no answers
  std::vector<uint32_t> depths = {0};
  std::vector<size_t> threads = {1};
  std::vector<uint32_t> batches = {1};  // sequences that are answered at once
  uint32_t repetitions = 3;
  uint32_t chunk = 512;             // tokens of a prompt that are computed together
  uint64_t limit_buffer_bytes = 0;  // for measuring the machine's limits; 0: a good size
};

enum class MeasuredKind : uint8_t { kPrefill, kDecode };

// One thing to measure.
struct MeasuredCase {
  MeasuredKind kind;
  size_t threads;
  uint32_t depth;   // tokens before the measured ones
  uint32_t tokens;  // of the prompt, or of each answer
  uint32_t batch;   // sequences; they share the text before their first tokens
};

struct Measurement {
  MeasuredCase what;
  std::vector<int64_t> durations_ns = {};  // of each repetition, in order

  double tokens_per_s = 0;  // of all sequences together, the median
  // The rate at the machine's limits, if nothing else took time: by a prompt's integer
  // multiply-adds, or by the bytes that every step of an answer reads. 0 if a prompt's products are
  // not of integers.
  double limit_tokens_per_s = 0;
  double fraction_of_limit() const {
    return limit_tokens_per_s == 0 ? 0 : tokens_per_s / limit_tokens_per_s;
  }
};

struct MeasuredThreads {
  size_t threads;
  MachineLimits limits;  // the median of the repetitions
};

struct MeasureReport {
  std::vector<MeasuredThreads> threads;
  std::vector<Measurement> results;
};

// Called before each of `total` steps.
struct MeasureProgress {
  std::function<void(const std::string& what, uint64_t done, uint64_t total)> on_step;
  std::function<void(uint64_t done_tokens, uint64_t total_tokens)> on_fill;
};

// Memory for the sequences of a plan; make a model with this much.
uint64_t MemoryFor(const MeasurePlan& plan, const kv::Layout& layout, kv::LayerRange layers);

// Every repetition measures every case once, so that changes of the machine affect all cases. A few
// tokens before each case are not counted, as memory and threads are cold.
Result<MeasureReport> Measure(const LocalModel& model, const LocalModelOptions& options,
                              const MeasurePlan& plan, const Clock& clock,
                              const MeasureProgress& progress);

// A pseudorandom text, different for each stream and the same every time.
std::vector<int32_t> RandomTokens(size_t count, uint32_t vocab_size, uint64_t stream);

double Median(std::vector<double> values);

}  // namespace aster::engine
