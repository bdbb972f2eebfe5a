// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "compute/embedding.h"
#include "compute/fixed_sums.h"
#include "kernels/activation_blocks.h"
#include "kernels/rope.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/products.h"
#include "vulkan/kernels/rows.h"
#include "vulkan/kernels/streams.h"

namespace aster::vulkan {
namespace {

using compute::Tensor;

// Rows whose angles one thread computes in about the time that it takes to wake the others, which
// sleep between batches.
constexpr size_t kRowsOfThread = 32;

uint32_t Count(const Tensor& tensor) { return static_cast<uint32_t>(tensor.rows * tensor.columns); }

uint64_t BytesOf(const Tensor& tensor) {
  return tensor.rows * tensor.columns * compute::kElementBytes;
}

// `half`: the input or output of half a layer.
StreamsJob StreamsOf(const Tensor& streams, const Tensor& numbers, const Tensor& half) {
  return {.streams = AddressOf(streams),
          .stream_stride = static_cast<uint32_t>(streams.stride),
          .numbers = AddressOf(numbers),
          .number_stride = static_cast<uint32_t>(numbers.stride),
          .half = AddressOf(half),
          .half_stride = static_cast<uint32_t>(half.stride),
          .rows = static_cast<uint32_t>(half.rows),
          .width = static_cast<uint32_t>(half.columns),
          .count = static_cast<uint32_t>(streams.columns / half.columns)};
}

}  // namespace

Status DeviceCommands::Begin() {
  attention_.Begin();
  blocks_.Clear();
  when_done_.clear();
  is_submitted_ = false;
  return batch_.Begin();
}

Status DeviceCommands::Submit() {
  is_submitted_ = true;
  return batch_.Submit();
}

Result<bool> DeviceCommands::Poll() {
  if (!TRY(batch_.Poll())) return false;
  FinishOnHost();
  return true;
}

Status DeviceCommands::Wait() {
  TRY(batch_.Wait());
  FinishOnHost();
  return Ok();
}

// Runs the host's work on the results of a batch that is done. (If a batch is still being recorded,
// some of its parts may be done, but not the batch.)
void DeviceCommands::FinishOnHost() {
  if (!is_submitted_) return;
  for (const std::function<void()>& finish : when_done_) finish();
  when_done_.clear();
}

Status DeviceCommands::Upload(std::span<const float> rows, const Tensor& to) {
  CHECK(rows.size() == to.rows * to.columns);
  const Piece piece = TRY(batch_.TakeUpload(rows.size_bytes()));
  std::memcpy(piece.data(), rows.data(), rows.size_bytes());
  return Send(piece, to);
}

Status DeviceCommands::Send(const Piece& piece, const Tensor& to) {
  if (!IsDense(to)) return CopyRows({piece.address(), BytesOf(to)}, to.columns, to);
  batch_.Send(piece, BufferOf(to), to.offset, BytesOf(to));
  return Ok();
}

Status DeviceCommands::CopyRows(const Range& from, size_t from_stride, const Tensor& to) {
  return RecordCopyRows(kernels_, batch_.Using({from}, {RangeOf(to)}),
                        {.from = from.begin,
                         .from_stride = static_cast<uint32_t>(from_stride),
                         .rows = static_cast<uint32_t>(to.rows),
                         .columns = static_cast<uint32_t>(to.columns),
                         .to = AddressOf(to),
                         .to_stride = static_cast<uint32_t>(to.stride)});
}

Status DeviceCommands::Download(const Tensor& from, std::span<const float>* rows) {
  CHECK(IsDense(from));
  const uint8_t* const bytes = TRY(batch_.Fetch(BufferOf(from), from.offset, BytesOf(from)));
  *rows = {reinterpret_cast<const float*>(bytes), from.rows * from.columns};
  return Ok();
}

// The device prepares the rows, with the same bytes as the processor, which then makes the blocks.
Status DeviceCommands::DownloadBlocks(kernels::ActivationFormat format, const Tensor& rows,
                                      Bytes* blocks) {
  if (rows.rows > kRowGroups)
    return Unimplemented(fmt::format("blocks of {} rows, on a GPU", rows.rows));
  const uint64_t bytes = kernels::ActivationBytes(format, rows.rows, rows.columns);
  TRY(batch_.Grow(cut_, bytes));
  TRY(preparer_.Prepare(rows, format, {cut_->address(), bytes}));
  const uint8_t* const prepared = TRY(batch_.Fetch(*cut_, 0, bytes));
  const size_t block_bytes = kernels::BlockBytes(format, rows.rows, rows.columns);
  uint8_t* const out = TRY(blocks_.Take(block_bytes));
  const compute::PreparedBlocks cut{format, prepared, rows.rows, rows.columns};
  when_done_.emplace_back([this, cut, out] { compute::CutBlocks(host_, cut, out); });
  *blocks = {out, block_bytes};
  return Ok();
}

Status DeviceCommands::ReadChoice(const Tensor& ids, std::span<const int32_t>* choice) {
  CHECK(IsDense(ids));
  const uint8_t* const bytes = TRY(batch_.Fetch(BufferOf(ids), ids.offset, BytesOf(ids)));
  *choice = {reinterpret_cast<const int32_t*>(bytes), ids.rows * ids.columns};
  return Ok();
}

Status DeviceCommands::SumOwnExperts(const compute::ExpertSum& sum,
                                     const compute::OwnExperts& own) {
  if (std::ranges::count(own.is_own, 0) == std::ssize(own.is_own)) {
    std::ranges::fill(own.sums, 0);
    return Ok();
  }
  const uint8_t* const sums = TRY(experts_.SumOwn(sum, own));
  when_done_.emplace_back([sums, to = own.sums] { std::memcpy(to.data(), sums, to.size_bytes()); });
  return Ok();
}

Status DeviceCommands::FinishSums(std::span<const int64_t> sums, const Tensor& out) {
  CHECK(sums.size() == out.rows * out.columns);
  const Piece piece = TRY(batch_.TakeUpload(BytesOf(out)));
  compute::FinishFixedSums(host_, sums, out.columns, reinterpret_cast<float*>(piece.data()),
                           out.columns);
  return Send(piece, out);
}

// The host decodes the rows, as it has the file.
Status DeviceCommands::Embed(const gguf::Tensor& embedding, std::span<const int32_t> tokens,
                             size_t copies, const Tensor& out) {
  CHECK(out.rows == tokens.size());
  const Piece piece = TRY(batch_.TakeUpload(BytesOf(out)));
  TRY(compute::DecodeEmbedding(host_, embedding, tokens, copies,
                               {.first = reinterpret_cast<float*>(piece.data()),
                                .columns = out.columns,
                                .stride = out.columns}));
  return Send(piece, out);
}

// The host computes the angles, in doubles.
Status DeviceCommands::MakeAngles(const compute::AnglesOf& of, const compute::Angles& out) {
  CHECK(IsDense(out.cosines) && IsDense(out.sines));
  const size_t pairs = of.frequencies.size();
  const uint64_t bytes = of.positions.size() * pairs * sizeof(float);
  const Piece cosines = TRY(batch_.TakeUpload(bytes));
  const Piece sines = TRY(batch_.TakeUpload(bytes));
  host_.pool.ParallelForDynamic(
      of.positions.size(), kRowsOfThread, [&](size_t begin, size_t end, size_t) {
        for (size_t row = begin; row < end; ++row) {
          kernels::RopeAngles(of.frequencies.data(), pairs, of.magnitude, of.positions[row],
                              reinterpret_cast<float*>(cosines.data()) + row * pairs,
                              reinterpret_cast<float*>(sines.data()) + row * pairs);
        }
      });
  batch_.Send(cosines, BufferOf(out.cosines), out.cosines.offset, bytes);
  batch_.Send(sines, BufferOf(out.sines), out.sines.offset, bytes);
  return Ok();
}

Status DeviceCommands::Gather(const Tensor& from, std::span<const compute::RowRange> ranges,
                              const Tensor& to) {
  CHECK(from.columns == to.columns);
  if (!IsDense(from) || !IsDense(to)) {
    size_t done = 0;
    for (const compute::RowRange& range : ranges) {
      TRY(CopyRows(RangeOf(from.Rows(range.first, range.count)), from.stride,
                   to.Rows(done, range.count)));
      done += range.count;
    }
    return Ok();
  }
  vulkan::Commands& commands = batch_.Using({RangeOf(from)}, {RangeOf(to)});
  const uint64_t row_bytes = from.columns * compute::kElementBytes;
  uint64_t at = to.offset;
  for (const compute::RowRange& range : ranges) {
    commands.Copy(BufferOf(from), from.offset + range.first * row_bytes, BufferOf(to), at,
                  range.count * row_bytes);
    at += range.count * row_bytes;
  }
  return Ok();
}

Status DeviceCommands::Normalise(const compute::Normalisation& norm) {
  return fusion_.Normalise(norm);
}

Status DeviceCommands::Add(const Tensor& rows, const Tensor& more, size_t repeat) {
  CHECK(IsDense(rows) && (IsDense(more) || repeat == 1));
  if (repeat == 1 && TRY(fusion_.Add(rows, more))) return Ok();
  const auto columns = static_cast<uint32_t>(rows.columns);
  return RecordElements(kernels_, batch_.Using({RangeOf(rows), RangeOf(more)}, {RangeOf(rows)}),
                        {.operation = ElementOperation::kAdd,
                         .a = AddressOf(rows),
                         .b = AddressOf(more),
                         .b_count = columns,
                         .b_share = static_cast<uint32_t>(repeat) * columns,
                         .b_stride = static_cast<uint32_t>(more.rows <= 1 ? 0 : more.stride),
                         .y = AddressOf(rows),
                         .count = Count(rows)});
}

Status DeviceCommands::Gate(const Tensor& gate, const Tensor& up, compute::GateKind kind,
                            float limit) {
  CHECK(IsDense(gate) && IsDense(up));
  return fusion_.Gate(gate, up, OperationOf(kind), limit);
}

// An operation on every element by itself, in place.
Status DeviceCommands::Map(const Tensor& rows, ElementOperation operation, float factor) {
  CHECK(IsDense(rows));
  return RecordElements(kernels_, batch_.Using({RangeOf(rows)}, {RangeOf(rows)}),
                        {.operation = operation,
                         .a = AddressOf(rows),
                         .y = AddressOf(rows),
                         .count = Count(rows),
                         .factor = factor});
}

Status DeviceCommands::Scale(const Tensor& rows, float factor) {
  return Map(rows, ElementOperation::kScale, factor);
}

Status DeviceCommands::Softcap(const Tensor& rows, float cap) {
  return Map(rows, ElementOperation::kSoftcap, cap);
}

Status DeviceCommands::GateBySigmoid(const Tensor& rows, const Tensor& gates) {
  CHECK(IsDense(rows) && IsDense(gates));
  return RecordElements(kernels_, batch_.Using({RangeOf(rows), RangeOf(gates)}, {RangeOf(rows)}),
                        {.operation = ElementOperation::kGateBySigmoid,
                         .a = AddressOf(rows),
                         .b = AddressOf(gates),
                         .b_count = Count(rows),
                         .y = AddressOf(rows),
                         .count = Count(rows)});
}

// Prepares all rows before the first product, so that all products may run at the same time.
Status DeviceCommands::Multiply(std::span<const compute::Product> products) {
  const auto is_empty = [](const compute::Product& product) {
    return product.matrix->rows() == 0 || product.out.rows == 0;
  };
  const auto prepared = [](const compute::Product& product) {
    return static_cast<DeviceOperand*>(product.rows)
        ->In(kernels::ActivationFormatFor(product.matrix->type()));
  };
  for (const compute::Product& product : products) {
    if (!is_empty(product)) TRY(prepared(product));
  }
  for (const compute::Product& product : products) {
    if (is_empty(product)) continue;
    const compute::Matrix& matrix = *product.matrix;
    const PreparedRows rows = TRY(prepared(product));
    TRY(fusion_.Multiply({.type = matrix.type(),
                          .weights = AddressOf(matrix),
                          .outputs = static_cast<uint32_t>(matrix.rows()),
                          .columns = static_cast<uint32_t>(matrix.columns()),
                          .activations = rows.range.begin,
                          .activation_rows = rows.rows,
                          .first_row = 0,
                          .rows = rows.rows,
                          .result = AddressOf(product.out),
                          .out_stride = static_cast<uint32_t>(product.out.stride)},
                         rows.range, product.out));
  }
  return Ok();
}

// One step for all heads after the other, so that queries, keys and values share the barriers.
Status DeviceCommands::FinishHeads(std::span<const compute::Heads> all) {
  for (const compute::Heads& heads : all) TRY(AddBias(heads));
  for (const compute::Heads& heads : all) TRY(NormaliseHeads(heads));
  for (const compute::Heads& heads : all) TRY(RotateHeads(heads));
  return Ok();
}

Status DeviceCommands::AddBias(const compute::Heads& heads) {
  if (heads.bias.empty()) return Ok();
  const Tensor& rows = heads.rows;
  CHECK(IsDense(rows));
  return RecordElements(kernels_,
                        batch_.Using({RangeOf(rows), RangeOf(heads.bias)}, {RangeOf(rows)}),
                        {.operation = ElementOperation::kAdd,
                         .a = AddressOf(rows),
                         .b = AddressOf(heads.bias),
                         .b_count = static_cast<uint32_t>(rows.columns),
                         .y = AddressOf(rows),
                         .count = Count(rows)});
}

Status DeviceCommands::NormaliseHeads(const compute::Heads& heads) {
  if (heads.norm == compute::HeadNorm::kNone) return Ok();
  const Tensor rows = HeadRows(heads);
  return Normalise(
      {.rows = rows, .weight = heads.norm_weight, .epsilon = heads.epsilon, .out = rows});
}

Status DeviceCommands::RotateHeads(const compute::Heads& heads) {
  return heads.angles.cosines.empty() ? Ok() : fusion_.Rotate(heads);
}

Status DeviceCommands::MakeStreamWeights(const compute::StreamWeights& weights) {
  TRY(CheckLatent());
  const Tensor& numbers = weights.numbers;
  return RecordStreamWeights(
      kernels_,
      batch_.Using({RangeOf(numbers), RangeOf(weights.scale), RangeOf(weights.base)},
                   {RangeOf(numbers)}),
      {.numbers = AddressOf(numbers),
       .stride = static_cast<uint32_t>(numbers.stride),
       .rows = static_cast<uint32_t>(numbers.rows),
       .scale = AddressOf(weights.scale),
       .base = AddressOf(weights.base),
       .streams = static_cast<uint32_t>(weights.streams),
       .iterations = static_cast<uint32_t>(weights.iterations),
       .epsilon = weights.epsilon,
       .is_merge = weights.is_merge});
}

Status DeviceCommands::SumStreams(const Tensor& streams, const Tensor& numbers, const Tensor& out) {
  return RecordSumStreams(kernels_,
                          batch_.Using({RangeOf(streams), RangeOf(numbers)}, {RangeOf(out)}),
                          StreamsOf(streams, numbers, out));
}

Status DeviceCommands::SpreadStreams(const Tensor& from, const Tensor& numbers,
                                     const Tensor& streams) {
  return RecordSpreadStreams(
      kernels_,
      batch_.Using({RangeOf(from), RangeOf(numbers), RangeOf(streams)}, {RangeOf(streams)}),
      StreamsOf(streams, numbers, from));
}

Status DeviceCommands::WriteRows(const compute::LatentRows& rows) {
  TRY(rows.ratio == 1 ? CheckLatent() : CheckShared());
  TRY(FinishHeads({&rows.heads, 1}));
  return latent_.WriteRows(rows);
}

Status DeviceCommands::FinishIndexQueries(const compute::IndexQueries& index) {
  TRY(CheckLatent());
  const size_t dim = index.queries.columns / index.heads;
  const compute::Heads heads{.rows = index.queries,
                             .count = index.heads,
                             .angles = index.angles,
                             .unrotated = dim - 2 * index.angles.cosines.columns};
  TRY(RotateHeads(heads));
  const Tensor queries = HeadRows(heads);
  const auto columns = static_cast<uint32_t>(dim);
  if (index.is_spread) {
    TRY(RecordHadamard(kernels_, batch_.Using({RangeOf(queries)}, {RangeOf(queries)}),
                       AddressOf(queries), columns, static_cast<uint32_t>(queries.rows), columns));
  }
  if (index.format.type == kernels::LatentRows::kF4) TRY(latent_.RoundRows(index.format, queries));
  const Tensor& weights = index.weights;
  CHECK(IsDense(weights));
  const Range range = RangeOf(weights);
  return RecordElements(kernels_, batch_.Using({range}, {range}),
                        {.operation = ElementOperation::kScale,
                         .a = range.begin,
                         .y = range.begin,
                         .count = Count(weights),
                         .factor = 1.0f / std::sqrt(static_cast<float>(index.queries.columns))});
}

Status DeviceCommands::AddGatedValue(const compute::GatedValue& value) {
  TRY(CheckShared());
  const Tensor& rows = value.rows;
  return RecordGateValues(
      kernels_,
      batch_.Using({RangeOf(rows), RangeOf(value.key_value), RangeOf(value.weights)},
                   {RangeOf(rows)}),
      {.streams = AddressOf(rows),
       .stream_stride = static_cast<uint32_t>(rows.stride),
       .keys = AddressOf(value.key_value),
       .key_stride = static_cast<uint32_t>(value.key_value.stride),
       .weights = AddressOf(value.weights),
       .rows = static_cast<uint32_t>(rows.rows),
       .width = static_cast<uint32_t>(rows.columns / value.streams),
       .count = static_cast<uint32_t>(value.streams),
       .epsilon = value.epsilon});
}

}  // namespace aster::vulkan
