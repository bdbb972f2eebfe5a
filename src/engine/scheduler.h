// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Continuous batching: answers many requests on one model at once. Every step computes the next
// token of each answer and pieces of waiting prompts (chunked prefill). If memory runs out, the
// youngest request is preempted; if a GPU is lost, all continue on the processor. Answers do not
// depend on other requests. Must not know threads, networks, other machines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/draft_times.h"
#include "engine/generator.h"
#include "engine/local_model.h"
#include "engine/prefill_budget.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace aster::engine {

struct SchedulerOptions {
  uint32_t batch_tokens = 512;  // most tokens of prompts in one step
  uint32_t max_running = 64;    // requests
  // Longer steps get fewer tokens of prompts, if that helps; the first has few. 0: no limit.
  int64_t longest_step_ns = 0;
  // Drafters for speculative decoding; outlives the scheduler. Null: no request may have drafts.
  ProposerSource* proposers = nullptr;
};

// Totals since the scheduler was made.
struct SchedulerCounters {
  uint64_t steps = 0;
  uint64_t submitted = 0;
  uint64_t finished = 0;         // also cancelled and failed ones
  uint64_t prefill_tokens = 0;   // computed
  uint64_t cached_tokens = 0;    // of prompts, found in the KV cache
  uint64_t decode_tokens = 0;    // computed after prompts
  uint64_t replayed_tokens = 0;  // of both: computed again after a preemption
  uint64_t preempted = 0;        // times that a request lost its memory to an older one
  DraftCounts drafts = {};       // of all requests
  // The longest wait for the next token of a running answer.
  uint64_t longest_wait_steps = 0;  // 1: every step had one
  int64_t longest_wait_ns = 0;
};

class RunningRequest;

// The longest text that fits into the model's whole memory, if its prompt is computed `chunk`
// tokens at a time.
uint32_t LongestThatFits(const LocalModel& model, uint32_t chunk);

// Belongs to one thread, which computes in Step. Model, tokenizer, clock and submitted sequences
// outlive it. Unfinished requests are dropped without a callback when it is destroyed.
class Scheduler final : public Generator {
 public:
  // Without a tokenizer there are tokens, but no texts and no stop strings.
  Scheduler(LocalModel& model, const text::Tokenizer* tokenizer, const Clock& clock,
            SchedulerOptions options = {});
  ~Scheduler() override;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const model::Shape& shape() const override { return model_.shape(); }
  Sequence NewSequence() override { return Sequence(model_); }
  Result<RequestId> Submit(Request request) override;
  void Cancel(RequestId id) override;
  bool idle() const override { return waiting_.empty() && running_.empty(); }
  void OnShortage(std::function<bool()> release_unused) override {
    release_unused_ = std::move(release_unused);
  }
  // Computes one batch.
  Status Step() override;
  Status LogitsOf(std::span<const int32_t> tokens, size_t chunk, LogitsSink sink) override;
  Status ExportRows(Sequence& sequence, uint32_t begin, uint32_t end,
                    kv::KvChunkSink sink) override;
  Status ImportRows(Sequence& sequence, Bytes chunk) override;

  size_t waiting_count() const { return waiting_.size(); }
  size_t running_count() const { return running_.size(); }
  const SchedulerCounters& counters() const { return counters_; }

 private:
  using Requests = std::vector<std::unique_ptr<RunningRequest>>;

  // What a request computes in a step.
  struct BatchItem {
    RunningRequest* request;
    uint32_t count;                    // of its pending tokens
    std::vector<int32_t> drafts = {};  // draft tokens that are computed after them
    std::vector<int32_t> tokens = {};  // with drafts: the pending tokens and the drafts
    bool is_followed = true;           // by its drafter, if there is one

    uint32_t row_count() const { return count + static_cast<uint32_t>(drafts.size()); }
  };

  Status CheckIdle(const Sequence& sequence) const;
  Status CheckSequence(const Sequence& sequence) const;
  Status CheckMemory(const Request& request) const;
  Result<std::unique_ptr<Speculation>> SpeculationFor(const Request& request);
  void FinishCancelled();
  void Admit();
  bool FitsNow(RunningRequest& request);
  void PlanDecodes();
  void PlanPrefills();
  void ReserveMemory();
  bool ReleaseUnused(const RunningRequest& needy);
  bool FreeMemoryFor(const RunningRequest& needy);
  void Preempt(RunningRequest& request);
  void RunBatch();
  void RunMeasured();
  Status RunItems(size_t begin, size_t end);
  void TakeRows(const BatchItem& item, const model::Output& rows);
  void ReportRows(const BatchItem& item, const model::Output& rows);
  void NoteTurn(RunningRequest& request, int64_t now_ns);
  void Remove(RunningRequest& request);

  LocalModel& model_;
  const text::Tokenizer* const tokenizer_;
  const Clock& clock_;
  const SchedulerOptions options_;
  std::function<bool()> release_unused_;  // releases a sequence that is kept for later; or null

  PrefillBudget prefill_budget_;
  DraftTimesByKind draft_times_;  // by DraftKind
  Requests waiting_;              // the oldest first
  Requests running_;              // the oldest first
  std::vector<BatchItem> items_;
  RequestId next_id_ = 1;
  RequestId last_prefilled_ = 0;  // the request with the last page
  bool stepping_ = false;
  SchedulerCounters counters_;
};

}  // namespace aster::engine
