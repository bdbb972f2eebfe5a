// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/experts.h"

#include <algorithm>

#include "base/check.h"
#include "compute/cpu/gate.h"
#include "compute/cpu/memory.h"
#include "compute/fixed_sums.h"

namespace aster::compute {
namespace {

constexpr uint32_t kElsewhere = UINT32_MAX;

// The feed-forward width of the chosen experts; those of other machines are empty.
size_t FeedForwardOf(const ExpertSum& sum) {
  const auto here = std::ranges::find_if(
      sum.experts, [](const ExpertWeights& expert) { return expert.gate.rows() > 0; });
  return here->gate.rows();
}

// Chooses by the token if there is a table, else by the scores.
void ChooseFor(const ExpertChoice& choice, size_t row, const float* scores, int32_t* ids) {
  const size_t used = choice.ids.columns;
  if (choice.table.empty()) {
    kernels::SelectGroupedExperts(choice.spec, scores, Floats(choice.bias), choice.logits.columns,
                                  used, ids);
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
      float* const shares = Floats(choice.shares) + row * choice.shares.stride;
      kernels::RouterWeights(choice.spec, scores, ids, used, shares);
      for (size_t i = 0; i < used && !choice.scales.empty(); ++i)
        shares[i] *= Floats(choice.scales)[ids[i]];
    }
  });
}

Status CpuExperts::Sum(const ExpertSum& sum) {
  MakeGroups(sum);
  TRY(ExpandGroups(sum));
  SetHidden(sum);
  TRY(ContractGroups(sum, shared_.hidden, sum.out.columns));
  SumUp(sum);
  return Ok();
}

Status CpuExperts::Expand(const ExpertSum& sum, const Tensor& wide) {
  MakeGroups(sum);
  TRY(ExpandGroups(sum));
  // Moves rows from the order of experts to that of choices; the shared expert's rows are last in
  // both.
  const size_t width = FeedForwardOf(sum);
  CHECK(wide.rows == chosen_rows() + rows_of_shared(sum) && wide.columns == width);
  context_.pool.ParallelFor(wide.rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      const size_t place = row < places_.size() ? places_[row] : row;
      std::copy_n(gate_.As<float>() + place * width, width, Floats(wide) + row * wide.stride);
    }
  });
  return Ok();
}

Status CpuExperts::Contract(const ExpertSum& sum, CpuOperand& chosen, CpuOperand& shared) {
  MakeGroups(sum);
  CHECK(chosen.rows() == chosen_rows());
  CHECK(sum.shared == nullptr || shared.rows() == shared_.rows.size());
  // The operand has rows in the order of choices.
  for (Group& group : groups_) group.hidden.SetGathered(chosen, group.choices);
  TRY(ContractGroups(sum, shared, sum.out.columns));
  SumUp(sum);
  return Ok();
}

Status CpuExperts::SumOwn(const ExpertSum& sum, const OwnExperts& own) {
  const size_t rows = sum.ids.rows;
  const size_t embedding = own.sums.size() / rows;
  MakeGroups(sum, own.is_own);
  TRY(ExpandGroups(sum));
  SetHidden(sum);
  TRY(ContractGroups(sum, shared_.hidden, embedding));
  context_.pool.ParallelFor(rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row)
      SumRow(sum, row, own.sums.subspan(row * embedding, embedding));
  });
  return Ok();
}

size_t CpuExperts::rows_of_shared(const ExpertSum& sum) const {
  const size_t each = sum.shared == nullptr ? 1 : sum.shared->gate.rows() / FeedForwardOf(sum);
  return shared_.rows.size() * each;
}

void CpuExperts::FinishSums(std::span<const int64_t> sums, const Tensor& out) {
  CHECK(sums.size() == out.rows * out.columns);
  FinishFixedSums(context_, sums, out.columns, Floats(out), out.stride);
}

// Groups the rows by expert: those of choices that are computed here; of all if `is_own` is empty.
void CpuExperts::MakeGroups(const ExpertSum& sum, std::span<const uint8_t> is_own) {
  const size_t rows = sum.ids.rows;
  const size_t used = sum.ids.columns;
  const size_t of_row = used + (sum.shared == nullptr ? 0 : 1);
  CHECK(is_own.empty() || is_own.size() == rows * of_row);
  const auto is_here = [&](size_t row, size_t i) {
    return is_own.empty() || is_own[row * of_row + i] != 0;
  };
  groups_.resize(sum.experts.size());
  for (Group& group : groups_) {
    group.rows.clear();
    group.choices.clear();
  }
  for (size_t row = 0; row < rows; ++row) {
    const int32_t* const ids = Integers(sum.ids) + row * sum.ids.stride;
    for (size_t i = 0; i < used; ++i) {
      if (!is_here(row, i)) continue;
      Group& group = groups_[static_cast<size_t>(ids[i])];
      group.rows.push_back(static_cast<uint32_t>(row));
      group.choices.push_back(static_cast<uint32_t>(row * used + i));
    }
  }
  // Gives each choice a place among the rows of all groups; the shared expert's rows come last.
  places_.assign(rows * used, kElsewhere);
  experts_of_rows_.clear();
  for (Group& group : groups_) {
    group.first = chosen_rows();
    for (const uint32_t choice : group.choices) {
      places_[choice] = static_cast<uint32_t>(chosen_rows());
      experts_of_rows_.push_back(static_cast<uint32_t>(&group - groups_.data()));
    }
  }
  shared_.rows.clear();
  shared_.first = chosen_rows();
  places_of_shared_.assign(rows, kElsewhere);
  for (size_t row = 0; row < rows && sum.shared != nullptr; ++row) {
    if (!is_here(row, used)) continue;
    places_of_shared_[row] = static_cast<uint32_t>(shared_.first + shared_.rows.size());
    shared_.rows.push_back(static_cast<uint32_t>(row));
  }
}

Status CpuExperts::ExpandGroups(const ExpertSum& sum) {
  const size_t width = FeedForwardOf(sum);
  const size_t of_chosen = chosen_rows() * width;
  const size_t of_shared = shared_.rows.empty() ? 0 : sum.shared->gate.rows();
  const size_t count = of_chosen + shared_.rows.size() * of_shared;
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
  if (shared_.rows.size() == rows.rows()) {
    add(*sum.shared, rows, of_chosen);
  } else if (!shared_.rows.empty()) {
    shared_.input.SetGathered(rows, shared_.rows);
    add(*sum.shared, shared_.input, of_chosen);
  }
  TRY(MultiplyAll(products_, context_));
  AddBias(sum.biases.gate, gate_.As<float>());
  AddBias(sum.biases.up, up_.As<float>());
  CpuGate(context_, sum.gate, gate_.As<float>(), up_.As<float>(), count, sum.limit);
  return Ok();
}

// Adds to each row of a group the bias of its expert; the shared expert, which is last, has none.
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

// The experts contract the rows that they have just expanded.
void CpuExperts::SetHidden(const ExpertSum& sum) {
  const size_t width = FeedForwardOf(sum);
  for (Group& group : groups_) {
    group.hidden.Set(gate_.As<float>() + group.first * width, width, group.rows.size(), width);
  }
  if (shared_.rows.empty()) return;
  // The shared expert may be wider than the others.
  const size_t of_shared = sum.shared->down.columns();
  shared_.hidden.Set(gate_.As<float>() + chosen_rows() * width, of_shared, shared_.rows.size(),
                     of_shared);
}

Status CpuExperts::ContractGroups(const ExpertSum& sum, CpuOperand& shared, size_t embedding) {
  TRY(down_.Grow((chosen_rows() + shared_.rows.size()) * embedding * sizeof(float)));
  products_.clear();
  const auto add = [&](const ExpertWeights& expert, CpuOperand& hidden, size_t first) {
    products_.push_back({&expert.down, &hidden, down_.As<float>() + first * embedding, embedding});
  };
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (!group.rows.empty()) add(sum.experts[i], group.hidden, group.first);
  }
  if (!shared_.rows.empty()) add(*sum.shared, shared, shared_.first);
  TRY(MultiplyAll(products_, context_));
  AddBias(sum.biases.down, down_.As<float>());
  return Ok();
}

// Sums in fixed point, so that the order and machine of the experts do not matter.
void CpuExperts::SumUp(const ExpertSum& sum) {
  const size_t embedding = sum.out.columns;
  context_.pool.ParallelFor(sum.ids.rows, [&](size_t begin, size_t end, size_t) {
    std::vector<int64_t> sums(embedding);
    for (size_t row = begin; row < end; ++row) {
      SumRow(sum, row, sums);
      context_.ops().fixed_finish(sums.data(), embedding, Floats(sum.out) + row * sum.out.stride);
    }
  });
}

// Sums a row's outputs of the experts that are computed here.
void CpuExperts::SumRow(const ExpertSum& sum, size_t row, std::span<int64_t> sums) {
  const kernels::OpsTable& ops = context_.ops();
  const float* const shares = Floats(sum.shares) + row * sum.shares.stride;
  const size_t used = sum.ids.columns;
  std::ranges::fill(sums, 0);
  const auto add = [&](uint32_t place, float share) {
    const float* const output = down_.As<float>() + size_t{place} * sums.size();
    ops.fixed_accumulate(sums.data(), output, sums.size(), share);
  };
  for (size_t i = 0; i < used; ++i) {
    if (const uint32_t place = places_[row * used + i]; place != kElsewhere) add(place, shares[i]);
  }
  if (places_of_shared_[row] != kElsewhere)
    add(places_of_shared_[row], ShareOfShared(ops, sum, row));
}

}  // namespace aster::compute
