// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "plan/measured_slices.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

namespace aster::plan {
namespace {

// Present times of a machine do not differ by more from its measured rates.
constexpr double kMostFactor = 100;

double Factor(double measured_s, double expected_s) {
  return expected_s > 0 ? std::clamp(measured_s / expected_s, 1 / kMostFactor, kMostFactor) : 1;
}

// Compares the times of slices of a kind with the predicted ones of a node.
class Comparison {
 public:
  Comparison(const ModelLoad& load, uint32_t chunk_tokens, const SplitProblem& problem,
             const SplitProblem::Node& node)
      : load_(load), chunk_tokens_(chunk_tokens), problem_(problem), node_(node) {}

  void AddTokens(std::span<const MeasuredSlice> slices) {
    for (const MeasuredSlice& slice : slices) {
      const bool is_last = slice.end == problem_.layer_count();
      if (slice.token.seconds <= 0 || slice.head != is_last) continue;
      const double kv_bytes = load_.KvReadBytes(slice.token.context) - load_.kv_read_bytes;
      const double kv_s = (slice.end - slice.begin) * kv_bytes * node_.byte_s;
      token_expected_s_ +=
          LayerPart(slice) * (TokenTime(slice.begin, slice.end) + kv_s) + HeadTime(slice);
      token_s_ += slice.token.seconds;
    }
  }

  // Call it after AddTokens: token times tell the head's part of a frame.
  void AddChunks(std::span<const MeasuredSlice> slices) {
    for (const MeasuredSlice& slice : slices) {
      const auto& [seconds, rows, context, waited_s] = slice.chunk;
      if (seconds <= 0 || rows < 2) continue;
      const uint32_t seen = context - std::min(context, rows / 2);
      const double flops = load_.FlopsPerLayer(seen) / load_.flops_per_layer;
      const double expected_s =
          LayerPart(slice) * PartChunkTime(node_, slice.end - slice.begin, false) * flops;
      Frames& frames = frames_[static_cast<uint32_t>(std::bit_width(rows))];
      frames.expected_s += expected_s;
      frames.seconds += std::max(seconds - token_factor() * HeadTime(slice), 0.0);
      frames.weighted_rows += rows * expected_s;
    }
  }

  bool knows_tokens() const { return token_s_ > 0; }
  bool knows_chunks() const { return !frames_.empty(); }
  double token_factor() const { return Factor(token_s_, token_expected_s_); }

  // In units of the predicted time of a chunk.
  FrameShape Shape(double token_factor) const {
    const uint32_t layers = problem_.layer_count();
    const double chunk_s = PartChunkTime(node_, layers, false);
    if (chunk_s <= 0) return {};
    std::vector<FrameShape::Point> points;
    for (const auto& [magnitude, frames] : frames_) {
      if (frames.expected_s <= 0) continue;
      points.push_back({.rows = frames.weighted_rows / frames.expected_s,
                        .seconds = Factor(frames.seconds, frames.expected_s)});
    }
    return {token_factor * TokenTime(0, layers) / chunk_s, points,
            static_cast<double>(chunk_tokens_)};
  }

 private:
  struct Frames {
    double expected_s = 0;  // of chunks
    double seconds = 0;
    double weighted_rows = 0;
  };

  // The slice's part of these layers; in a group some of the work is not divided.
  double LayerPart(const MeasuredSlice& slice) const {
    if (slice.part >= 1) return 1;
    return load_.together.whole + (1 - load_.together.whole) * slice.part;
  }
  double HeadTime(const MeasuredSlice& slice) const {
    return slice.head ? slice.part * HeadTime(slice.end - slice.begin) : 0;
  }
  double HeadTime(uint32_t layers) const {
    const double byte_s = node_.OnDevice(layers) > 0 ? node_.device_byte_s : node_.byte_s;
    return problem_.head_reads * byte_s;
  }
  // Without the head.
  double TokenTime(uint32_t begin, uint32_t end) const {
    const double head_s = end == problem_.layer_count() ? HeadTime(end - begin) : 0;
    return PartTokenTime(problem_, node_, begin, end) - head_s;
  }

  const ModelLoad& load_;
  const uint32_t chunk_tokens_;
  const SplitProblem& problem_;
  const SplitProblem::Node& node_;
  double token_expected_s_ = 0;
  double token_s_ = 0;
  std::map<uint32_t, Frames> frames_;  // keyed by the bit width of their rows
};

}  // namespace

FrameShape CorrectBy(std::span<const MeasuredSlice> measured, const ModelLoad& load,
                     uint32_t chunk_tokens, const SplitProblem& problem, ComputedBy by,
                     SplitProblem::Node& node) {
  std::vector<MeasuredSlice> own, others;
  for (const MeasuredSlice& slice : measured) {
    const uint32_t layers = problem.layer_count();
    const bool is_of_model = slice.begin < slice.end && slice.end <= layers;
    if (!is_of_model || (slice.head && slice.end != layers)) continue;
    const ComputedBy was = slice.part < 1 ? ComputedBy::kGroup : ComputedBy::kNodeAlone;
    // A device computes another share of a whole slice than of a group's part.
    if (was != by && node.device_layers > 0) continue;
    (was == by ? own : others).push_back(slice);
  }
  if (by == ComputedBy::kGroup) node.device_layers = 0;
  Comparison of_own(load, chunk_tokens, problem, node);
  Comparison of_others = of_own;
  of_own.AddTokens(own);
  of_others.AddTokens(others);
  of_own.AddChunks(own);
  of_others.AddChunks(others);
  const Comparison& tokens = of_own.knows_tokens() ? of_own : of_others;
  const Comparison& chunks = of_own.knows_chunks() ? of_own : of_others;
  const double token_factor = tokens.token_factor();
  FrameShape shape = chunks.Shape(token_factor);
  const double chunk_factor =
      shape.chunk_s() > 0 ? std::clamp(shape.chunk_s(), 1 / kMostFactor, kMostFactor) : 1;
  for (double* const time : {&node.byte_s, &node.device_byte_s}) *time *= token_factor;
  for (double* const time : {&node.layer_s, &node.head_s, &node.device_layer_s})
    *time *= chunk_factor;
  return shape;
}

}  // namespace aster::plan
