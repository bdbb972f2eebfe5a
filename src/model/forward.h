// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The forward pass of a slice over a batch: spans of many sequences go through every matrix product
// together. What a row gives does not depend on what else is in the batch, on how its sequence was
// cut, or on how many threads there are. Must not know why tokens are computed, nor where the other
// slices are.
//
// A batch is a job: its thread calls Advance until it is done, and may compute another job while
// one waits. Jobs of different sequences may be under way together; the layers of one sequence are
// one job's at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "model/forward_pass.h"
#include "model/segment.h"

namespace aster::model {

class Forward;

// A batch under way. Tables (and hidden rows, until the first Advance has returned) outlive it; the
// tables are changed by nothing else until it is done or gone. A job that is dropped before it is
// done changes no table.
class ForwardJob {
 public:
  ForwardJob(ForwardJob&& other) noexcept = default;
  ForwardJob& operator=(ForwardJob&& other) noexcept;
  ~ForwardJob();

  // Computes until the job is done or has to wait for something. After an error it is over: no
  // table has advanced.
  Result<Progress> Advance() { return pass_->Advance(); }
  // Computes to the end, waiting where it must.
  Result<Output> Finish();
  // Of a job that is done, as long as it is there.
  const Output& output() const { return pass_->output(); }

 private:
  friend class Forward;
  ForwardJob(Forward& forward, std::unique_ptr<ForwardPass> pass)
      : forward_(&forward), pass_(std::move(pass)) {}

  Forward* forward_;
  std::unique_ptr<ForwardPass> pass_;  // null once moved from
};

// Keeps the memory of jobs that are gone for those that come. Belongs to one thread, like its jobs,
// which it outlives. Weights outlive it.
class Forward {
 public:
  // `head` [vocab_size, embedding] where it is not the weights' own.
  Forward(const Weights& weights, const MemoryOptions& memory, compute::Backend& backend,
          const compute::Matrix* head = nullptr);
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // A job that computes the segments (of different sequences) and advances their tables. On failure
  // no table has changed.
  Result<ForwardJob> Begin(std::span<const Segment> segments) {
    return Begin(segments, shared_.weights.slice);
  }
  // Only some of the layers, with the embedding and the head only where `part` has them: as if
  // there were no others. Of the tables, too, only these layers matter and change.
  Result<ForwardJob> Begin(std::span<const Segment> segments, const Slice& part);

  // A job from begin to end; what it gives is valid until the next call of Run.
  Result<Output> Run(std::span<const Segment> segments) {
    return Run(segments, shared_.weights.slice);
  }
  Result<Output> Run(std::span<const Segment> segments, const Slice& part);

 private:
  friend class ForwardJob;

  const PassWeights shared_;
  const MemoryOptions memory_;
  compute::Backend& backend_;
  std::vector<std::unique_ptr<ForwardPass>> free_;  // the one used last at the end
  std::optional<ForwardJob> last_;                  // of Run
};

}  // namespace aster::model
