// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A stage of pipeline parallel: a part of a node's layers at work for one route. If devices
// compute, several frames may be in flight, but no two with a common sequence. Work that does not
// continue the KV cache, by length and hash, is refused with the cache's length. Must not know
// where work comes from or goes to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/forward/forward.h"
#include "model/parts/slice.h"
#include "stage/group.h"
#include "stage/stage_memory.h"
#include "wire/messages.h"

namespace aster::stage {

inline constexpr size_t kMaxWorkTokens = 65536;  // of all segments of a frame

// The result of a frame.
struct StageOutput {
  std::vector<wire::Holds> refused;
  std::optional<wire::Work> next;    // for the next stage, if a segment was computed
  std::optional<wire::Done> done;    // from a stage with the head
  std::vector<wire::Done> accepted;  // after `done`, one for each accepted draft token
  uint64_t tokens = 0;               // computed
  Group::Sent gathered;              // to the other nodes of the group
};

// Belongs to the thread that computes. The memory outlives it, and other stages of this node may
// share it. The group, if nodes compute these layers together, outlives it, too: other stages and
// the conductor see only the leader; the others compute the work that it sends them, and
// their frames have no result.
class Stage {
 public:
  // `index`: which stage of the route it is.
  Stage(wire::RouteId route, wire::RowEncoding encoding, StageMemory& memory,
        const model::Slice& part, uint32_t index, Group* group = nullptr)
      : route_(route),
        encoding_(encoding),
        memory_(memory),
        part_(part),
        index_(index),
        group_(group) {}

  kv::LayerRange layers() const { return {part_.layer_begin, part_.layer_end}; }
  const model::Slice& part() const { return part_; }
  StageMemory& memory() const { return memory_; }

  wire::Holds HoldsOf(wire::SequenceId sequence) const;
  // Why a segment was not computed, and what the KV cache holds.
  wire::Holds Refusal(const wire::WorkSegment& segment, Error why) const;

  // A frame in flight. Destroying it before it is done changes nothing.
  class Frame;

  // Begins a frame, which must have no sequence in common with those in flight. An error if it is
  // malformed. `continues`: this stage made it itself (Continuation). Its sequences must not change
  // until it is done.
  Result<std::unique_ptr<Frame>> Begin(wire::Work work, bool continues = false);
  // Computes until the frame is done or has to wait for something.
  model::Progress Advance(Frame& frame);
  // Whether a frame that waits does so for a device; else it waits for other nodes of the group.
  static bool IsComputing(const Frame& frame);
  // Waits until the frame can go on.
  static void Wait(Frame& frame);
  // The result of a frame that is done.
  StageOutput TakeOutput(std::unique_ptr<Frame> frame);
  // Computes a frame from beginning to end, waiting where it must.
  Result<StageOutput> Compute(wire::Work work, bool continues = false);

  // The next segment of a sequence that the stage decodes by itself, with up to `most` draft
  // tokens.
  wire::WorkSegment Continuation(wire::SequenceId sequence, uint64_t attempt, int32_t token,
                                 uint32_t most) const;

 private:
  // A segment on its way through the layers.
  struct BatchItem {
    wire::WorkSegment segment;
    StageMemory::Sequence* state = nullptr;
    const float* hidden = nullptr;  // [tokens, hidden_width], where the part has no embedding

    void DropDrafts();
  };
  bool follows() const { return group_ != nullptr && !group_->is_leader(); }
  wire::Work WorkOfJob(const Frame& frame) const;
  void FailJob(Frame& frame, const Error& why);
  Status CheckFrame(const wire::Work& work) const;
  Result<StageMemory::Sequence*> Prepare(const wire::WorkSegment& segment, bool continues);
  bool IsStillValid(const wire::WorkSegment& segment, const StageMemory::Sequence& state) const;
  void TakeSegments(Frame& frame, wire::Work work);
  Result<model::Progress> AdvanceJob(Frame& frame);
  static const engine::Speculation* DrafterOf(const Frame& frame, const BatchItem& item);
  model::Wanted TappedOf(const Frame& frame, const BatchItem& item) const;
  Status BeginJob(Frame& frame);
  void ComputeEachAlone(Frame& frame);
  void FinishJob(Frame& frame, const model::Output& computed);
  void SendToNextStage(Frame& frame, const model::Output& computed);
  void AnswerAll(Frame& frame, const model::Output& computed);
  void Answer(const BatchItem& item, std::span<const float> rows, wire::Done& done);
  uint32_t AcceptDrafts(const BatchItem& item, std::span<const float> logits, StageOutput& output);
  uint32_t AnswerLogits(const BatchItem& item, std::span<const float> logits, StageOutput& output);
  void OfferDrafts(const BatchItem& item, std::span<const float> logits, uint32_t kept,
                   uint32_t most, StageOutput& output);
  void OfferDraftsFromLogits(const BatchItem& item, std::span<const float> last_row, uint32_t kept,
                             uint32_t most, wire::SegmentResult& answer);
  std::vector<int32_t> Propose(const BatchItem& item, uint32_t length, int32_t token,
                               uint32_t most);
  void Choose(const BatchItem& item, uint32_t length, std::span<const float> logits,
              wire::SegmentResult& answer);

  const wire::RouteId route_;
  const wire::RowEncoding encoding_;
  StageMemory& memory_;
  const model::Slice part_;
  const uint32_t index_;
  Group* const group_;  // null: this node computes by itself
  // Buffers of finished frames, for later ones: [tokens of a frame, hidden_width] each.
  std::vector<std::vector<float>> free_rows_;
};

class Stage::Frame {
 private:
  friend class Stage;

  bool continues_ = false;
  std::vector<float> rows_;  // from the stage before: [tokens, hidden_width]
  std::vector<BatchItem> items_;
  // All items are computed in one job; if that fails, each in its own.
  bool is_together_ = true;
  size_t begin_ = 0;                           // items before it are done
  size_t end_ = 0;                             // those from `begin_` on are in the job
  uint64_t job_number_ = 0;                    // of a group
  std::unique_ptr<model::Exchange> exchange_;  // of the job of a group
  std::optional<model::ForwardJob> job_;
  StageOutput output_;
};

}  // namespace aster::stage
