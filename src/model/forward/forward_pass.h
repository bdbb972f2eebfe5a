// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Computes one batch through the layers of a slice, step by step for every architecture, in the
// operations of a back end, and owns the memory for it. Must not know who asked, which other
// batches are in flight, nor the kind of back end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/blocks.h"
#include "compute/commands.h"
#include "kv/page_table.h"
#include "model/forward/segment.h"
#include "model/layers/delta_attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/latent_attention.h"
#include "model/layers/layer_input.h"
#include "model/layers/mla_attention.h"
#include "model/layers/ngram_memory.h"
#include "model/layers/stream_mixer.h"
#include "model/memory/memory.h"
#include "model/parts/exchange.h"
#include "model/parts/expert_use.h"
#include "model/weights/weights.h"

namespace aster::model {

// What all passes over the same weights have in common. Constant except for the taps, which hold
// for passes that begin later.
struct PassWeights {
  const Weights& weights;
  const compute::Matrix& head;                  // [vocab_size, embedding]
  std::vector<double> frequencies;              // [rope.dimensions / 2], of plain attention
  double magnitude = 1.0;                       // of cosines and sines
  std::vector<double> window_frequencies = {};  // of layers with a window, if these have others
  ExpertUse* expert_use = nullptr;              // counts the router's choices; or null
  std::vector<uint32_t> taps = {};              // layers whose output rows may be wanted
};

// Computes one batch after the other; its memory is as large as the largest batch needed. Not for
// concurrent use. Weights and back end outlive it.
class ForwardPass {
 public:
  ForwardPass(const PassWeights& weights, const MemoryOptions& memory, compute::Backend& backend);

  // Begins a batch: reserves room in the tables, which must not change until it is done. On failure
  // no table has changed. `exchange` connects a group's part with the other parts; it outlives the
  // batch, and only Advance takes from it. `gather`: the number of the first gather, if earlier
  // layers had some.
  Status Begin(std::span<const Segment> segments, const Slice& part, Exchange* exchange = nullptr,
               uint32_t gather = 0);
  // Computes until the batch is done or has to wait. The caller advances the tables' lengths. On
  // failure the batch is over.
  Result<Progress> Advance();
  // Whether it waits for its back end; otherwise, as a group's part, it waits for other parts.
  bool is_computing() const { return is_submitted_; }
  // Waits for the back end.
  Status Wait() { return commands_->Wait(); }
  // Ends the batch early; waits for commands in flight.
  void Abandon();
  std::span<const Segment> segments() const { return segments_; }
  // Of a batch that is done; valid until the next one begins.
  const Output& output() const { return output_; }
  // Of Output::tapped: the layers are those of this pass.
  size_t tapped_rows() const { return tapped_.count; }
  size_t tapped_width() const { return taps_.size() * shape_.embedding; }
  // The number of the next gather after this batch.
  uint32_t next_gather() const { return gather_; }

 private:
  // Some of the rows: the last ones of each segment.
  struct Gathered {
    std::vector<compute::RowRange> ranges;
    size_t count = 0;     // in all of them
    compute::Array rows;  // [count, hidden_width]

    void Clear();
    // Adds the last `more` of rows that end at `end`.
    void Add(size_t end, size_t more);
    Status Plan(compute::Backend& backend, size_t width);
  };

  // What a group computes of a layer between two gathers.
  enum class GroupStep : uint8_t {
    kProject,        // what all heads are needed for: all of delta nets, or queries and keys
    kAttend,         // attention of the heads
    kOutput,         // the output product of attention
    kExpand,         // the wide row of a dense network
    kContract,       // the output product of the network
    kExpandExperts,  // the same for experts
    kContractExperts,
    kChooseExperts,  // if parts own experts: which part computes them
    kSumExperts      // the sums of experts; then kContract for both
  };
  struct LayerStep {
    uint32_t layer;
    GroupStep step;
  };

  // Columns that a part sends, and the whole rows that they belong to: `each` columns for every
  // unit of a range.
  struct PartColumns {
    compute::Tensor own;
    compute::Tensor whole;
    PartRange PartRanges::* range;
    uint32_t each = 1;
    // The product that reads `whole`, or none; and the format of blocks if all parts' columns are
    // whole blocks: then the operand is joined from blocks, and `whole` is not needed.
    compute::Operand* operand = nullptr;
    std::optional<kernels::ActivationFormat> blocks = std::nullopt;
    Bytes sent = {};  // the bytes of `own`, once the batch is done

    compute::Tensor ColumnsOf(const PartRanges& ranges) const;
    compute::BlockColumns BlocksOf(const PartRanges& ranges) const;
    // The bytes that a part sends.
    size_t BytesOf(const PartRanges& ranges, bool are_blocks) const;
  };
  // A gather in flight: a message of each part has its columns of the first tensor, then of the
  // second; or blocks, for tensors that have a format for them.
  struct Gather {
    std::vector<PartColumns> columns;
    Exchange::To to = Exchange::To::kAll;
    bool are_blocks = false;    // what this part sends
    compute::Tensor sums = {};  // or the joined sums of experts, once all have arrived
    uint32_t next_part = 0;     // parts before it have arrived

    bool is_in_flight() const { return !columns.empty() || !sums.empty(); }
    bool may_be_blocks() const;
  };

  // Rows of heads in a layer; their length depends on the layer's heads.
  struct HeadRows {
    size_t kv_head_count = 0;
    compute::Tensor queries = {};
    compute::Tensor keys = {};  // none, if the layer uses another layer's
    compute::Tensor values = {};
    compute::Tensor attended = {};
  };

  Status CheckSegments() const;
  HeadRows HeadRowsOf(uint32_t layer) const;
  Status ProjectHeads(uint32_t layer, const HeadRows& rows, const LayerWeights& weights);
  Status ReserveRows();
  Status PlanMemory();
  Result<Progress> Record();
  Status RecordInput();
  Result<Progress> FinishBatch();
  Result<Progress> RecordLayers();
  const LayerWeights& WeightsOf(uint32_t layer) const;
  Status RecordEnd();
  Status RecordLayer(uint32_t layer, const LayerWeights& weights);
  Status RecordMixedLayer(uint32_t layer, const LayerWeights& weights);
  Status AddNgrams(uint32_t layer, const LayerWeights& weights);
  bool AreAllLeftOut(uint32_t layer) const;
  Status KeepRows(uint32_t layer, const LayerWeights& weights);
  Status KeepContext(uint32_t layer, const LayerWeights& weights);
  bool IsTapped(uint32_t layer) const;
  Status RecordTap(uint32_t layer);
  Status LeaveOut(uint32_t layer);
  std::span<const int32_t> TokensLeft() const;
  Status RecordGemma4Layer(uint32_t layer, const LayerWeights& weights);
  Status BeginExpertsBesideDense(const LayerWeights& weights);
  Status AddExperts(const LayerWeights& weights);
  Status EndGemma4Layer(uint32_t layer, const LayerWeights& weights);
  Status RecordAttention(uint32_t layer, const LayerWeights& weights);
  Status RecordHeads(uint32_t layer, const LayerWeights& weights);
  Status Attend(uint32_t layer, const HeadRows& rows, const LayerWeights& weights);
  compute::HeadAttention AttentionOf(uint32_t layer, const HeadRows& rows,
                                     const LayerWeights& weights) const;
  Status AddBias(const compute::Array& bias, const compute::Tensor& rows);
  Status FinishHeads(uint32_t layer, const HeadRows& rows, const LayerWeights& weights);
  Status NormaliseAllHeads(const compute::Tensor& rows, const compute::Array& weight);
  Status FinishHalf(const compute::Array& norm);
  Status CountExperts(uint32_t layer, const LayerWeights& weights);
  compute::Angles AnglesOf(uint32_t layer) const;
  Status RecordQueryAngles();
  Status RecordHidden();
  Status RecordHead();
  Status RecordStates();
  Result<compute::Tensor> LastRows(const Gathered& gathered);
  Status Normalise(const compute::Tensor& rows, const compute::Array& weight);

  // For a group's part (forward_pass_group.cc).
  Status PlanGroupMemory();
  void PlanSteps();
  Result<Progress> AdvanceSteps();
  Result<Progress> FinishStep();
  Status SendOwn();
  Status PlaceOwn();
  Status RecordStep(const LayerStep& step);
  Status BeginAttention(uint32_t layer, const LayerWeights& weights);
  Status BeginFeedForward(const LayerWeights& weights);
  Status EndAttention(const LayerWeights& weights);
  Status EndLayer(uint32_t layer);
  Status ShareProjected(uint32_t layer, const LayerWeights& weights);
  Status ShareAttended(uint32_t layer, const LayerWeights& weights);
  Result<compute::Tensor> AttendOwn(uint32_t layer, const LayerWeights& weights);
  Status AttendInWholeRows(uint32_t layer, const HeadRows& rows, const LayerWeights& weights);
  Status ContractAttended(uint32_t layer, const LayerWeights& weights);
  compute::Tensor AllAttendedOf(uint32_t layer) const;
  compute::Tensor AllDenseOf(uint32_t layer) const;
  compute::Tensor WideRowsOf(const compute::Tensor& wide, bool shared) const;
  compute::Tensor OutOfExperts() const;
  Status BeginExperts(const LayerWeights& weights);
  Status RecordLastStep();
  PartColumns ForProduct(PartColumns columns, const compute::Matrix& matrix,
                         compute::Operand& operand) const;
  Status Share(std::initializer_list<PartColumns> columns, Exchange::To to = Exchange::To::kAll);
  Status ReadOwn(PartColumns& columns, bool as_blocks);
  Status ShareDense(uint32_t layer, const LayerWeights& weights);
  Status ShareExperts(uint32_t layer, const LayerWeights& weights);
  Status ContractExperts(const LayerWeights& weights);
  Status ChooseExperts(uint32_t layer, const LayerWeights& weights);
  Status ShareSums(const LayerWeights& weights);
  Result<Progress> Collect();
  size_t ExpectedOf(uint32_t part, bool are_blocks) const;
  Status TakeFrom(uint32_t part, const Exchange::Rows& rows);
  Status Place(const PartColumns& columns, uint32_t part, Bytes bytes, bool are_blocks);
  Status PlaceBlocks(const PartColumns& columns, uint32_t part, Bytes bytes, bool are_blocks);

  const PassWeights& shared_;
  const Weights& weights_;
  const Shape& shape_;
  const GroupPart& group_;                // the weights'
  const Shape own_;                       // with the heads and width that are computed here
  const std::vector<PartRanges> ranges_;  // by part: its columns
  const MemoryOptions memory_;
  const kernels::PageLayout head_page_;    // of plain attention
  const kernels::PageLayout window_page_;  // the same, of layers with a window of their own
  compute::Backend& backend_;
  const std::unique_ptr<compute::Commands> commands_;
  std::optional<LatentAttention> latent_;  // instead of plain attention, if the model has it
  std::optional<MlaAttention> mla_;        // likewise
  std::optional<DeltaAttention> delta_;    // beside plain attention, if some layers keep states
  std::optional<LayerInput> layer_input_;  // if tokens have an embedding for each layer
  std::optional<NgramMemory> ngrams_;      // if layers have n-gram memory
  StreamMixer mixer_;                      // if the residual has several streams
  FeedForward feed_forward_;

  // The batch.
  std::vector<Segment> segments_;  // their tokens are spans of tokens_
  Slice part_;
  Exchange* exchange_ = nullptr;
  bool is_submitted_ = false;
  bool is_recording_ = false;
  bool is_recorded_ = false;
  size_t row_count_ = 0;
  std::vector<compute::PageSpan> spans_;
  Gathered last_;                     // rows that are needed after the last layer; of these:
  Gathered hidden_;                   // for the next slice or a drafter
  Gathered wanted_;                   // for the head
  Gathered stated_;                   // for states_
  std::vector<uint32_t> taps_;        // those of part_
  Gathered tapped_;                   // of all rows: those wanted after tapped layers
  Gathered tapped_last_;              // the same, of last_
  std::vector<int64_t> positions_;    // [rows]
  std::vector<int32_t> tokens_;       // [rows]
  std::vector<int32_t> last_tokens_;  // of last_
  Output output_;

  // Of a group's part.
  std::vector<LayerStep> steps_;  // of all layers
  size_t step_ = 0;               // the next one
  uint32_t gather_ = 0;           // in flight, or the next one
  Gather gathered_;               // in flight
  bool is_read_ = false;          // the host reads the last step's result before the next step
  std::vector<uint8_t> message_;  // columns of two tensors
  compute::BlockMaker blocks_;    // of floats from other parts
  compute::Array own_rows_;       // [rows, own columns of the embedding]
  compute::Array own_logits_;     // [wanted rows, own columns of the vocabulary]
  compute::Array all_attended_;   // [rows, output of a layer's heads], of the widest layer
  compute::Array all_queries_;    // [rows, head_count * head_dim], if norms are over all heads
  compute::Array all_keys_;       // [rows, kv_head_count * head_dim], likewise
  compute::Array all_dense_;      // [rows, feed_forward]
  compute::Array all_wide_;       // [rows * wide rows of each, feed_forward of an expert]

  compute::Array tap_rows_;                          // [tapped rows, taps * embedding]
  compute::Array tap_;                               // [tapped rows, embedding], of one
  compute::Array rows_;                              // [rows, hidden_width], the residual
  compute::Tensor residual_;                         // rows_, or those that are still needed
  compute::Array states_;                            // [wanted states, embedding]
  compute::Array normed_;                            // [rows, embedding]
  compute::Array more_;                              // [rows, embedding], added to rows_
  compute::Array queries_;                           // [rows, own head_count * head_dim]
  compute::Array keys_;                              // [rows, own kv_head_count * head_dim]
  compute::Array values_;                            // the same
  compute::Array attended_;                          // [rows, own head_count * head_dim]
  compute::Array output_gates_;                      // gates of the heads' output, or none
  compute::Array cosines_;                           // [rows, rope.dimensions / 2]
  compute::Array sines_;                             // the same
  compute::Array query_cosines_;                     // of scaled queries: the same
  compute::Array query_sines_;                       // the same
  compute::Array window_cosines_;                    // of layers with a window: the same
  compute::Array window_sines_;                      // the same
  compute::Array logits_;                            // [wanted rows, vocab_size]
  const std::unique_ptr<compute::Operand> operand_;  // of normed_
  const std::unique_ptr<compute::Operand> attended_operand_;  // of attended_
  // For experts beside a dense network.
  compute::Array routed_;                                   // [rows, embedding]
  compute::Array mixed_;                                    // [rows, embedding]
  const std::unique_ptr<compute::Operand> router_operand_;  // of routed_
};

}  // namespace aster::model
