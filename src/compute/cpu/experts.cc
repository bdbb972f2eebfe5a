// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/experts.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "compute/cpu/gate.h"
#include "compute/cpu/memory.h"

namespace aster::compute {
namespace {

size_t FeedForwardOf(const ExpertSum& sum) { return sum.experts.front().gate.rows(); }

// By the token where there is a table, else by the scores.
void ChooseFor(const ExpertChoice& choice, size_t row, const float* scores, int32_t* ids) {
  const size_t used = choice.ids.columns;
  if (choice.table.empty()) {
    kernels::SelectExperts(scores, Floats(choice.bias), choice.logits.columns, used, ids);
    return;
  }
  const auto token = static_cast<size_t>(choice.tokens[row]);
  std::ranges::copy(choice.table.subspan(token * used, used), ids);
}

float ShareOfShared(const kernels::OpsTable& ops, const ExpertSum& sum, size_t row) {
  if (sum.shared_scores.empty()) return 1.0f;
  float share;
  ops.sigmoid(Floats(sum.shared_scores) + row * sum.shared_scores.stride, 1, &share);
  return share;
}

}  // namespace

void CpuExperts::Choose(const ExpertChoice& choice) {
  const size_t experts = choice.logits.columns;
  const size_t used = choice.ids.columns;
  context_.pool.ParallelFor(choice.logits.rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      float* const scores = Floats(choice.logits) + row * choice.logits.stride;
      int32_t* const ids = Integers(choice.ids) + row * choice.ids.stride;
      kernels::RouterScores(context_.ops(), choice.spec.score, scores, experts, scores);
      ChooseFor(choice, row, scores, ids);
      kernels::RouterWeights(choice.spec, scores, ids, used,
                             Floats(choice.shares) + row * choice.shares.stride);
    }
  });
}

Status CpuExperts::Sum(const ExpertSum& sum) {
  MakeGroups(sum);
  TRY(ExpandGroups(sum));
  SetHidden(sum);
  TRY(ContractGroups(sum));
  SumUp(sum);
  return Ok();
}

Status CpuExperts::Expand(const ExpertSum& sum, const Tensor& wide) {
  MakeGroups(sum);
  TRY(ExpandGroups(sum));
  // From the order of experts to that of choices; the shared expert's rows stand behind both.
  const size_t width = FeedForwardOf(sum);
  CHECK(wide.rows == places_.size() + shared_rows_ && wide.columns == width);
  context_.pool.ParallelFor(wide.rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      const size_t place = row < places_.size() ? places_[row] : row;
      std::copy_n(gate_.As<float>() + place * width, width, Floats(wide) + row * wide.stride);
    }
  });
  return Ok();
}

Status CpuExperts::Contract(const ExpertSum& sum, CpuOperand& wide) {
  MakeGroups(sum);
  CHECK(wide.rows() == places_.size() + shared_rows_);
  SetHidden(sum, wide);
  TRY(ContractGroups(sum));
  SumUp(sum);
  return Ok();
}

void CpuExperts::MakeGroups(const ExpertSum& sum) {
  const size_t rows = sum.ids.rows;
  const size_t used = sum.ids.columns;
  groups_.resize(sum.experts.size());
  for (Group& group : groups_) {
    group.rows.clear();
    group.choices.clear();
  }
  for (size_t row = 0; row < rows; ++row) {
    const int32_t* const ids = Integers(sum.ids) + row * sum.ids.stride;
    for (size_t i = 0; i < used; ++i) {
      Group& group = groups_[static_cast<size_t>(ids[i])];
      group.rows.push_back(static_cast<uint32_t>(row));
      group.choices.push_back(static_cast<uint32_t>(row * used + i));
    }
  }
  places_.resize(rows * used);
  experts_of_rows_.resize(rows * used);
  size_t first = 0;
  for (Group& group : groups_) {
    group.first = first;
    for (size_t i = 0; i < group.choices.size(); ++i) {
      places_[group.choices[i]] = static_cast<uint32_t>(first + i);
      experts_of_rows_[first + i] = static_cast<uint32_t>(&group - groups_.data());
    }
    first += group.rows.size();
  }
  shared_rows_ = sum.shared == nullptr ? 0 : rows;
}

Status CpuExperts::ExpandGroups(const ExpertSum& sum) {
  const size_t width = FeedForwardOf(sum);
  const size_t of_chosen = places_.size() * width;
  const size_t count =
      of_chosen + (sum.shared == nullptr ? 0 : shared_rows_ * sum.shared->gate.rows());
  TRY(gate_.Grow(count * sizeof(float)));
  TRY(up_.Grow(count * sizeof(float)));
  products_.clear();
  const auto add = [&](const ExpertWeights& expert, CpuOperand& input, size_t first) {
    const size_t outputs = expert.gate.rows();
    products_.push_back({&expert.gate, &input, gate_.As<float>() + first, outputs});
    products_.push_back({&expert.up, &input, up_.As<float>() + first, outputs});
  };
  auto& rows = static_cast<CpuOperand&>(*sum.rows);
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (group.rows.empty()) continue;
    group.input.SetGathered(rows, group.rows);
    add(sum.experts[i], group.input, group.first * width);
  }
  if (sum.shared != nullptr) add(*sum.shared, rows, of_chosen);
  TRY(MultiplyAll(products_, context_));
  AddBias(sum.biases.gate, gate_.As<float>());
  AddBias(sum.biases.up, up_.As<float>());
  CpuGate(context_, sum.gate, gate_.As<float>(), up_.As<float>(), count, sum.limit);
  return Ok();
}

// To each row of a group that of its expert; the shared expert, behind them, has none.
void CpuExperts::AddBias(const Tensor& biases, float* rows) {
  if (biases.empty()) return;
  const size_t width = biases.columns;
  context_.pool.ParallelFor(experts_of_rows_.size(), [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      float* const row = rows + i * width;
      context_.ops().add(row, Floats(biases) + experts_of_rows_[i] * biases.stride, width, row);
    }
  });
}

// What the experts contract is what they have just expanded.
void CpuExperts::SetHidden(const ExpertSum& sum) {
  const size_t width = FeedForwardOf(sum);
  for (Group& group : groups_) {
    group.hidden.Set(gate_.As<float>() + group.first * width, width, group.rows.size(), width);
  }
  if (sum.shared == nullptr) return;
  // It may be wider than the others.
  const size_t of_shared = sum.shared->down.columns();
  shared_hidden_.Set(gate_.As<float>() + places_.size() * width, of_shared, shared_rows_,
                     of_shared);
}

// It is rows in the order of choices.
void CpuExperts::SetHidden(const ExpertSum& sum, CpuOperand& wide) {
  for (Group& group : groups_) group.hidden.SetGathered(wide, group.choices);
  if (sum.shared == nullptr) return;
  shared_places_.resize(sum.ids.rows);
  std::iota(shared_places_.begin(), shared_places_.end(), static_cast<uint32_t>(places_.size()));
  shared_hidden_.SetGathered(wide, shared_places_);
}

Status CpuExperts::ContractGroups(const ExpertSum& sum) {
  const size_t embedding = sum.out.columns;
  TRY(down_.Grow((places_.size() + shared_rows_) * embedding * sizeof(float)));
  products_.clear();
  const auto add = [&](const ExpertWeights& expert, CpuOperand& hidden, size_t first) {
    products_.push_back({&expert.down, &hidden, down_.As<float>() + first * embedding, embedding});
  };
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (!group.rows.empty()) add(sum.experts[i], group.hidden, group.first);
  }
  if (sum.shared != nullptr) add(*sum.shared, shared_hidden_, places_.size());
  TRY(MultiplyAll(products_, context_));
  AddBias(sum.biases.down, down_.As<float>());
  return Ok();
}

// In fixed point, so that experts may be summed in any order and on any machine.
void CpuExperts::SumUp(const ExpertSum& sum) {
  const size_t used = sum.ids.columns;
  const size_t embedding = sum.out.columns;
  const kernels::OpsTable& ops = context_.ops();
  context_.pool.ParallelFor(sum.ids.rows, [&](size_t begin, size_t end, size_t) {
    std::vector<int64_t> sums(embedding);
    for (size_t row = begin; row < end; ++row) {
      const float* const shares = Floats(sum.shares) + row * sum.shares.stride;
      std::fill(sums.begin(), sums.end(), 0);
      for (size_t i = 0; i < used; ++i) {
        ops.fixed_accumulate(sums.data(), down_.As<float>() + places_[row * used + i] * embedding,
                             embedding, shares[i]);
      }
      if (sum.shared != nullptr) {
        ops.fixed_accumulate(sums.data(), down_.As<float>() + (places_.size() + row) * embedding,
                             embedding, ShareOfShared(ops, sum, row));
      }
      ops.fixed_finish(sums.data(), embedding, Floats(sum.out) + row * sum.out.stride);
    }
  });
}

}  // namespace aster::compute
