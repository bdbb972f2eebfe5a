// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/forward.h"

#include "base/check.h"
#include "kernels/rope.h"
#include "model/rope_spec.h"

namespace aster::model {
namespace {

PassWeights MakePassWeights(const Weights& weights, const compute::Matrix* head) {
  const Shape& shape = weights.shape;
  PassWeights shared{.weights = weights,
                     .head = head == nullptr ? weights.head : *head,
                     .frequencies = std::vector<double>(shape.rope.dimensions / 2)};
  if (shape.is_latent()) return shared;
  kernels::RopeFrequencies(RopeSpecOf(shape.rope),
                           weights.rope_factors.empty() ? nullptr : weights.rope_factors.data(),
                           shared.frequencies.data());
  if (shape.rope.scaling == RopeScaling::kYarn) {
    shared.magnitude = kernels::YarnMagnitude(shape.rope.factor) * shape.rope.attention_factor;
  }
  return shared;
}

}  // namespace

ForwardJob& ForwardJob::operator=(ForwardJob&& other) noexcept {
  std::swap(forward_, other.forward_);
  std::swap(pass_, other.pass_);
  return *this;
}

ForwardJob::~ForwardJob() {
  if (pass_ == nullptr) return;
  pass_->Abandon();
  forward_->free_.push_back(std::move(pass_));
}

Result<Output> ForwardJob::Finish() {
  TRY(pass_->Finish());
  return output();
}

Forward::Forward(const Weights& weights, const MemoryOptions& memory, compute::Backend& backend,
                 const compute::Matrix* head)
    : shared_(MakePassWeights(weights, head)), memory_(memory), backend_(backend) {}

Result<ForwardJob> Forward::Begin(std::span<const Segment> segments, const Slice& part) {
  CHECK(shared_.weights.slice.Contains(part));
  if (free_.empty()) free_.push_back(std::make_unique<ForwardPass>(shared_, memory_, backend_));
  ForwardJob job(*this, std::move(free_.back()));
  free_.pop_back();
  TRY(job.pass_->Begin(segments, part));
  return job;
}

Result<Output> Forward::Run(std::span<const Segment> segments, const Slice& part) {
  last_.reset();
  last_.emplace(TRY(Begin(segments, part)));
  return last_->Finish();
}

}  // namespace aster::model
