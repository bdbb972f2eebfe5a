// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The feed-forward half of a layer: one dense network, or a mixture of experts (MoE), of which a
// router chooses some for each row. Must not know attention.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/commands.h"
#include "model/parts/expert_owners.h"
#include "model/weights/weights.h"

namespace aster::model {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class FeedForward {
 public:
  // `shape`: as this part of a group computes it.
  FeedForward(const Shape& shape, const GroupPart& part, compute::Backend& backend,
              compute::Commands& commands);

  // Room for a batch of `row_count` rows; also for halves or sums, if a group computes the layer.
  Status Plan(size_t row_count);

  // out = the layer's feed-forward of `rows`: [rows, embedding]. `tokens` [rows]: of the rows.
  Status Run(const LayerWeights& layer, compute::Operand& rows, std::span<const int32_t> tokens,
             const compute::Tensor& out);
  // Only one of the two; the router may have other rows than the experts.
  Status RunDense(const compute::ExpertWeights& dense, compute::Operand& rows,
                  const compute::Tensor& out);
  Status RunExperts(const LayerWeights& layer, compute::Operand& rows,
                    compute::Operand& router_rows, std::span<const int32_t> tokens,
                    const compute::Tensor& out);

  // The experts that the last rows have chosen: [rows, used]. Only on the processor, which has
  // computed them already.
  Result<std::span<const int32_t>> ReadChoice();

  // The same in two halves, for a group that computes the layer. First the part's columns of the
  // wide row (the intermediate activation), gated; valid until the next call.
  Result<compute::Tensor> ExpandDense(const compute::ExpertWeights& dense, compute::Operand& rows);
  // Then the output from all columns of the wide row, of which the part has some columns. The
  // caller sets these operands: the wide rows, and those of the shared experts together.
  compute::Operand& wide() { return *hidden_; }
  compute::Operand& shared_wide() { return *shared_hidden_; }
  Status ContractDense(const compute::ExpertWeights& dense, const compute::Tensor& out);
  // The same for experts; their router may have other rows. A row has a wide row for each expert
  // that it chooses, and for each shared one.
  size_t wide_rows() const;
  Result<compute::Tensor> ExpandExperts(const LayerWeights& layer, compute::Operand& rows,
                                        compute::Operand& router_rows,
                                        std::span<const int32_t> tokens);
  Status ContractExperts(const LayerWeights& layer, const compute::Tensor& out);

  // The same in sums, if each part of the group owns experts. First the experts that the rows
  // choose; once that batch is done, the parts that compute them.
  bool is_in_sums() const { return owners_.has_value(); }
  Status Choose(const LayerWeights& layer, compute::Operand& router_rows,
                std::span<const int32_t> tokens);
  void Assign(uint32_t layer);
  // Then the sums of this part's experts. Once that batch is done, the sums that other parts need:
  // a row for each row that has an expert here, or nothing.
  Status SumOwn(const LayerWeights& layer, compute::Operand& rows);
  std::span<const int64_t> OwnSums();
  // How many sums a part has to send for these rows; 0 if no row has an expert there.
  size_t SumsOf(uint32_t part) const { return rows_of_[part].size() * shape_.embedding; }
  void AddSums(uint32_t part, std::span<const int64_t> sums);
  // out = the experts' output of all parts, once all sums are there.
  Status FinishSums(const compute::Tensor& out);

 private:
  Status ChooseExperts(const LayerWeights& layer, compute::Operand& rows,
                       std::span<const int32_t> tokens);
  compute::ExpertSum SumOf(const LayerWeights& layer, compute::Operand* rows,
                           const compute::Tensor& out) const;

  const Shape shape_;
  const uint32_t part_;  // of the group
  const bool is_whole_;
  const std::optional<ExpertOwners> owners_;
  compute::Backend& backend_;
  compute::Commands& commands_;
  const std::unique_ptr<compute::Operand> hidden_;  // wide rows
  const std::unique_ptr<compute::Operand> shared_hidden_;
  compute::Array gate_;           // [rows, feed_forward]
  compute::Array up_;             // [rows, feed_forward]
  compute::Array logits_;         // [rows, experts]
  compute::Array ids_;            // [rows, used], the chosen experts
  compute::Array shares_;         // [rows, used], their weights
  compute::Array shared_scores_;  // [rows, 1], for the shared expert; or none
  compute::Array wide_;           // [rows * wide_rows(), feed_forward]
  // For sums.
  std::span<const int32_t> read_choice_;        // [rows, used], until the next batch begins
  std::vector<int32_t> choice_;                 // the same
  std::vector<uint8_t> parts_;                  // [rows, choices]: the part that computes each
  std::vector<uint8_t> is_own_;                 // the same: whether this part computes it
  std::vector<std::vector<uint32_t>> rows_of_;  // by part: rows that have an expert there
  std::vector<int64_t> sums_;                   // [rows, embedding]
  std::vector<int64_t> packed_;                 // sums of some of the rows
};

}  // namespace aster::model
