// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The experts that a router picks for each row, the rows of one expert computed together. Must not
// know attention.
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
  // Its two halves.
  Status Expand(const ExpertSum& sum, const Tensor& wide);
  Status Contract(const ExpertSum& sum, CpuOperand& wide);

 private:
  // The rows that one expert works on.
  struct Group {
    std::vector<uint32_t> rows;     // of the batch
    std::vector<uint32_t> choices;  // which of its row's choices the expert is
    size_t first = 0;               // of the rows of all groups
    CpuOperand input;
    CpuOperand hidden;
  };

  void MakeGroups(const ExpertSum& sum);
  Status ExpandGroups(const ExpertSum& sum);
  void SetHidden(const ExpertSum& sum);
  void SetHidden(const ExpertSum& sum, CpuOperand& wide);
  Status ContractGroups(const ExpertSum& sum);
  void AddBias(const Tensor& biases, float* rows);
  void SumUp(const ExpertSum& sum);

  Context& context_;
  Buffer gate_;                   // [rows of all groups, feed_forward]
  Buffer up_;                     // the same
  Buffer down_;                   // [rows of all groups, embedding]
  std::vector<uint32_t> places_;  // [rows, used] row of down_ that holds the choice's output
  std::vector<uint32_t> experts_of_rows_;  // of all groups
  size_t shared_rows_ = 0;                 // of the shared expert
  std::vector<Group> groups_;              // [experts]; those without rows are skipped
  CpuOperand shared_hidden_;               // of the shared expert
  std::vector<uint32_t> shared_places_;    // [rows] its rows behind those of the choices
  std::vector<CpuProduct> products_;
};

}  // namespace aster::compute
