// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The forward pass of a slice over a batch: spans of many sequences go through every matrix product
// together. A row's result does not depend on the rest of the batch, on how its sequence was cut,
// or on the number of threads. Must not know why tokens are computed, nor where the other slices
// are.
// | The slice may be divided between several back ends with consecutive layers; rows go from one to
// the next through the host.
// | A batch is a job: its thread calls Advance until it is done, and may compute another job while
// one waits. Jobs of different sequences may be in flight together; a layer of a sequence is
// computed by one job at a time.
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

// Layers that one back end computes, with their weights in its memory. Both outlive their users.
struct BackendSlice {
  const Weights& weights;
  compute::Backend& backend;
  ExpertUse* expert_use = nullptr;  // counts the router's choices; or null. On the processor only.
};

// A batch in flight. Tables (and hidden rows, until the first Advance has returned) outlive it.
// Nothing else may change the tables until it is done or destroyed. A job that is destroyed before
// it is done changes no table.
class ForwardJob {
 public:
  ForwardJob(ForwardJob&& other) noexcept = default;
  ForwardJob& operator=(ForwardJob&& other) noexcept;
  ~ForwardJob();

  // Computes until the job is done or has to wait. After an error it is over; no table has
  // advanced.
  Result<Progress> Advance();
  // Whether it waits for a back end; otherwise, as a group's part, it waits for other parts.
  bool is_computing() const { return passes_[at_].pass->is_computing(); }
  // Waits for the back end, for a thread with nothing else to compute.
  Status Wait() { return passes_[at_].pass->Wait(); }
  // Computes to the end, and waits if necessary.
  Result<Output> Finish();
  // Of a job that is done; valid as long as the job exists.
  const Output& output() const { return output_; }

 private:
  friend class Forward;

  // The pass of the job through one back end.
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
  std::vector<float> tapped_;  // the tapped rows, if layers of several back ends are tapped
};

// Keeps the memory of ended jobs for new ones. Belongs to one thread, like its jobs; outlives them.
class Forward {
 public:
  // Slices of one model, each beginning where the one before ends. `head` [vocab_size, embedding]
  // if it is not the weights' own.
  Forward(std::vector<BackendSlice> slices, const MemoryOptions& memory,
          const compute::Matrix* head = nullptr);
  Forward(const Weights& weights, const MemoryOptions& memory, compute::Backend& backend,
          const compute::Matrix* head = nullptr)
      : Forward({{weights, backend}}, memory, head) {}
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // All of its layers.
  const Slice& slice() const { return slice_; }
  // Batches that begin from here on can give rows after these layers (ascending): the mean of
  // streams if there are several.
  void Tap(const std::vector<uint32_t>& layers);

  // Begins a job that computes the segments (of different sequences) and advances their tables. On
  // failure no table has changed.
  Result<ForwardJob> Begin(std::span<const Segment> segments) { return Begin(segments, slice_); }
  // Computes only the layers, embedding and head of `part`. Only these layers of the tables change.
  // A group's part gets the other parts' results of the batch by `exchange`, which outlives the
  // job.
  Result<ForwardJob> Begin(std::span<const Segment> segments, const Slice& part,
                           Exchange* exchange = nullptr);

  // Runs a job from begin to end; its output is valid until the next call of Run.
  Result<Output> Run(std::span<const Segment> segments) { return Run(segments, slice_); }
  Result<Output> Run(std::span<const Segment> segments, const Slice& part);

 private:
  friend class ForwardJob;

  struct Layers {
    PassWeights shared;
    compute::Backend* backend;
    std::vector<std::unique_ptr<ForwardPass>> free;  // the most recently used one at the end
  };

  std::unique_ptr<ForwardPass> TakePass(Layers& layers);

  const MemoryOptions memory_;
  std::vector<Layers> layers_;  // by back end
  Slice slice_;
  std::optional<ForwardJob> last_;  // of Run
};

}  // namespace aster::model
