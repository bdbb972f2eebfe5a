// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/commands.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compute/cpu/gate.h"
#include "compute/cpu/heads.h"
#include "compute/cpu/memory.h"
#include "compute/cpu/streams.h"
#include "compute/embedding.h"
#include "kernels/activation_blocks.h"
#include "kernels/rope.h"

namespace aster::compute {
namespace {

// The heads of a row are divided among threads if they have at least this many floats; fewer are
// done before another thread would begin.
constexpr size_t kFloatsWorthSharing = 16384;

template <typename Function>
void ForEachRow(Context& context, const Tensor& rows, Function function) {
  context.pool.ParallelFor(rows.rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) function(Floats(rows) + row * rows.stride);
  });
}

}  // namespace

Status CpuCommands::Upload(std::span<const float> rows, const Tensor& to) {
  CHECK(rows.size() == to.rows * to.columns);
  for (size_t row = 0; row < to.rows; ++row) {
    std::ranges::copy(rows.subspan(row * to.columns, to.columns), Floats(to) + row * to.stride);
  }
  return Ok();
}

// The host can read the rows in place.
Status CpuCommands::Download(const Tensor& from, std::span<const float>* rows) {
  CHECK(from.stride == from.columns);
  *rows = {Floats(from), from.rows * from.columns};
  return Ok();
}

Status CpuCommands::DownloadBlocks(kernels::ActivationFormat format, const Tensor& rows,
                                   Bytes* blocks) {
  cut_.Set(rows);
  const uint8_t* const prepared = TRY(cut_.In(format, context_));
  const size_t bytes = kernels::BlockBytes(format, rows.rows, rows.columns);
  uint8_t* const out = TRY(blocks_.Take(bytes));
  CutBlocks(context_, {format, prepared, rows.rows, rows.columns}, out);
  *blocks = {out, bytes};
  return Ok();
}

Status CpuCommands::Embed(const gguf::Tensor& embedding, std::span<const int32_t> tokens,
                          size_t copies, const Tensor& out) {
  return DecodeEmbedding(context_, embedding, tokens, copies,
                         {.first = Floats(out), .columns = out.columns, .stride = out.stride});
}

Status CpuCommands::MakeAngles(const AnglesOf& of, const Angles& out) {
  const size_t pairs = of.frequencies.size();
  context_.pool.ParallelFor(of.positions.size(), [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      kernels::RopeAngles(of.frequencies.data(), pairs, of.magnitude, of.positions[row],
                          Floats(out.cosines) + row * pairs, Floats(out.sines) + row * pairs);
    }
  });
  return Ok();
}

Status CpuCommands::Gather(const Tensor& from, std::span<const RowRange> ranges, const Tensor& to) {
  CHECK(from.columns == to.columns);
  float* out = Floats(to);
  // Only some columns of one of them: copies row by row.
  if (from.stride != from.columns || to.stride != to.columns) {
    for (const RowRange& range : ranges) {
      for (size_t row = range.first; row < range.first + range.count; ++row, out += to.stride)
        std::copy_n(Floats(from) + row * from.stride, from.columns, out);
    }
    return Ok();
  }
  for (const RowRange& range : ranges)
    out = std::copy_n(Floats(from) + range.first * from.stride, range.count * from.stride, out);
  return Ok();
}

Status CpuCommands::Normalise(const Normalisation& norm) {
  const Tensor& rows = norm.rows;
  context_.pool.ParallelFor(rows.rows, [&](size_t begin, size_t end, size_t) {
    context_.ops().rms_norm(Floats(rows) + begin * rows.stride, rows.stride, end - begin,
                            rows.columns, Floats(norm.weight), norm.epsilon,
                            Floats(norm.out) + begin * norm.out.stride, norm.out.stride);
  });
  return Ok();
}

Status CpuCommands::Add(const Tensor& rows, const Tensor& more, size_t repeat) {
  const size_t width = rows.columns;
  CHECK(rows.stride == width && (more.stride == width || repeat == 1));
  context_.pool.ParallelFor(rows.rows, [&](size_t begin, size_t end, size_t) {
    float* const to = Floats(rows) + begin * width;
    for (size_t row = begin; row < end && more.stride != width; ++row) {
      float* const out = Floats(rows) + row * width;
      context_.ops().add(out, Floats(more) + row * more.stride, width, out);
    }
    if (more.stride != width) return;
    if (repeat == 1) {
      context_.ops().add(to, Floats(more) + begin * width, (end - begin) * width, to);
      return;
    }
    for (size_t row = begin; row < end; ++row) {
      float* const out = Floats(rows) + row * width;
      context_.ops().add(Floats(more) + row / repeat * width, out, width, out);
    }
  });
  return Ok();
}

Status CpuCommands::Gate(const Tensor& gate, const Tensor& up, GateKind kind, float limit) {
  CHECK(gate.stride == gate.columns && up.stride == gate.columns);
  CpuGate(context_, kind, Floats(gate), Floats(up), gate.rows * gate.columns, limit);
  return Ok();
}

Status CpuCommands::Scale(const Tensor& rows, float factor) {
  ForEachRow(context_, rows,
             [&](float* row) { context_.ops().scale(row, rows.columns, factor, row); });
  return Ok();
}

Status CpuCommands::Softcap(const Tensor& rows, float cap) {
  ForEachRow(context_, rows,
             [&](float* row) { context_.ops().softcap(row, rows.columns, cap, row); });
  return Ok();
}

Status CpuCommands::Multiply(std::span<const Product> products) {
  products_.clear();
  for (const Product& product : products) {
    products_.push_back({product.matrix, static_cast<CpuOperand*>(product.rows),
                         Floats(product.out), product.out.stride});
  }
  return MultiplyAll(products_, context_);
}

Status CpuCommands::FinishHeads(std::span<const Heads> all) {
  const kernels::OpsTable& ops = context_.ops();
  const size_t rows = all.front().rows.rows;
  if (all.size() == 1 && all.front().rows.columns >= kFloatsWorthSharing) {
    const Heads& heads = all.front();
    context_.pool.ParallelFor(rows * heads.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        const size_t head = i % heads.count;
        CpuFinishHeads(ops, heads, i / heads.count, head, head + 1);
      }
    });
    return Ok();
  }
  context_.pool.ParallelFor(rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      for (const Heads& heads : all) CpuFinishHeads(ops, heads, row, 0, heads.count);
    }
  });
  return Ok();
}

Status CpuCommands::Choose(const ExpertChoice& choice) {
  experts_.Choose(choice);
  return Ok();
}

Status CpuCommands::ReadChoice(const Tensor& ids, std::span<const int32_t>* choice) {
  CHECK(ids.stride == ids.columns);
  *choice = {Integers(ids), ids.rows * ids.columns};
  return Ok();
}

Status CpuCommands::MakeStreamWeights(const StreamWeights& weights) {
  CpuStreamWeights(context_, weights);
  return Ok();
}

Status CpuCommands::SumStreams(const Tensor& streams, const Tensor& numbers, const Tensor& out) {
  CpuSumStreams(context_, streams, numbers, out);
  return Ok();
}

Status CpuCommands::SpreadStreams(const Tensor& from, const Tensor& numbers,
                                  const Tensor& streams) {
  CpuSpreadStreams(context_, from, numbers, streams);
  return Ok();
}

Status CpuCommands::WriteRows(const LatentRows& rows) {
  const kernels::OpsTable& ops = context_.ops();
  const size_t row_bytes = kernels::LatentRowBytes(rows.format);
  const Tensor& from = rows.heads.rows;
  for (const PageSpan& span : rows.pages.spans) {
    context_.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        const size_t row = span.first_row + i;
        const uint32_t position = span.position + static_cast<uint32_t>(i);
        CpuFinishHeads(ops, rows.heads, row, 0, 1);
        if ((position + 1) % rows.ratio != 0) continue;
        const uint32_t rows_per_page = kernels::kPagePositions / rows.ratio;
        const uint32_t index = position / rows.ratio;
        uint8_t* const page = HostPage(
            span.table->WritablePage(rows.pages.layer, index / rows_per_page, rows.pages.stream));
        kernels::EncodeLatentRow(rows.format, Floats(from) + row * from.stride,
                                 page + index % rows_per_page * row_bytes);
      }
    });
  }
  return Ok();
}

Status CpuCommands::Compress(const Compression& compression) {
  compression_.Run(compression);
  return Ok();
}

Status CpuCommands::Pool(const RowPooling& pooling) {
  compression_.Run(pooling);
  return Ok();
}

Status CpuCommands::GateBySigmoid(const Tensor& rows, const Tensor& gates) {
  CHECK(rows.rows == gates.rows && rows.columns == gates.columns);
  const kernels::OpsTable& ops = context_.ops();
  context_.pool.ParallelFor(rows.rows, [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row) {
      float* const gate = Floats(gates) + row * gates.stride;
      float* const own = Floats(rows) + row * rows.stride;
      ops.sigmoid(gate, gates.columns, gate);
      ops.multiply(own, gate, rows.columns, own);
    }
  });
  return Ok();
}

Status CpuCommands::FinishIndexQueries(const IndexQueries& index) {
  const size_t heads = index.heads;
  const size_t dim = index.queries.columns / heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(heads * dim));
  const kernels::OpsTable& ops = context_.ops();
  const kernels::LatentTable& table = kernels::Latent(context_.isa);
  const Heads rotated{.rows = index.queries,
                      .count = heads,
                      .angles = index.angles,
                      .unrotated = dim - 2 * index.angles.cosines.columns};
  context_.pool.ParallelFor(index.queries.rows, [&](size_t begin, size_t end, size_t) {
    std::array<uint8_t, 2 * kernels::kMaxLatentDim> bytes;
    const uint8_t* const packed = bytes.data();
    for (size_t row = begin; row < end; ++row) {
      float* const queries = Floats(index.queries) + row * index.queries.stride;
      CpuFinishHeads(ops, rotated, row, 0, heads);
      if (index.is_spread) ops.hadamard(queries, dim, heads, dim);
      for (size_t head = 0; head < heads && index.format.type == kernels::LatentRows::kF4; ++head) {
        kernels::EncodeLatentRow(index.format, queries + head * dim, bytes.data());
        table.decode(index.format, &packed, 1, queries + head * dim, dim);
      }
      float* const weights = Floats(index.weights) + row * index.weights.stride;
      ops.scale(weights, heads, scale, weights);
    }
  });
  return Ok();
}

}  // namespace aster::compute
