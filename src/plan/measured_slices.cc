// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/measured_slices.h"

#include <algorithm>

namespace aster::plan {
namespace {

class Correction {
 public:
  void Add(double expected_s, double measured_s) {
    expected_s_ += expected_s;
    measured_s_ += measured_s;
  }
  // No machine is so unlike what it was when its rates were measured.
  double factor() const {
    constexpr double kMost = 100;
    return expected_s_ > 0 ? std::clamp(measured_s_ / expected_s_, 1 / kMost, kMost) : 1;
  }

 private:
  double expected_s_ = 0;
  double measured_s_ = 0;
};

// Of as many rows as the plan's chunks have; 0: not known.
double ChunkSeconds(const MeasuredSlice& slice, uint32_t chunk_tokens) {
  const auto& [seconds, rows, context] = slice.chunk;
  if (seconds <= 0 || rows < 2) return 0;
  if (slice.token.seconds <= 0) return seconds / rows * chunk_tokens;
  const double row_s = std::max(seconds - slice.token.seconds, 0.0) / (rows - 1);
  return slice.token.seconds + row_s * (chunk_tokens - 1);
}

}  // namespace

void CorrectBy(std::span<const MeasuredSlice> measured, const ModelLoad& load,
               uint32_t chunk_tokens, const SplitProblem& problem, SplitProblem::Node& node) {
  Correction token, chunk;
  for (const MeasuredSlice& slice : measured) {
    const bool is_of_model = slice.begin < slice.end && slice.end <= problem.layer_count() &&
                             slice.head == (slice.end == problem.layer_count());
    if (!is_of_model) continue;
    const uint32_t layers = slice.end - slice.begin;
    if (slice.token.seconds > 0) {
      const double kv_bytes = load.KvReadBytes(slice.token.context) - load.kv_read_bytes;
      const double expected_s =
          PartTokenTime(problem, node, slice.begin, slice.end) + layers * kv_bytes * node.byte_s;
      token.Add(slice.part * expected_s, slice.token.seconds);
    }
    if (const double seconds = ChunkSeconds(slice, chunk_tokens); seconds > 0) {
      const double flops = load.FlopsPerLayer(slice.chunk.context / 2) / load.flops_per_layer;
      chunk.Add(slice.part * PartChunkTime(node, layers, false) * flops, seconds);
    }
  }
  for (double* const time : {&node.byte_s, &node.device_byte_s}) *time *= token.factor();
  for (double* const time : {&node.layer_s, &node.head_s, &node.device_layer_s})
    *time *= chunk.factor();
}

}  // namespace aster::plan
