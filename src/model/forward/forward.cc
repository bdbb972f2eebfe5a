// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/forward/forward.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/rope.h"
#include "model/layers/rope_spec.h"

namespace aster::model {
namespace {

PassWeights MakePassWeights(const Weights& weights, const compute::Matrix* head) {
  const Shape& shape = weights.shape;
  PassWeights shared{.weights = weights,
                     .head = head == nullptr ? weights.head : *head,
                     .frequencies = std::vector<double>(shape.rope.dimensions / 2)};
  if (shape.is_latent()) return shared;
  // RoPE of all layers, or of those without a window: frequencies, by Llama 3's factors if the file
  // has them, and the magnitude.
  kernels::RopeFrequencies(RopeSpecOf(shape.rope),
                           weights.rope_factors.empty() ? nullptr : weights.rope_factors.data(),
                           shared.frequencies.data());
  // In MLA, scores have the magnitude, not cosines and sines.
  shared.magnitude = shape.is_mla() ? 1.0 : RopeMagnitudeOf(shape.rope);
  if (shape.has_window_rope()) {
    shared.window_frequencies.resize(shape.window_rope.dimensions / 2);
    kernels::RopeFrequencies(RopeSpecOf(shape.window_rope), nullptr,
                             shared.window_frequencies.data());
  }
  return shared;
}

}  // namespace

ForwardJob& ForwardJob::operator=(ForwardJob&& other) noexcept {
  std::swap(forward_, other.forward_);
  std::swap(part_, other.part_);
  std::swap(exchange_, other.exchange_);
  std::swap(passes_, other.passes_);
  std::swap(at_, other.at_);
  std::swap(output_, other.output_);
  std::swap(tapped_, other.tapped_);
  return *this;
}

ForwardJob::~ForwardJob() {
  // A back end may still compute into the pass: wait for it before another job gets the pass.
  for (Step& step : passes_) {
    if (step.pass == nullptr) continue;
    step.pass->Abandon();
    forward_->layers_[step.slice].free.push_back(std::move(step.pass));
  }
}

Result<Progress> ForwardJob::Advance() {
  // One back end after the other, without returning between passes that are done at once.
  while (TRY(passes_[at_].pass->Advance()) == Progress::kDone) {
    if (at_ + 1 == passes_.size()) {
      TakeOutput();
      AdvanceTables();
      return Progress::kDone;
    }
    TRY(BeginNext());
  }
  return Progress::kWaiting;
}

Result<Output> ForwardJob::Finish() {
  while (TRY(Advance()) == Progress::kWaiting) TRY(Wait());
  return output();
}

// The next back end begins with the rows after the layers of the one before.
Status ForwardJob::BeginNext() {
  const ForwardPass& before = *passes_[at_].pass;
  // The same segments, with hidden states in place of token embeddings.
  std::vector<Segment> segments(before.segments().begin(), before.segments().end());
  const float* rows = before.output().hidden.data();
  const size_t width = forward_->layers_[0].shared.weights.shape.hidden_width();
  for (Segment& segment : segments) {
    segment.hidden = rows;
    rows += segment.tokens.size() * width;
  }
  // Takes the pass only now, so that a back end has no more passes than batches at a time.
  Step& next = passes_[++at_];
  next.pass = forward_->TakePass(forward_->layers_[next.slice]);
  return next.pass->Begin(segments, next.part, exchange_, before.next_gather());
}

// Puts the tapped rows of several passes side by side.
void ForwardJob::TakeOutput() {
  output_ = passes_.back().pass->output();
  size_t rows = 0, width = 0;
  for (const Step& step : passes_) {
    rows = step.pass->tapped_rows();
    width += step.pass->tapped_width();
  }
  if (rows == 0 || passes_.size() == 1) return;
  tapped_.resize(rows * width);
  size_t column = 0;
  for (const Step& step : passes_) {
    const size_t own = step.pass->tapped_width();
    const float* from = step.pass->output().tapped.data();
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(from + row * own, own, tapped_.data() + row * width + column);
    column += own;
  }
  output_.tapped = tapped_;
}

// Tables change only now: an error before this has no effect.
void ForwardJob::AdvanceTables() {
  for (const Segment& segment : passes_[0].pass->segments()) {
    segment.table->Advance({part_.layer_begin, part_.layer_end}, segment.tokens,
                           segment.draft_count);
  }
}

Forward::Forward(std::vector<BackendSlice> slices, const MemoryOptions& memory,
                 const compute::Matrix* head)
    : memory_(memory), slice_(slices.front().weights.slice) {
  // Slices follow each other without a gap; only the first may embed and only the last has a head.
  for (const BackendSlice& slice : slices) {
    const Slice& own = slice.weights.slice;
    CHECK(layers_.empty() || (own.layer_begin == slice_.layer_end && !own.embedding));
    // Together they are one slice, from the first one's layers to the last one's.
    slice_.layer_end = own.layer_end;
    slice_.head = own.head;
    layers_.push_back({MakePassWeights(slice.weights, head), &slice.backend, {}});
    layers_.back().shared.expert_use = slice.expert_use;
  }
}

void Forward::Tap(const std::vector<uint32_t>& layers) {
  for (Layers& one : layers_) one.shared.taps = layers;
}

std::unique_ptr<ForwardPass> Forward::TakePass(Layers& layers) {
  // Passes own the scratch memory of a batch, so they are reused.
  if (layers.free.empty())
    return std::make_unique<ForwardPass>(layers.shared, memory_, *layers.backend);
  std::unique_ptr<ForwardPass> pass = std::move(layers.free.back());
  layers.free.pop_back();
  return pass;
}

Result<ForwardJob> Forward::Begin(std::span<const Segment> segments, const Slice& part,
                                  Exchange* exchange) {
  CHECK(slice_.Contains(part));
  ForwardJob job(*this, part, exchange);
  // The layers of each back end that are in `part`; back ends without any are left out.
  for (size_t i = 0; i < layers_.size(); ++i) {
    Slice own = layers_[i].shared.weights.slice;
    own.embedding = part.embedding && own.embedding;
    own.head = part.head && own.head;
    own.layer_begin = std::max(own.layer_begin, part.layer_begin);
    own.layer_end = std::min(own.layer_end, part.layer_end);
    if (own.layer_begin < own.layer_end) job.passes_.push_back({i, own, nullptr});
  }
  // Reserves room for all layers before the first computes, so that a batch that fails for lack of
  // it changes nothing.
  if (job.passes_.size() > 1) {
    for (const Segment& segment : segments) {
      TRY(segment.table->Reserve({part.layer_begin, part.layer_end},
                                 static_cast<uint32_t>(segment.tokens.size())));
    }
  }
  // Later passes begin when the rows that they need have been computed (BeginNext).
  ForwardJob::Step& first = job.passes_.front();
  first.pass = TakePass(layers_[first.slice]);
  TRY(first.pass->Begin(segments, first.part, exchange));
  return job;
}

Result<Output> Forward::Run(std::span<const Segment> segments, const Slice& part) {
  // Destroys the job of the call before, whose output is no longer valid, and frees its passes.
  last_.reset();
  last_.emplace(TRY(Begin(segments, part)));
  return last_->Finish();
}

}  // namespace aster::model
