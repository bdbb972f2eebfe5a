// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/experts.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/check.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/experts.h"
#include "vulkan/kernels/product_push.h"
#include "vulkan/kernels/products.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {
namespace {

using compute::ExpertWeights;
using compute::Matrix;

// Rows times experts of a row that are computed at a time: what is between the products takes
// memory for each.
constexpr uint32_t kSlotsOfPart = 4096;

uint32_t Rows(const Matrix& matrix) { return static_cast<uint32_t>(matrix.rows()); }
uint32_t Columns(const Matrix& matrix) { return static_cast<uint32_t>(matrix.columns()); }

bool IsFloat(const Matrix& matrix) { return matrix.type() <= kernels::WeightType::kBF16; }

// Rows of one expert that are multiplied together where each has `average` ones: places of a group
// that are not filled are computed for nothing, and a row by itself reads all of the weights.
uint32_t RowsTogether(const Kernels& kernels, uint32_t average, const ExpertWeights& expert) {
  const bool any_float = IsFloat(expert.gate) || IsFloat(expert.up) || IsFloat(expert.down);
  const bool have_matrices = kernels.matrix() && HasMatrixProducts(expert.gate.type()) &&
                             HasMatrixProducts(expert.up.type()) &&
                             HasMatrixProducts(expert.down.type());
  if (average >= kLeastMatrixRows && have_matrices) return kMatrixRows;
  if (average >= kManyRows / 2 && !any_float) return kManyRows;
  return std::bit_ceil(std::clamp(average, 1u, kFewRows));
}

uint64_t BytesOf(const ExpertGroups& groups) {
  return uint64_t{groups.count} * groups.together * sizeof(uint32_t);
}
Range RangeOf(const ExpertGroups& groups) {
  return groups.slots == 0 ? Range{} : Range{groups.slots, BytesOf(groups)};
}

ElementOperation OperationOf(kernels::RouterScore score) {
  return score == kernels::RouterScore::kSigmoid ? ElementOperation::kSigmoid
                                                 : ElementOperation::kSqrtSoftplus;
}

// The experts that the rows' tokens choose.
std::vector<int32_t> GivenExperts(const compute::ExpertChoice& choice) {
  const size_t used = choice.ids.columns;
  std::vector<int32_t> given;
  given.reserve(choice.tokens.size() * used);
  for (const int32_t token : choice.tokens) {
    const auto row = choice.table.subspan(static_cast<size_t>(token) * used, used);
    given.insert(given.end(), row.begin(), row.end());
  }
  return given;
}

}  // namespace

Status DeviceExperts::Choose(const compute::ExpertChoice& choice) {
  TRY(CheckIsInUse(kernels_.use().experts, "experts"));
  const compute::Tensor& logits = choice.logits;
  CHECK(IsDense(logits) && IsDense(choice.ids) && IsDense(choice.shares));
  const auto rows = static_cast<uint32_t>(logits.rows);
  const auto experts = static_cast<uint32_t>(logits.columns);
  const Range scores = RangeOf(logits);
  Commands& commands = batch_.Using({scores}, {scores});
  if (choice.spec.score == kernels::RouterScore::kSoftmax) {
    TRY(RecordSoftmax(kernels_, commands, {scores.begin, rows, experts, experts, scores.begin}));
  } else {
    TRY(RecordElements(kernels_, commands,
                       {.operation = OperationOf(choice.spec.score),
                        .a = scores.begin,
                        .y = scores.begin,
                        .count = rows * experts}));
  }
  const Address given = choice.table.empty() ? 0 : TRY(batch_.Put(GivenExperts(choice)));
  return RecordChooseExperts(kernels_,
                             batch_.Using({scores, RangeOf(choice.bias), RangeOf(choice.scales)},
                                          {RangeOf(choice.ids), RangeOf(choice.shares)}),
                             {.scores = scores.begin,
                              .rows = rows,
                              .experts = experts,
                              .stride = experts,
                              .used = static_cast<uint32_t>(choice.ids.columns),
                              .bias = AddressOf(choice.bias),
                              .scales = AddressOf(choice.scales),
                              .given = given,
                              .spec = choice.spec,
                              .ids = AddressOf(choice.ids),
                              .weights = AddressOf(choice.shares)});
}

Result<DeviceExperts::Matrices> DeviceExperts::PutMatrices(const compute::ExpertSum& sum,
                                                           Matrix ExpertWeights::* kind) {
  std::vector<uint64_t> addresses;
  addresses.reserve(sum.experts.size());
  for (const ExpertWeights& expert : sum.experts) addresses.push_back(AddressOf(expert.*kind));
  return Matrices{&(sum.experts.front().*kind), TRY(batch_.Put(addresses))};
}

// The slots of a part, by their experts where several go to the same.
Result<ExpertGroups> DeviceExperts::Group(const Part& part, const compute::ExpertSum& sum) {
  const auto experts = static_cast<uint32_t>(sum.experts.size());
  const uint32_t together = RowsTogether(kernels_, part.slots() / experts, sum.experts.front());
  if (together == 1) return ExpertGroups{.count = part.slots()};
  ExpertGroups groups = {.together = together,
                         .count = MostGroups(part.slots(), experts, together)};
  groups.slots = TRY(batch_.ScratchMemory(Scratch::kGroups, BytesOf(groups)));
  TRY(RecordGroupExperts(
      kernels_, batch_.Using({part.id_range()}, {RangeOf(groups)}),
      {.ids = part.ids, .slots = part.slots(), .experts = experts, .groups = groups}));
  return groups;
}

Result<Range> DeviceExperts::Room(Scratch which, uint64_t rows, uint64_t columns) {
  const uint64_t bytes = rows * columns * sizeof(float);
  return Range{TRY(batch_.ScratchMemory(which, bytes)), bytes};
}

Status DeviceExperts::Multiply(const Matrices& matrices, const Part& part, const PreparedRows& rows,
                               uint32_t first_row, uint32_t sharing, const Range& out) {
  return RecordExpertProduct(
      kernels_, batch_.Using({rows.range, part.id_range(), RangeOf(part.groups)}, {out}),
      {.type = matrices.first->type(),
       .matrices = matrices.table,
       .ids = part.ids,
       .groups = part.groups,
       .sharing = sharing,
       .outputs = Rows(*matrices.first),
       .columns = Columns(*matrices.first),
       .activations = rows.range.begin,
       .activation_rows = rows.rows,
       .first_row = first_row,
       .result = out.begin});
}

Status DeviceExperts::Multiply(const Matrix& matrix, const PreparedRows& rows, const Range& out) {
  return RecordProduct(kernels_, batch_.Using({rows.range}, {out}),
                       {.type = matrix.type(),
                        .weights = AddressOf(matrix),
                        .outputs = Rows(matrix),
                        .columns = Columns(matrix),
                        .activations = rows.range.begin,
                        .activation_rows = rows.rows,
                        .first_row = 0,
                        .rows = rows.rows,
                        .result = out.begin,
                        .out_stride = Rows(matrix)});
}

ElementOperation OperationOf(compute::GateKind kind) {
  switch (kind) {
    case compute::GateKind::kSwiglu:
      return ElementOperation::kSwiglu;
    case compute::GateKind::kSwigluOai:
      return ElementOperation::kSwigluOai;
    case compute::GateKind::kGeglu:
      return ElementOperation::kGeglu;
  }
  return ElementOperation::kSwiglu;
}

Status DeviceExperts::Gate(const Range& gate, const Range& up, compute::GateKind kind,
                           float limit) {
  const auto count = static_cast<uint32_t>(gate.bytes / sizeof(float));
  return RecordElements(kernels_, batch_.Using({gate, up}, {gate}),
                        {.operation = OperationOf(kind),
                         .a = gate.begin,
                         .b = up.begin,
                         .b_count = count,
                         .y = gate.begin,
                         .count = count,
                         .factor = limit});
}

// To each row of the part that of its expert; nothing where experts have none.
Status DeviceExperts::AddBias(const compute::Tensor& biases, const Part& part, const Range& rows) {
  if (biases.empty()) return Ok();
  CHECK(IsDense(biases));
  const uint64_t id_bytes = uint64_t{part.slots()} * sizeof(uint32_t);
  return RecordAddByExpert(kernels_,
                           batch_.Using({rows, RangeOf(biases), {part.ids, id_bytes}}, {rows}),
                           {.biases = AddressOf(biases),
                            .ids = part.ids,
                            .rows = part.slots(),
                            .width = static_cast<uint32_t>(biases.columns),
                            .y = rows.begin});
}

Result<PreparedRows> DeviceExperts::PrepareHidden(const Range& gate, uint32_t rows,
                                                  const Matrix& down) {
  const auto format = kernels::ActivationFormatFor(down.type());
  const uint64_t bytes = kernels::ActivationBytes(format, rows, down.columns());
  const Range prepared = {TRY(batch_.ScratchMemory(Scratch::kHidden, bytes)), bytes};
  TRY(RecordPrepare(kernels_, batch_.Using({gate}, {prepared}),
                    {.format = format,
                     .rows_in = gate.begin,
                     .stride = Columns(down),
                     .rows = rows,
                     .columns = Columns(down),
                     .prepared = prepared.begin}));
  return PreparedRows{prepared, rows};
}

// The shared expert's outputs of all rows.
Result<Range> DeviceExperts::RunShared(const compute::ExpertSum& sum, DeviceOperand& rows) {
  const ExpertWeights& shared = *sum.shared;
  const Range gate = TRY(Room(Scratch::kGate, rows.rows(), shared.gate.rows()));
  const Range up = TRY(Room(Scratch::kUp, rows.rows(), shared.up.rows()));
  TRY(Multiply(shared.gate, TRY(rows.In(kernels::ActivationFormatFor(shared.gate.type()))), gate));
  TRY(Multiply(shared.up, TRY(rows.In(kernels::ActivationFormatFor(shared.up.type()))), up));
  TRY(Gate(gate, up, sum.gate, sum.limit));
  const auto count = static_cast<uint32_t>(rows.rows());
  const Range down = TRY(Room(Scratch::kShared, rows.rows(), shared.down.rows()));
  TRY(Multiply(shared.down, TRY(PrepareHidden(gate, count, shared.down)), down));
  return down;
}

Status DeviceExperts::Sum(const compute::ExpertSum& sum) {
  TRY(CheckIsInUse(kernels_.use().experts, "experts"));
  CHECK(IsDense(sum.ids) && IsDense(sum.shares) && IsDense(sum.out));
  auto& rows = static_cast<DeviceOperand&>(*sum.rows);
  const std::array<Matrices, 3> matrices = {TRY(PutMatrices(sum, &ExpertWeights::gate)),
                                            TRY(PutMatrices(sum, &ExpertWeights::up)),
                                            TRY(PutMatrices(sum, &ExpertWeights::down))};
  const Range more = sum.shared == nullptr ? Range{} : TRY(RunShared(sum, rows));
  const auto used = static_cast<uint32_t>(sum.ids.columns);
  const auto row_count = static_cast<uint32_t>(sum.ids.rows);
  const uint32_t rows_of_part = std::max(kSlotsOfPart / used, 1u);
  for (uint32_t first = 0; first < row_count; first += rows_of_part) {
    const uint32_t count = std::min(rows_of_part, row_count - first);
    TRY(SumPart(sum, rows, matrices,
                {.first = first,
                 .rows = count,
                 .used = used,
                 .ids = AddressOf(sum.ids.Rows(first, count)),
                 .shares = RangeOf(sum.shares.Rows(first, count))},
                more));
  }
  return Ok();
}

Status DeviceExperts::SumPart(const compute::ExpertSum& sum, DeviceOperand& rows,
                              const std::array<Matrices, 3>& matrices, Part part,
                              const Range& more) {
  part.groups = TRY(Group(part, sum));
  const auto& [gates, ups, downs] = matrices;
  const auto format = [](const Matrices& all) {
    return kernels::ActivationFormatFor(all.first->type());
  };
  const Range gate = TRY(Room(Scratch::kGate, part.slots(), gates.first->rows()));
  const Range up = TRY(Room(Scratch::kUp, part.slots(), ups.first->rows()));
  TRY(Multiply(gates, part, TRY(rows.In(format(gates))), part.first, part.used, gate));
  TRY(Multiply(ups, part, TRY(rows.In(format(ups))), part.first, part.used, up));
  TRY(AddBias(sum.biases.gate, part, gate));
  TRY(AddBias(sum.biases.up, part, up));
  TRY(Gate(gate, up, sum.gate, sum.limit));
  const PreparedRows hidden = TRY(PrepareHidden(gate, part.slots(), *downs.first));
  const Range down = TRY(Room(Scratch::kDown, part.slots(), downs.first->rows()));
  TRY(Multiply(downs, part, hidden, 0, 1, down));
  TRY(AddBias(sum.biases.down, part, down));
  const compute::Tensor out = sum.out.Rows(part.first, part.rows);
  const uint64_t first_float = uint64_t{part.first} * sum.out.columns;
  // A score for every row.
  const compute::Tensor scores =
      sum.shared_scores.empty() ? sum.shared_scores : sum.shared_scores.Rows(part.first, part.rows);
  return RecordWeightedSum(kernels_,
                           batch_.Using({down, part.shares, more, RangeOf(scores)}, {RangeOf(out)}),
                           {.terms = down.begin,
                            .weights = part.shares.begin,
                            .more = more.bytes == 0 ? 0 : more.begin + first_float * sizeof(float),
                            .more_scores = AddressOf(scores),
                            .rows = part.rows,
                            .width = static_cast<uint32_t>(sum.out.columns),
                            .terms_of_row = part.used,
                            .result = AddressOf(out)});
}

}  // namespace aster::vulkan
