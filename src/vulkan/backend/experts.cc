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

// The most slots (rows times experts of a row) that are computed at a time: each takes memory
// between the products.
constexpr uint32_t kSlotsOfPart = 4096;

uint32_t Rows(const Matrix& matrix) { return static_cast<uint32_t>(matrix.rows()); }
uint32_t Columns(const Matrix& matrix) { return static_cast<uint32_t>(matrix.columns()); }

bool IsFloat(const Matrix& matrix) { return matrix.type() <= kernels::WeightType::kBF16; }

// Rows of one expert that are multiplied together if experts have `average` rows. Large groups
// compute unused places, small ones read the weights more often.
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

// An expert of this machine.
const ExpertWeights& OneOf(const compute::ExpertSum& sum) {
  return *std::ranges::find_if(sum.experts,
                               [](const ExpertWeights& expert) { return expert.gate.rows() > 0; });
}

// Whether a choice of a row is computed here; the shared expert is the choice after the last.
bool IsOwn(const compute::ExpertSum& sum, const compute::OwnExperts& own, uint32_t row,
           size_t choice) {
  const size_t of_row = sum.ids.columns + (sum.shared == nullptr ? 0 : 1);
  return own.is_own[row * of_row + choice] != 0;
}

// The experts that are chosen by the rows' tokens.
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

// Turns the logits into scores, in place, then chooses the experts by these or by the tokens.
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
  for (const ExpertWeights& expert : sum.experts) {
    const Matrix& matrix = expert.*kind;
    addresses.push_back(matrix.rows() == 0 ? 0 : AddressOf(matrix));
  }
  return Matrices{&(OneOf(sum).*kind), TRY(batch_.Put(addresses))};
}

Result<DeviceExperts::AllMatrices> DeviceExperts::PutAllMatrices(const compute::ExpertSum& sum) {
  return AllMatrices{.gate = TRY(PutMatrices(sum, &ExpertWeights::gate)),
                     .up = TRY(PutMatrices(sum, &ExpertWeights::up)),
                     .down = TRY(PutMatrices(sum, &ExpertWeights::down))};
}

// Calls `record` for parts of the rows that fit into the memory between the products.
template <typename Record>
Status DeviceExperts::ForEachPart(const compute::ExpertSum& sum, Record record) {
  CHECK(IsDense(sum.ids) && IsDense(sum.shares));
  const auto used = static_cast<uint32_t>(sum.ids.columns);
  const auto row_count = static_cast<uint32_t>(sum.ids.rows);
  const uint32_t rows_of_part = std::max(kSlotsOfPart / used, 1u);
  for (uint32_t first = 0; first < row_count; first += rows_of_part) {
    const uint32_t count = std::min(rows_of_part, row_count - first);
    TRY(record(Part{.first = first,
                    .rows = count,
                    .used = used,
                    .ids = AddressOf(sum.ids.Rows(first, count)),
                    .shares = RangeOf(sum.shares.Rows(first, count))}));
  }
  return Ok();
}

// Groups the slots of a part by their experts, if several are likely to have the same.
Result<ExpertGroups> DeviceExperts::Group(const Part& part, const compute::ExpertSum& sum) {
  const auto experts = static_cast<uint32_t>(sum.experts.size());
  const uint32_t together = RowsTogether(kernels_, part.slots() / experts, OneOf(sum));
  if (together == 1) return ExpertGroups{.count = part.slots()};
  ExpertGroups groups = {.together = together,
                         .count = MostGroups(part.slots(), experts, together)};
  groups.slots = TRY(batch_.ScratchMemory(Scratch::kGroups, BytesOf(groups)));
  TRY(RecordGroupExperts(
      kernels_, batch_.Using({part.id_range()}, {RangeOf(groups)}),
      {.ids = part.ids, .slots = part.slots(), .experts = experts, .groups = groups}));
  return groups;
}

// Groups the slots whose experts are here, on the host, which knows the choice.
Result<ExpertGroups> DeviceExperts::GroupOwn(const Part& part, const compute::ExpertSum& sum,
                                             const compute::OwnExperts& own) {
  std::vector<std::vector<uint32_t>> slots(sum.experts.size());
  uint32_t count = 0;
  for (uint32_t slot = 0; slot < part.slots(); ++slot) {
    if (!IsOwn(sum, own, part.first + slot / part.used, slot % part.used)) continue;
    slots[static_cast<size_t>(own.ids[part.first_slot() + slot])].push_back(slot);
    ++count;
  }
  if (count == 0) return ExpertGroups{.count = 0};
  const auto here = static_cast<uint32_t>(std::ranges::count_if(
      sum.experts, [](const ExpertWeights& expert) { return expert.gate.rows() > 0; }));
  const uint32_t together = RowsTogether(kernels_, count / here, OneOf(sum));
  std::vector<uint32_t> groups;
  for (const std::vector<uint32_t>& of_expert : slots) {
    groups.insert(groups.end(), of_expert.begin(), of_expert.end());
    groups.resize((groups.size() + together - 1) / together * together, kNoSlot);
  }
  return ExpertGroups{.slots = TRY(batch_.Put(groups)),
                      .together = together,
                      .count = static_cast<uint32_t>(groups.size() / together)};
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

// Adds to each row of the part the bias of its expert, if experts have any.
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

Status DeviceExperts::ExpandPart(const compute::ExpertSum& sum, DeviceOperand& rows,
                                 const AllMatrices& matrices, const Part& part, const Range& gate) {
  const auto prepared = [&](const Matrices& all) {
    return rows.In(kernels::ActivationFormatFor(all.first->type()));
  };
  const Range up = TRY(Room(Scratch::kUp, part.slots(), matrices.up.first->rows()));
  TRY(Multiply(matrices.gate, part, TRY(prepared(matrices.gate)), part.first, part.used, gate));
  TRY(Multiply(matrices.up, part, TRY(prepared(matrices.up)), part.first, part.used, up));
  TRY(AddBias(sum.biases.gate, part, gate));
  TRY(AddBias(sum.biases.up, part, up));
  return Gate(gate, up, sum.gate, sum.limit);
}

// The outputs of the part's slots.
Result<Range> DeviceExperts::ContractPart(const compute::ExpertSum& sum, const Matrices& downs,
                                          const Part& part, const PreparedRows& hidden,
                                          uint32_t first_row) {
  const Range down = TRY(Room(Scratch::kDown, part.slots(), downs.first->rows()));
  TRY(Multiply(downs, part, hidden, first_row, 1, down));
  TRY(AddBias(sum.biases.down, part, down));
  return down;
}

Result<Range> DeviceExperts::RunPart(const compute::ExpertSum& sum, DeviceOperand& rows,
                                     const AllMatrices& matrices, const Part& part) {
  const Range gate = TRY(Room(Scratch::kGate, part.slots(), matrices.gate.first->rows()));
  TRY(ExpandPart(sum, rows, matrices, part, gate));
  const PreparedRows hidden = TRY(PrepareHidden(gate, part.slots(), *matrices.down.first));
  return ContractPart(sum, matrices.down, part, hidden, 0);
}

// `of_gate` and `of_up`: the same rows, prepared for these matrices.
Status DeviceExperts::ExpandShared(const compute::ExpertSum& sum, const PreparedRows& of_gate,
                                   const PreparedRows& of_up, const Range& gate) {
  const ExpertWeights& shared = *sum.shared;
  const Range up = TRY(Room(Scratch::kUp, of_up.rows, shared.up.rows()));
  TRY(Multiply(shared.gate, of_gate, gate));
  TRY(Multiply(shared.up, of_up, up));
  return Gate(gate, up, sum.gate, sum.limit);
}

// The shared expert's outputs.
Result<Range> DeviceExperts::RunShared(const compute::ExpertSum& sum, const PreparedRows& of_gate,
                                       const PreparedRows& of_up) {
  const ExpertWeights& shared = *sum.shared;
  const Range gate = TRY(Room(Scratch::kGate, of_gate.rows, shared.gate.rows()));
  TRY(ExpandShared(sum, of_gate, of_up, gate));
  const Range down = TRY(Room(Scratch::kShared, of_gate.rows, shared.down.rows()));
  TRY(Multiply(shared.down, TRY(PrepareHidden(gate, of_gate.rows, shared.down)), down));
  return down;
}

Status DeviceExperts::Sum(const compute::ExpertSum& sum) {
  TRY(CheckIsInUse(kernels_.use().experts, "experts"));
  CHECK(IsDense(sum.out));
  auto& rows = static_cast<DeviceOperand&>(*sum.rows);
  const AllMatrices matrices = TRY(PutAllMatrices(sum));
  Range more;
  if (sum.shared != nullptr) {
    const auto in = [&](const Matrix& matrix) {
      return rows.In(kernels::ActivationFormatFor(matrix.type()));
    };
    more = TRY(RunShared(sum, TRY(in(sum.shared->gate)), TRY(in(sum.shared->up))));
  }
  return ForEachPart(sum, [&](Part part) -> Status {
    part.groups = TRY(Group(part, sum));
    return SumPart(sum, part, TRY(RunPart(sum, rows, matrices, part)), more);
  });
}

// `more`: the shared expert's outputs for all rows of the batch, or none.
Status DeviceExperts::SumPart(const compute::ExpertSum& sum, const Part& part, const Range& down,
                              const Range& more) {
  const compute::Tensor out = sum.out.Rows(part.first, part.rows);
  const uint64_t first_float = uint64_t{part.first} * sum.out.columns;
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

// Slots are in the order of choices; after them come several shared experts as a single wider one.
Status DeviceExperts::Expand(const compute::ExpertSum& sum, const compute::Tensor& wide) {
  TRY(CheckIsInUse(kernels_.use().experts, "experts"));
  CHECK(IsDense(wide));
  auto& rows = static_cast<DeviceOperand&>(*sum.rows);
  AllMatrices matrices = {.gate = TRY(PutMatrices(sum, &ExpertWeights::gate)),
                          .up = TRY(PutMatrices(sum, &ExpertWeights::up)),
                          .down = {}};
  TRY(ForEachPart(sum, [&](Part part) -> Status {
    part.groups = TRY(Group(part, sum));
    return ExpandPart(sum, rows, matrices, part,
                      RangeOf(wide.Rows(part.first_slot(), part.slots())));
  }));
  if (sum.shared == nullptr) return Ok();
  const auto in = [&](const Matrix& matrix) {
    return rows.In(kernels::ActivationFormatFor(matrix.type()));
  };
  const size_t chosen = sum.ids.rows * sum.ids.columns;
  return ExpandShared(sum, TRY(in(sum.shared->gate)), TRY(in(sum.shared->up)),
                      RangeOf(wide.Rows(chosen, wide.rows - chosen)));
}

Status DeviceExperts::Contract(const compute::ExpertSum& sum, DeviceOperand& chosen,
                               DeviceOperand& shared) {
  TRY(CheckIsInUse(kernels_.use().experts, "experts"));
  CHECK(IsDense(sum.out));
  const Matrices downs = TRY(PutMatrices(sum, &ExpertWeights::down));
  Range more;
  if (sum.shared != nullptr) {
    const Matrix& down = sum.shared->down;
    more = TRY(Room(Scratch::kShared, shared.rows(), down.rows()));
    TRY(Multiply(down, TRY(shared.In(kernels::ActivationFormatFor(down.type()))), more));
  }
  const PreparedRows hidden = TRY(chosen.In(kernels::ActivationFormatFor(downs.first->type())));
  return ForEachPart(sum, [&](Part part) -> Status {
    part.groups = TRY(Group(part, sum));
    return SumPart(sum, part, TRY(ContractPart(sum, downs, part, hidden, part.first_slot())), more);
  });
}

// Some of the rows, prepared for the matrix.
Result<PreparedRows> DeviceExperts::RowsAt(DeviceOperand& rows, const Matrix& matrix, Scratch which,
                                           const std::vector<uint32_t>& indices) {
  const auto format = kernels::ActivationFormatFor(matrix.type());
  const PreparedRows all = TRY(rows.In(format));
  if (indices.size() == all.rows) return all;
  const uint64_t bytes = kernels::ActivationBytes(format, indices.size(), matrix.columns());
  const Range some = {TRY(batch_.ScratchMemory(which, bytes)), bytes};
  const auto count = static_cast<uint32_t>(indices.size());
  const Address table = TRY(batch_.Put(indices));
  TRY(RecordGatherPrepared(kernels_, batch_.Using({all.range}, {some}),
                           {.format = format,
                            .from = all.range.begin,
                            .from_rows = all.rows,
                            .columns = Columns(matrix),
                            .indices = table,
                            .to_rows = count,
                            .to = some.begin}));
  return PreparedRows{some, count};
}

// The shared expert's outputs for the rows whose shared expert is computed here.
Result<DeviceExperts::SharedRows> DeviceExperts::RunOwnShared(const compute::ExpertSum& sum,
                                                              DeviceOperand& rows,
                                                              const compute::OwnExperts& own) {
  SharedRows shared{.places = std::vector<uint32_t>(sum.ids.rows, kElsewhere)};
  if (sum.shared == nullptr) return shared;
  std::vector<uint32_t> here;
  for (uint32_t row = 0; row < shared.places.size(); ++row) {
    if (!IsOwn(sum, own, row, sum.ids.columns)) continue;
    shared.places[row] = static_cast<uint32_t>(here.size());
    here.push_back(row);
  }
  if (here.empty()) return shared;
  shared.rows = TRY(RunShared(sum, TRY(RowsAt(rows, sum.shared->gate, Scratch::kGateRows, here)),
                              TRY(RowsAt(rows, sum.shared->up, Scratch::kUpRows, here))));
  return shared;
}

Status DeviceExperts::SumOwnPart(const compute::ExpertSum& sum, const compute::OwnExperts& own,
                                 const Part& part, const Range& down, const SharedRows& more) {
  const auto width = static_cast<uint32_t>(own.sums.size() / sum.ids.rows);
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < part.rows; ++i) {
    const uint32_t row = part.first + i;
    for (uint32_t k = 0; k < part.used; ++k)
      places.push_back(IsOwn(sum, own, row, k) ? i * part.used + k : kElsewhere);
    places.push_back(more.places[row]);
  }
  const compute::Tensor scores =
      sum.shared_scores.empty() ? sum.shared_scores : sum.shared_scores.Rows(part.first, part.rows);
  const uint64_t row_bytes = uint64_t{width} * sizeof(int64_t);
  const Range out = {sums_->address() + part.first * row_bytes, part.rows * row_bytes};
  const Address table = TRY(batch_.Put(places));
  return RecordOwnSums(kernels_,
                       batch_.Using({down, part.shares, more.rows, RangeOf(scores)}, {out}),
                       {.terms = down.begin,
                        .places = table,
                        .weights = part.shares.begin,
                        .more = more.rows.begin,
                        .more_scores = AddressOf(scores),
                        .rows = part.rows,
                        .width = width,
                        .terms_of_row = part.used,
                        .result = out.begin});
}

// Slots of other machines' experts are skipped by the products, but not by the operations between.
Result<const uint8_t*> DeviceExperts::SumOwn(const compute::ExpertSum& sum,
                                             const compute::OwnExperts& own) {
  TRY(CheckIsInUse(kernels_.use().experts && kernels_.use().parts, "parts of experts"));
  auto& rows = static_cast<DeviceOperand&>(*sum.rows);
  const uint64_t bytes = own.sums.size_bytes();
  TRY(batch_.Grow(sums_, bytes));
  const AllMatrices matrices = TRY(PutAllMatrices(sum));
  const SharedRows more = TRY(RunOwnShared(sum, rows, own));
  TRY(ForEachPart(sum, [&](Part part) -> Status {
    part.groups = TRY(GroupOwn(part, sum, own));
    // If only shared experts are computed here, no slot is read: any range will do.
    const Range down =
        part.groups.count == 0 ? part.shares : TRY(RunPart(sum, rows, matrices, part));
    return SumOwnPart(sum, own, part, down, more);
  }));
  return batch_.Fetch(*sums_, 0, bytes);
}

}  // namespace aster::vulkan
