// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/product.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "compute/blocks.h"
#include "compute/cpu/memory.h"
#include "kernels/matmul.h"

namespace aster::compute {
namespace {

// Panels that a thread takes at a time if products differ in size.
constexpr size_t kDynamicPanels = 8;

struct Job {
  kernels::WeightType type;
  kernels::MatmulJob job;
  size_t first_panel;  // among the panels of all jobs
  size_t panel_count;
};

// Computes panels [begin, end), counted through all jobs.
void RunPanels(std::span<const Job> jobs, size_t begin, size_t end, kernels::Isa isa) {
  for (const Job& job : jobs) {
    const size_t first = std::max(begin, job.first_panel);
    const size_t last = std::min(end, job.first_panel + job.panel_count);
    if (first < last)
      kernels::Matmul(isa, job.type, job.job, first - job.first_panel, last - job.first_panel);
  }
}

}  // namespace

void CpuOperand::Set(const Tensor& rows) {
  Set(Floats(rows), rows.stride, rows.rows, rows.columns);
}

void CpuOperand::Set(const float* data, size_t row_stride, size_t rows, size_t columns) {
  source_ = {.data = data, .row_stride = row_stride, .rows = rows, .columns = columns};
  gathered_from_ = nullptr;
  for (Prepared& prepared : prepared_) prepared.done = false;
}

void CpuOperand::SetGathered(CpuOperand& other, std::span<const uint32_t> indices) {
  Set(nullptr, 0, indices.size(), other.columns());
  gathered_from_ = &other;
  indices_ = indices;
}

Status CpuOperand::SetInParts(kernels::ActivationFormat format, size_t rows, size_t columns) {
  Set(nullptr, 0, rows, columns);
  Prepared& prepared = prepared_[static_cast<size_t>(format)];
  TRY(prepared.buffer.Grow(kernels::ActivationBytes(format, rows, columns)));
  prepared.done = true;
  return Ok();
}

void CpuOperand::AddPart(Bytes blocks, const BlockColumns& part, Context& context) {
  JoinBlocks(context, blocks, part, source_.rows, source_.columns,
             prepared_[static_cast<size_t>(part.format)].buffer.data());
}

Result<const uint8_t*> CpuOperand::In(kernels::ActivationFormat format, Context& context) {
  Prepared& prepared = prepared_[static_cast<size_t>(format)];
  if (prepared.done) return prepared.buffer.data();
  TRY(prepared.buffer.Grow(kernels::ActivationBytes(format, source_.rows, source_.columns)));
  if (gathered_from_ != nullptr) {
    const kernels::GatherSource source{.data = TRY(gathered_from_->In(format, context)),
                                       .rows = gathered_from_->rows(),
                                       .columns = source_.columns};
    kernels::GatherActivations(format, source, indices_, prepared.buffer.data());
  } else {
    CHECK_NOTE(source_.data != nullptr, "rows that were prepared for another format");
    context.pool.ParallelFor(source_.rows, [&](size_t begin, size_t end, size_t) {
      kernels::PrepareActivations(context.isa, format, source_, begin, end, prepared.buffer.data());
    });
  }
  prepared.done = true;
  return prepared.buffer.data();
}

Status MultiplyAll(std::span<const CpuProduct> products, Context& context) {
  std::vector<Job> jobs;
  jobs.reserve(products.size());
  size_t panel_count = 0;
  bool even = true;  // whether every panel costs about the same
  for (const CpuProduct& product : products) {
    const Matrix& matrix = *product.matrix;
    if (matrix.rows() == 0 || product.rows->rows() == 0) continue;
    const auto format = kernels::ActivationFormatFor(matrix.type());
    jobs.push_back({.type = matrix.type(),
                    .job = {.weights = PackedData(matrix),
                            .rows = matrix.rows(),
                            .columns = matrix.columns(),
                            .activations = TRY(product.rows->In(format, context)),
                            .activation_rows = product.rows->rows(),
                            .first_row = 0,
                            .batch = product.rows->rows(),
                            .out = product.out,
                            .out_stride = product.out_stride,
                            .to_rows = nullptr},
                    .first_panel = panel_count,
                    .panel_count = matrix.panel_count()});
    panel_count += matrix.panel_count();
    even = even && jobs.back().job.batch == jobs.front().job.batch;
  }
  const auto run = [&](size_t begin, size_t end, size_t) {
    RunPanels(jobs, begin, end, context.isa);
  };
  if (even) {
    context.pool.ParallelFor(panel_count, run);
  } else {
    context.pool.ParallelForDynamic(panel_count, kDynamicPanels, run);
  }
  return Ok();
}

}  // namespace aster::compute
