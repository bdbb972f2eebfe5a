// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures how fast a model runs here: prompts and answers, behind texts of some length, on some
// threads, one or many sequences at once; beside the machine's limits, measured in the same minute.
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
  std::vector<uint32_t> prompts = {};  // tokens of each prompt; none to leave prompts out
  uint32_t answer = 128;               // tokens of each answer; 0 to leave answers out
  std::vector<uint32_t> depths = {0};
  std::vector<size_t> threads = {1};
  std::vector<uint32_t> batches = {1};  // sequences that are answered at once
  uint32_t repetitions = 3;
  uint32_t chunk = 512;             // tokens of a prompt that are computed together
  uint64_t limit_buffer_bytes = 0;  // that the machine's limits are measured with; 0: a good size
};

enum class MeasuredKind : uint8_t { kPrefill, kDecode };

// One thing that is measured.
struct MeasuredCase {
  MeasuredKind kind;
  size_t threads;
  uint32_t depth;   // tokens before the first
  uint32_t tokens;  // of the prompt, or of each answer
  uint32_t batch;   // sequences; they share the text before their first tokens
};

struct Measurement {
  MeasuredCase what;
  std::vector<int64_t> durations_ns = {};  // of each repetition, in order

  double tokens_per_s = 0;  // of all sequences together, the median
  // What the machine's limits allow at most, if nothing else took any time: a prompt's integer
  // multiply-adds, or the bytes that every step of an answer reads. 0 where a prompt's products are
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

// Told what is being done, before it is done; `total` steps in all.
struct MeasureProgress {
  std::function<void(const std::string& what, uint64_t done, uint64_t total)> on_step;
  std::function<void(uint64_t done_tokens, uint64_t total_tokens)> on_fill;
};

// Memory that the sequences of a plan take; make a model with that much.
uint64_t MemoryFor(const MeasurePlan& plan, const kv::Layout& layout, kv::LayerRange layers);

// Every repetition visits every case once, so that what changes on the machine changes all of them.
// A few tokens before each are not counted: they find memory and threads asleep.
Result<MeasureReport> Measure(const LocalModel& model, const LocalModelOptions& options,
                              const MeasurePlan& plan, const Clock& clock,
                              const MeasureProgress& progress);

// A text like no other of another stream, the same every time.
std::vector<int32_t> RandomTokens(size_t count, uint32_t vocab_size, uint64_t stream);

double Median(std::vector<double> values);

}  // namespace aster::engine
