// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/fusion.h"

#include <utility>

#include "base/check.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {
namespace {

using compute::Tensor;

// Limit of rows, as every workgroup that prepares a part of a row computes the norm of all of it.
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

Tensor HeadRows(const compute::Heads& heads) {
  CHECK(IsDense(heads.rows));
  return heads.rows.As(heads.rows.columns / heads.count);
}

RopeJob RopeJobOf(const compute::Heads& heads) {
  const Tensor rows = HeadRows(heads);
  return {.x = AddressOf(rows) + heads.unrotated * sizeof(float),
          .stride = static_cast<uint32_t>(rows.stride),
          .rows = static_cast<uint32_t>(rows.rows),
          .rows_of_token = static_cast<uint32_t>(heads.count),
          .pairs = static_cast<uint32_t>(heads.angles.cosines.columns),
          .cosines = AddressOf(heads.angles.cosines),
          .sines = AddressOf(heads.angles.sines),
          .layout = heads.layout,
          .inverse = heads.inverse};
}

void Fusion::Wait(Waiting waiting) {
  batch_.Defer([this] { return RecordAlone(); });  // records the one that waited before
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

Status Fusion::Rotate(const compute::Heads& heads) {
  CHECK(IsDense(heads.angles.cosines) && IsDense(heads.angles.sines));
  Wait(heads);
  return Ok();
}

std::optional<compute::Heads> Fusion::TakeRotation(const Tensor& keys) {
  const auto heads = Take<compute::Heads>();
  if (!heads || heads->inverse || !AreSame(heads->rows, keys)) return std::nullopt;
  batch_.Forget();
  return heads;
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

// Records the waiting operation as a kernel of its own, as the next one cannot be fused with it.
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
  if (const auto* const heads = std::get_if<compute::Heads>(&waiting)) {
    const Range rows = RangeOf(heads->rows);
    return RecordRope(
        kernels_,
        batch_.Using({rows, RangeOf(heads->angles.cosines), RangeOf(heads->angles.sines)}, {rows}),
        RopeJobOf(*heads));
  }
  return Ok();
}

}  // namespace aster::vulkan
