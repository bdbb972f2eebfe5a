// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_latent.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "kernels/stream_mix.h"
#include "vulkan/check/latent_pages.h"
#include "vulkan/kernels/latent_attention.h"
#include "vulkan/kernels/latent_rows.h"
#include "vulkan/kernels/streams.h"

namespace aster::vulkan {
namespace {

using kernels::kLatentRef;
using kernels::LatentFormat;

constexpr uint32_t kLatentPage = 128;

// Rows that are made of tokens' inputs, and the reference's results.
struct Pooled {
  std::vector<PooledRow> rows;
  std::vector<float> want;
};

Pooled ReferencePool(const PoolSize& size, uint32_t columns, RowPages& pages) {
  Pooled pooled;
  const uint32_t end = (size.position + size.tokens) / size.ratio;
  for (uint32_t row = size.position / size.ratio; row < end; ++row) {
    const uint32_t own = row * size.ratio;
    const uint32_t first = size.overlaps && own > 0 ? own - size.ratio : own;
    const auto index = static_cast<uint32_t>(pooled.rows.size());
    pooled.rows.push_back({first, own - first, own - first + size.ratio, first / kLatentPage,
                           size.in_place ? 2 * index + 1 : index});
    std::vector<const float*> values, scores;
    for (uint32_t p = first; p < own + size.ratio; ++p) {
      const auto* const input = reinterpret_cast<const float*>(pages.row(p));
      values.push_back(input + (size.overlaps && p >= own ? size.dim : 0));
      scores.push_back(values.back() + columns);
    }
    pooled.want.resize(pooled.want.size() + size.dim);
    kLatentRef.pool(values.data(), scores.data(), values.size(), size.dim,
                    pooled.want.data() + pooled.want.size() - size.dim);
  }
  return pooled;
}

// Compares the rows, each at its place, `stride` floats apart.
Status ComparePooled(const Pooled& pooled, uint32_t dim, uint32_t stride,
                     std::span<const float> got) {
  for (size_t i = 0; i < pooled.rows.size(); ++i) {
    TRY(CompareFloats("compressed rows", std::span(pooled.want).subspan(i * dim, dim),
                      got.subspan(size_t{pooled.rows[i].place} * stride, dim)));
  }
  return Ok();
}

// One token's attention to these rows, which are decoded.
void ReferenceAttention(const LatentSize& size, float factor, std::span<const float> rows,
                        const float* queries, const float* sinks, float* out) {
  const auto dim = static_cast<uint32_t>(size.format.dim);
  const std::vector<float> turned = Turned(queries, size.heads, dim, factor);
  const size_t lanes = turned.size() / dim;
  std::vector<float> max(lanes, -kCheckInfinity), sum(lanes), values(lanes * dim);
  const kernels::LatentState state{max.data(), sum.data(), values.data()};
  const size_t all = rows.size() / dim;
  for (size_t begin = 0; begin < all; begin += kernels::kLatentBlock) {
    const size_t count = std::min<size_t>(kernels::kLatentBlock, all - begin);
    const std::span<const float> block = rows.subspan(begin * dim, count * dim);
    std::vector<float> scores(count * lanes), block_max(lanes), block_sum(lanes);
    std::vector<float> block_values(lanes * dim);
    kLatentRef.multiply(
        {block.data(), dim, 1, turned.data(), lanes, scores.data(), lanes, count, dim, lanes});
    kLatentRef.weigh(scores.data(), count, lanes, block_max.data(), block_sum.data());
    kLatentRef.multiply({scores.data(), 1, lanes, block.data(), dim, block_values.data(), dim,
                         size.heads, count, dim});
    kLatentRef.merge({block_max.data(), block_sum.data(), block_values.data(), size.heads, dim},
                     state);
  }
  kLatentRef.finish(state, sinks, size.heads, dim, out);
}

// Streams, the output of half a layer, and the numbers that mix them.
struct Streams {
  Streams(uint32_t stream_count, uint32_t row_count, uint32_t row_width, CheckValues values,
          uint64_t seed)
      : count(stream_count),
        rows(row_count),
        width(row_width),
        size(static_cast<uint32_t>(kernels::StreamMixSize(count))),
        scale(CheckFloats(3, CheckValues::kOrdinary, seed + 1)),
        base(CheckFloats(size, CheckValues::kOrdinary, seed + 2)),
        half(CheckFloats(size_t{rows} * width, values, seed + 4)),
        numbers(CheckFloats(size_t{rows} * size, values, seed)),
        merged(numbers),
        mixed(CheckFloats(size_t{rows} * count * width, values, seed + 3)),
        sum(half.size()) {}

  void Reference();

  const uint32_t count;
  const uint32_t rows;
  const uint32_t width;
  const uint32_t size;  // numbers of a row
  const uint32_t iterations = 3;
  const float epsilon = 1e-6f;
  const std::vector<float> scale;
  const std::vector<float> base;
  const std::vector<float> half;
  // Inputs, which the reference replaces by its results.
  std::vector<float> numbers;
  std::vector<float> merged;
  std::vector<float> mixed;
  std::vector<float> sum;
};

void Streams::Reference() {
  const kernels::OpsTable& ops = kernels::kOpsRef;
  const kernels::StreamMix mix{count, iterations, epsilon, scale.data(), base.data()};
  const std::vector<float> before = mixed;
  for (size_t row = 0; row < rows; ++row) {
    float* const of_row = numbers.data() + row * size;
    kernels::MixStreams(ops, mix, of_row);
    kernels::MergeStreams(ops, mix, merged.data() + row * size);
    const float* const in = before.data() + row * count * width;
    ops.scale(in, width, of_row[0], sum.data() + row * width);
    for (uint32_t a = 1; a < count; ++a)
      ops.add_scaled(in + a * width, width, of_row[a], sum.data() + row * width);
    for (uint32_t b = 0; b < count; ++b) {
      float* const to = mixed.data() + (row * count + b) * width;
      ops.scale(half.data() + row * width, width, of_row[count + b], to);
      for (uint32_t a = 0; a < count; ++a)
        ops.add_scaled(in + a * width, width, of_row[2 * count + a * count + b], to);
    }
  }
}

}  // namespace

Status CheckLatentRows(Workbench& bench, const LatentRowsSize& size, CheckValues values,
                       uint64_t seed) {
  const LatentFormat& format = size.format;
  const auto dim = static_cast<uint32_t>(format.dim);
  const uint32_t words = RowWords(format);
  const uint32_t all = size.rows * size.step;
  const std::vector<float> rows = CheckFloats(size_t{all} * dim, values, seed);
  RowPages pages(RowBytes(format), size.rows_of_page, size.position + size.rows, seed);
  const Buffer row_buffer = TRY(bench.Put(rows));
  const Buffer page_buffer = TRY(bench.Put(pages.words()));
  const uint32_t first_page = size.position / size.rows_of_page;
  std::vector<uint64_t> table = pages.Table(page_buffer);
  table.erase(table.begin(), table.begin() + first_page);
  const Buffer table_buffer = TRY(bench.Put(table));
  const Buffer runs =
      TRY(bench.Put(std::vector<RowRun>{{size.step - 1, size.rows, size.position, 0}}));
  const Buffer packed = TRY(bench.Room(uint64_t{all} * words * 4));
  // Bytes that no row would be packed to.
  const std::vector<uint32_t> any = CheckWords(size_t{size.rows} * words, seed + 1);
  const Buffer any_buffer = TRY(bench.Put(any));
  const Buffer decoded = TRY(bench.Room(uint64_t{size.rows} * dim * sizeof(float)));
  TRY(bench.Run([&](Commands& commands) -> Status {
    TRY(RecordEncodeLatent(bench.kernels(), commands,
                           {format, row_buffer.address(), dim, all, packed.address()}));
    TRY(RecordDecodeLatent(bench.kernels(), commands,
                           {format, any_buffer.address(), size.rows, decoded.address(), dim}));
    commands.Barrier();
    return RecordWriteLatent(bench.kernels(), commands,
                             {.format = format,
                              .packed = packed.address(),
                              .row_step = size.step,
                              .page_table = table_buffer.address(),
                              .runs = runs.address(),
                              .run_count = 1,
                              .longest_run = size.rows,
                              .rows_of_page = size.rows_of_page});
  }));
  std::vector<const uint8_t*> any_rows;
  for (uint32_t row = 0; row < size.rows; ++row) {
    const size_t from = size_t{row} * size.step + size.step - 1;
    kernels::EncodeLatentRow(format, rows.data() + from * dim, pages.row(size.position + row));
    any_rows.push_back(reinterpret_cast<const uint8_t*>(any.data() + size_t{row} * words));
  }
  TRY(CompareBytes(fmt::format("latent rows written as {}", NameOf(format)),
                   std::span(pages.words()), page_buffer));
  return CompareFloats(fmt::format("latent rows of {}", NameOf(format)), Decoded(format, any_rows),
                       ContentOf<float>(decoded, size_t{size.rows} * dim));
}

Status CheckPool(Workbench& bench, const PoolSize& size, CheckValues values, uint64_t seed) {
  const uint32_t columns = size.overlaps ? 2 * size.dim : size.dim;
  const uint32_t end = size.position + size.tokens;
  RowPages pages(2 * columns * sizeof(float), kLatentPage, end, seed);
  const auto input = [&](uint32_t position) {
    return reinterpret_cast<float*>(pages.row(position));
  };
  // The earlier content is as large as the new rows.
  const std::vector<float> past =
      CheckFloats(size_t{size.position} * 2 * columns, CheckValues::kOrdinary, seed + 1);
  for (uint32_t p = 0; p < size.position; ++p)
    std::copy_n(past.begin() + p * 2 * columns, 2 * columns, input(p));
  const std::vector<float> rows = CheckFloats(size_t{size.tokens} * columns, values, seed + 2);
  const std::vector<float> scores = CheckFloats(size_t{size.tokens} * columns, values, seed + 3);
  const std::vector<float> places =
      CheckFloats(size_t{size.ratio} * columns, CheckValues::kOrdinary, seed + 4);
  const Buffer page_buffer = TRY(bench.Put(pages.words()));
  for (uint32_t i = 0; i < size.tokens; ++i) {
    float* const out = input(size.position + i);
    std::copy_n(rows.begin() + i * columns, columns, out);
    if (size.in_place) {
      std::copy_n(scores.begin() + i * columns, columns, out + columns);
      continue;
    }
    kernels::kOpsRef.add(scores.data() + i * columns,
                         places.data() + (size.position + i) % size.ratio * columns, columns,
                         out + columns);
  }
  const auto [made, want] = ReferencePool(size, columns, pages);
  const Buffer table = TRY(bench.Put(pages.Table(page_buffer)));
  const Buffer runs = TRY(
      bench.Put(std::vector<RowRun>{{0, size.tokens, size.position, size.position / kLatentPage}}));
  const Buffer value_buffer = TRY(bench.Put(rows));
  const Buffer score_buffer = TRY(bench.Put(scores));
  const Buffer place_buffer = TRY(bench.Put(places));
  const Buffer made_buffer = TRY(bench.Put(made));
  // With in_place, rows have gaps, and other rows are between them.
  const uint32_t stride = size.in_place ? size.dim + 3 : size.dim;
  const size_t places_needed = (size.in_place ? 2 : 1) * made.size();
  const Buffer out = TRY(bench.Room(places_needed * stride * sizeof(float)));
  TRY(bench.Run([&](Commands& commands) -> Status {
    TRY(RecordWriteInputs(bench.kernels(), commands,
                          {.values = value_buffer.address(),
                           .value_stride = columns,
                           .scores = score_buffer.address(),
                           .score_stride = columns,
                           .places = size.in_place ? 0 : place_buffer.address(),
                           .ratio = size.ratio,
                           .columns = columns,
                           .page_table = table.address(),
                           .runs = runs.address(),
                           .run_count = 1,
                           .longest_run = size.tokens}));
    commands.Barrier();
    return RecordPool(bench.kernels(), commands,
                      {.page_table = table.address(),
                       .rows = made_buffer.address(),
                       .row_count = static_cast<uint32_t>(made.size()),
                       .dim = size.dim,
                       .columns = columns,
                       .result = out.address(),
                       .result_stride = stride});
  }));
  TRY(CompareBytes("what compressed rows are made of", std::span(pages.words()), page_buffer));
  return ComparePooled({made, want}, size.dim, stride,
                       ContentOf<float>(out, places_needed * stride));
}

Status CheckRanks(Workbench& bench, const RankSize& size, uint64_t seed) {
  constexpr uint32_t kTokens = 2;
  constexpr uint32_t kRowsOfPage = 32;
  const auto dim = static_cast<uint32_t>(size.format.dim);
  RowPages pages = PagesOfRows(size.format, kRowsOfPage, size.rows, seed);
  MakeRowsEqual(size.format, size.rows, pages);
  const std::vector<float> queries =
      CheckFloats(size_t{kTokens} * size.heads * dim, CheckValues::kOrdinary, seed + 1);
  const std::vector<float> weights =
      CheckFloats(size_t{kTokens} * size.heads, CheckValues::kOrdinary, seed + 2);
  std::vector<const uint8_t*> rows;
  for (uint32_t row = 0; row < size.rows; ++row) rows.push_back(pages.row(row));
  // The second token has a row less.
  std::vector<float> want;
  std::vector<uint32_t> want_chosen(size_t{kTokens} * size.top);
  std::vector<RankTask> tasks;
  for (uint32_t token = 0; token < kTokens; ++token) {
    const uint32_t count = size.rows - token;
    tasks.push_back({token, count, static_cast<uint32_t>(want.size()), 0});
    const std::vector<float> scores =
        ReferenceRanks(size.format, std::span(rows).first(count),
                       queries.data() + size_t{token} * size.heads * dim,
                       weights.data() + token * size.heads, size.heads);
    std::vector<uint32_t> order(count);
    kernels::SelectLargest(scores.data(), count, size.top, order.data(),
                           want_chosen.data() + size_t{token} * size.top);
    want.insert(want.end(), scores.begin(), scores.end());
  }
  const Buffer page_buffer = TRY(bench.Put(pages.words()));
  const Buffer table = TRY(bench.Put(pages.Table(page_buffer)));
  const Buffer task_buffer = TRY(bench.Put(tasks));
  const Buffer query_buffer = TRY(bench.Put(queries));
  const Buffer weight_buffer = TRY(bench.Put(weights));
  const Buffer scores = TRY(bench.Room(want.size() * sizeof(float)));
  const Buffer chosen = TRY(bench.Room(want_chosen.size() * sizeof(uint32_t)));
  const RankJob job = {.format = size.format,
                       .queries = query_buffer.address(),
                       .query_stride = size.heads * dim,
                       .weights = weight_buffer.address(),
                       .weight_stride = size.heads,
                       .heads = size.heads,
                       .page_table = table.address(),
                       .rows_of_page = kRowsOfPage,
                       .tasks = task_buffer.address(),
                       .task_count = kTokens,
                       .most_rows = size.rows,
                       .scores = scores.address(),
                       .top = size.top,
                       .chosen = chosen.address(),
                       .chosen_stride = size.top};
  TRY(bench.Run([&](Commands& commands) -> Status {
    TRY(RecordRankRows(bench.kernels(), commands, job));
    commands.Barrier();
    return RecordSelectRows(bench.kernels(), commands, job);
  }));
  TRY(CompareFloats(fmt::format("ranks of rows of {}", NameOf(size.format)), want,
                    ContentOf<float>(scores, want.size())));
  return CompareBytes("rows that rank highest", std::span<const uint32_t>(want_chosen), chosen);
}

Status CheckLatentAttention(Workbench& bench, const LatentSize& size, uint64_t seed) {
  constexpr uint32_t kCompressedRowsOfPage = 32;
  const auto dim = static_cast<uint32_t>(size.format.dim);
  const uint32_t positions = size.window + 3;  // the first three are out of the window
  RowPages near = PagesOfRows(size.format, kLatentPage, positions, seed);
  const LatentFormat compressed_format = size.compressed_format.value_or(size.format);
  RowPages far = PagesOfRows(compressed_format, kCompressedRowsOfPage, size.far, seed + 1);
  const size_t floats = size_t{size.tokens} * size.heads * dim;
  const std::vector<float> queries = CheckFloats(floats, CheckValues::kOrdinary, seed + 2);
  const std::vector<float> sinks = CheckFloats(size.heads, CheckValues::kOrdinary, seed + 3);
  constexpr float kFactor = 0.25f;
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < size.tokens * size.chosen; ++i)
    chosen.push_back((i % size.chosen) * size.far / size.chosen);
  const Buffer near_buffer = TRY(bench.Put(near.words()));
  const Buffer far_buffer = TRY(bench.Put(far.words()));
  std::vector<uint64_t> table = near.Table(near_buffer);
  const auto compressed_table = static_cast<uint32_t>(table.size());
  for (const uint64_t page : far.Table(far_buffer)) table.push_back(page);
  std::vector<LatentToken> tokens;
  std::vector<float> want(floats);
  for (uint32_t token = 0; token < size.tokens; ++token) {
    const bool is_last = token + 1 == size.tokens;
    const uint32_t window = size.window - (size.tokens - 1 - token);
    const LatentToken& at = tokens.emplace_back(LatentToken{.begin = 3,
                                                            .window = window,
                                                            .window_table = 0,
                                                            .far = size.chosen,
                                                            .compressed_table = compressed_table,
                                                            .is_chosen = is_last ? 1u : 0u});
    std::vector<const uint8_t*> near_rows, compressed_rows;
    for (uint32_t i = 0; i < window; ++i) near_rows.push_back(near.row(at.begin + i));
    for (uint32_t i = 0; i < at.far; ++i)
      compressed_rows.push_back(far.row(is_last ? chosen[token * size.chosen + i] : i));
    std::vector<float> rows = Decoded(size.format, near_rows);
    std::ranges::copy(Decoded(compressed_format, compressed_rows), std::back_inserter(rows));
    const size_t first = size_t{token} * size.heads * dim;
    ReferenceAttention(size, kFactor, rows, queries.data() + first, sinks.data(),
                       want.data() + first);
  }
  const Buffer table_buffer = TRY(bench.Put(table));
  const Buffer token_buffer = TRY(bench.Put(tokens));
  const Buffer chosen_buffer = TRY(bench.Put(chosen));
  const Buffer query_buffer = TRY(bench.Put(queries));
  const Buffer sink_buffer = TRY(bench.Put(sinks));
  const Buffer out = TRY(bench.Room(floats * sizeof(float)));
  TRY(bench.Run([&](Commands& commands) {
    return RecordAttendLatent(bench.kernels(), commands,
                              {.format = size.format,
                               .compressed_format = compressed_format,
                               .page_table = table_buffer.address(),
                               .tokens = token_buffer.address(),
                               .token_count = size.tokens,
                               .chosen = chosen_buffer.address(),
                               .chosen_stride = size.chosen,
                               .compressed_rows_of_page = kCompressedRowsOfPage,
                               .queries = query_buffer.address(),
                               .heads = size.heads,
                               .factor = kFactor,
                               .sinks = sink_buffer.address(),
                               .result = out.address()});
  }));
  return CompareFloats(fmt::format("attention to latent rows of {}", NameOf(size.format)), want,
                       ContentOf<float>(out, want.size()));
}

Status CheckStreams(Workbench& bench, uint32_t streams, uint32_t rows, uint32_t width,
                    CheckValues values, uint64_t seed) {
  Streams of(streams, rows, width, values, seed);
  const Buffer numbers = TRY(bench.Put(of.numbers));
  const Buffer merged = TRY(bench.Put(of.merged));
  const Buffer scale = TRY(bench.Put(of.scale));
  const Buffer base = TRY(bench.Put(of.base));
  const Buffer mixed = TRY(bench.Put(of.mixed));
  const Buffer half = TRY(bench.Put(of.half));
  const Buffer sum = TRY(bench.Room(of.sum.size() * sizeof(float)));
  StreamWeightsJob job = {.numbers = numbers.address(),
                          .stride = of.size,
                          .rows = rows,
                          .scale = scale.address(),
                          .base = base.address(),
                          .streams = streams,
                          .iterations = of.iterations,
                          .epsilon = of.epsilon,
                          .is_merge = false};
  StreamsJob mix = {.streams = mixed.address(),
                    .stream_stride = streams * width,
                    .numbers = numbers.address(),
                    .number_stride = of.size,
                    .half = sum.address(),
                    .half_stride = width,
                    .rows = rows,
                    .width = width,
                    .count = streams};
  TRY(bench.Run([&](Commands& commands) -> Status {
    TRY(RecordStreamWeights(bench.kernels(), commands, job));
    job.numbers = merged.address();
    job.is_merge = true;
    TRY(RecordStreamWeights(bench.kernels(), commands, job));
    commands.Barrier();
    TRY(RecordSumStreams(bench.kernels(), commands, mix));
    commands.Barrier();
    mix.half = half.address();
    return RecordSpreadStreams(bench.kernels(), commands, mix);
  }));
  of.Reference();
  TRY(CompareFloats("weights of streams", of.numbers,
                    ContentOf<float>(numbers, of.numbers.size())));
  TRY(CompareFloats("weights that streams are merged with", of.merged,
                    ContentOf<float>(merged, of.merged.size())));
  TRY(CompareFloats("the sum of streams", of.sum, ContentOf<float>(sum, of.sum.size())));
  return CompareFloats("mixed streams", of.mixed, ContentOf<float>(mixed, of.mixed.size()));
}

}  // namespace aster::vulkan
