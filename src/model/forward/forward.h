// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The forward pass of a slice over a batch: spans of many sequences go through every matrix product
// together. What a row gives does not depend on what else is in the batch, on how its sequence was
// cut, or on how many threads there are. Must not know why tokens are computed, nor where the other
// slices are.
//
// The slice may be of several back ends, whose layers follow one another: rows go through the host
// from one to the next.
//
// A batch is a job: its thread calls Advance until it is done, and may compute another job while
// one waits. Jobs of different sequences may be in flight together; the layers of one sequence are
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
#include "model/forward/forward_pass.h"
#include "model/forward/segment.h"
#include "model/parts/expert_use.h"

namespace aster::model {

class Forward;

// Layers that one back end computes, with their weights in its memory. Both outlive what uses them.
struct BackendSlice {
  const Weights& weights;
  compute::Backend& backend;
  ExpertUse* expert_use = nullptr;  // counts what routers choose; or null. On the processor only.
};

// A batch in flight. Tables (and hidden rows, until the first Advance has returned) outlive it; the
// tables are changed by nothing else until it is done or gone. A job that is dropped before it is
// done changes no table.
class ForwardJob {
 public:
  ForwardJob(ForwardJob&& other) noexcept = default;
  ForwardJob& operator=(ForwardJob&& other) noexcept;
  ~ForwardJob();

  // Computes until the job is done or has to wait for something. After an error it is over: no
  // table has advanced.
  Result<Progress> Advance();
  // Whether it waits for a back end; the job of a group's part else for the other parts.
  bool is_computing() const { return passes_[at_].pass->is_computing(); }
  // Returns when what it waits for is there, for a thread with nothing else to compute.
  Status Wait() { return passes_[at_].pass->Wait(); }
  // Computes to the end, waiting where it must.
  Result<Output> Finish();
  // Of a job that is done, as long as it is there.
  const Output& output() const { return output_; }

 private:
  friend class Forward;

  // Its way through the layers of one back end.
  struct Step {
    size_t slice;  // of the Forward's
    Slice part;
    std::unique_ptr<ForwardPass> pass;
  };

  ForwardJob(Forward& forward, const Slice& part, Exchange* exchange)
      : forward_(&forward), part_(part), exchange_(exchange) {}

  Status BeginNext();
  void TakeOutput();
  void AdvanceTables();

  Forward* forward_;
  Slice part_;
  Exchange* exchange_;        // or null
  std::vector<Step> passes_;  // one after the other; empty once moved from
  size_t at_ = 0;             // the current one
  Output output_;
  std::vector<float> tapped_;  // where layers of several are tapped
};

// Keeps the memory of jobs that are gone for those that come. Belongs to one thread, like its jobs,
// which it outlives.
class Forward {
 public:
  // Slices of one model, each beginning where the one before ends. `head` [vocab_size, embedding]
  // where it is not the weights' own.
  Forward(std::vector<BackendSlice> slices, const MemoryOptions& memory,
          const compute::Matrix* head = nullptr);
  Forward(const Weights& weights, const MemoryOptions& memory, compute::Backend& backend,
          const compute::Matrix* head = nullptr)
      : Forward({{weights, backend}}, memory, head) {}
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // All of its layers.
  const Slice& slice() const { return slice_; }
  // Batches that begin from here on give the rows behind these layers, ascending, where they are
  // wanted: the mean of streams where there are several.
  void Tap(const std::vector<uint32_t>& layers);

  // A job that computes the segments (of different sequences) and advances their tables. On failure
  // no table has changed.
  Result<ForwardJob> Begin(std::span<const Segment> segments) { return Begin(segments, slice_); }
  // Only some of the layers, with the embedding and the head only where `part` has them: as if
  // there were no others. Of the tables, too, only these layers matter and change.
  // A group's part gathers what the other parts compute of the same batch by `exchange`, which
  // outlives the job.
  Result<ForwardJob> Begin(std::span<const Segment> segments, const Slice& part,
                           Exchange* exchange = nullptr);

  // A job from begin to end; what it gives is valid until the next call of Run.
  Result<Output> Run(std::span<const Segment> segments) { return Run(segments, slice_); }
  Result<Output> Run(std::span<const Segment> segments, const Slice& part);

 private:
  friend class ForwardJob;

  struct Layers {
    PassWeights shared;
    compute::Backend* backend;
    std::vector<std::unique_ptr<ForwardPass>> free;  // the one used last at the end
  };

  std::unique_ptr<ForwardPass> TakePass(Layers& layers);

  const MemoryOptions memory_;
  std::vector<Layers> layers_;  // by back end
  Slice slice_;
  std::optional<ForwardJob> last_;  // of Run
};

}  // namespace aster::model
