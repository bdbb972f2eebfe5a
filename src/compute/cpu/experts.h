// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The experts that a router chooses for each row. Rows of one expert are computed together. Must
// not know attention.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "compute/cpu/product.h"

namespace aster::compute {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class CpuExperts {
 public:
  explicit CpuExperts(Context& context) : context_(context) {}

  void Choose(const ExpertChoice& choice);
  Status Sum(const ExpertSum& sum);
  // The two halves of Sum.
  Status Expand(const ExpertSum& sum, const Tensor& wide);
  Status Contract(const ExpertSum& sum, CpuOperand& chosen, CpuOperand& shared);
  // The part of Sum of the experts on this machine.
  Status SumOwn(const ExpertSum& sum, const OwnExperts& own);
  void FinishSums(std::span<const int64_t> sums, const Tensor& out);

 private:
  // The rows that one expert works on.
  struct Group {
    std::vector<uint32_t> rows;     // of the batch
    std::vector<uint32_t> choices;  // for each row, which of its choices the expert is
    size_t first = 0;               // of the rows of all groups
    CpuOperand input;
    CpuOperand hidden;
  };

  void MakeGroups(const ExpertSum& sum, std::span<const uint8_t> is_own = {});
  Status ExpandGroups(const ExpertSum& sum);
  void SetHidden(const ExpertSum& sum);
  Status ContractGroups(const ExpertSum& sum, CpuOperand& shared, size_t embedding);
  void AddBias(const Tensor& biases, float* rows);
  void SumUp(const ExpertSum& sum);
  void SumRow(const ExpertSum& sum, size_t row, std::span<int64_t> sums);
  size_t chosen_rows() const { return experts_of_rows_.size(); }
  // Several shared experts are stored as a wider one, which has several rows of the usual width.
  size_t rows_of_shared(const ExpertSum& sum) const;

  Context& context_;
  Buffer gate_;  // [rows of all groups, feed_forward]
  Buffer up_;    // the same
  Buffer down_;  // [rows of all groups, embedding]
  // Row of down_ with the output of the choice, or of the row's shared expert, whose rows are last;
  // kElsewhere if it is not computed here.
  std::vector<uint32_t> places_;            // [rows, used]
  std::vector<uint32_t> places_of_shared_;  // [rows]
  std::vector<uint32_t> experts_of_rows_;   // of all groups
  std::vector<Group> groups_;               // [experts]; those without rows are skipped
  Group shared_;                            // the rows of the shared expert
  std::vector<CpuProduct> products_;
};

}  // namespace aster::compute
