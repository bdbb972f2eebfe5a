// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/fusion.h"

#include <utility>

#include "vulkan/backend/memory.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {
namespace {

using compute::Tensor;

// Every workgroup that prepares a part of a row norms the whole of it.
constexpr size_t kRowsToNormTogether = 16;

bool AreSame(const Tensor& a, const Tensor& b) {
  return AddressOf(a) == AddressOf(b) && a.rows == b.rows && a.columns == b.columns &&
         a.stride == b.stride;
}

RmsNormJob JobOf(const compute::Normalisation& norm) {
  return {.x = AddressOf(norm.rows),
          .x_stride = static_cast<uint32_t>(norm.rows.stride),
          .rows = static_cast<uint32_t>(norm.rows.rows),
          .count = static_cast<uint32_t>(norm.rows.columns),
          .weight = AddressOf(norm.weight),
          .epsilon = norm.epsilon,
          .y = AddressOf(norm.out),
          .y_stride = static_cast<uint32_t>(norm.out.stride)};
}

}  // namespace

void Fusion::Wait(Waiting waiting) {
  batch_.Defer([this] { return RecordAlone(); });  // after what has waited before
  waiting_ = std::move(waiting);
}

template <typename Operation>
std::optional<Operation> Fusion::Take() {
  if (!batch_.is_deferring() || !std::holds_alternative<Operation>(waiting_)) return std::nullopt;
  return std::get<Operation>(waiting_);
}

Status Fusion::Normalise(const compute::Normalisation& norm) {
  Wait(norm);
  const bool is_in_place = Overlap(RangeOf(norm.rows), RangeOf(norm.out));
  if (is_in_place || norm.rows.rows > kRowsToNormTogether) batch_.Settle();
  return Ok();
}

Status Fusion::Gate(const Tensor& gate, const Tensor& up, ElementOperation operation, float limit) {
  Wait(GateOfRows{gate,
                  up,
                  {.operation = operation,
                   .gates = AddressOf(gate),
                   .ups = AddressOf(up),
                   .rows = static_cast<uint32_t>(gate.rows),
                   .columns = static_cast<uint32_t>(gate.columns),
                   .limit = limit}});
  return Ok();
}

Status Fusion::Multiply(const ProductJob& job, const Range& rows, const Tensor& out) {
  Wait(ProductOfRows{job, rows, out});
  if (!CanAddProduct(job.type, job.rows)) batch_.Settle();
  return Ok();
}

Result<bool> Fusion::Prepare(const Tensor& rows, kernels::ActivationFormat format,
                             const Range& prepared) {
  if (!CanPrepareFrom(format)) return false;
  if (const auto norm = Take<compute::Normalisation>(); norm && AreSame(norm->out, rows)) {
    batch_.Forget();
    TRY(RecordPrepareNormed(
        kernels_,
        batch_.Using({RangeOf(norm->rows), RangeOf(norm->weight)}, {RangeOf(norm->out), prepared}),
        format, JobOf(*norm), prepared.begin));
    return true;
  }
  if (const auto gate = Take<GateOfRows>(); gate && AreSame(gate->gate, rows)) {
    batch_.Forget();
    const Range gates = RangeOf(gate->gate);
    TRY(RecordPrepareGated(kernels_, batch_.Using({gates, RangeOf(gate->up)}, {gates, prepared}),
                           format, gate->job, prepared.begin));
    return true;
  }
  return false;
}

Result<bool> Fusion::Add(const Tensor& rows, const Tensor& more) {
  auto product = Take<ProductOfRows>();
  if (!product || !AreSame(product->out, more) || rows.rows != more.rows ||
      rows.columns != more.columns || Overlap(RangeOf(rows), RangeOf(more)))
    return false;
  batch_.Forget();
  product->job.sum = AddressOf(rows);
  product->job.sum_stride = static_cast<uint32_t>(rows.stride);
  TRY(RecordProduct(
      kernels_,
      batch_.Using({product->rows, RangeOf(rows)}, {RangeOf(product->out), RangeOf(rows)}),
      product->job));
  return true;
}

Status Fusion::RecordAlone() {
  const Waiting waiting = std::exchange(waiting_, {});
  if (const auto* const norm = std::get_if<compute::Normalisation>(&waiting)) {
    return RecordRmsNorm(
        kernels_, batch_.Using({RangeOf(norm->rows), RangeOf(norm->weight)}, {RangeOf(norm->out)}),
        JobOf(*norm));
  }
  if (const auto* const gate = std::get_if<GateOfRows>(&waiting)) {
    const uint32_t count = gate->job.rows * gate->job.columns;
    return RecordElements(
        kernels_, batch_.Using({RangeOf(gate->gate), RangeOf(gate->up)}, {RangeOf(gate->gate)}),
        {.operation = gate->job.operation,
         .a = gate->job.gates,
         .b = gate->job.ups,
         .b_count = count,
         .y = gate->job.gates,
         .count = count,
         .factor = gate->job.limit});
  }
  if (const auto* const product = std::get_if<ProductOfRows>(&waiting)) {
    return RecordProduct(kernels_, batch_.Using({product->rows}, {RangeOf(product->out)}),
                         product->job);
  }
  return Ok();
}

}  // namespace aster::vulkan
