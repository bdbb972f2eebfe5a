// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/latent_attention.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/attention.h"
#include "kernels/rope.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {
namespace {

using compute::PageSpan;
using kernels::kPagePositions;
using Stream = RowStream;

// The most scores in memory: 16 MiB.
constexpr uint64_t kMostScores = uint64_t{4} << 20;

// Adds the addresses of pages [begin, end); those from `written` on will be written.
void AddPages(const Stream& stream, const PageSpan& span, uint32_t begin, uint32_t end,
              uint32_t written, std::vector<uint64_t>& pages) {
  for (uint32_t page = begin; page < end; ++page) {
    pages.push_back(AddressOf(page < written
                                  ? span.table->Page(stream.layer, page, stream.stream)
                                  : span.table->WritablePage(stream.layer, page, stream.stream)));
  }
}

uint32_t PagesFor(uint32_t rows, const Stream& stream) {
  return DivideRoundingUp(rows, stream.rows_of_page());
}

// The rows that a span completes: [begin, end).
struct Completed {
  uint32_t begin;
  uint32_t end;
};
Completed CompletedBy(const PageSpan& span, uint32_t ratio) {
  return {span.position / ratio, (span.position + span.count) / ratio};
}

// The pages into which rows of a stream are written, and which rows go where.
struct Destination {
  std::vector<uint64_t> pages;
  std::vector<RowRun> runs;
  uint32_t longest_run = 0;
};

// The rows that the spans complete. Each comes from the batch's row that completes it, or from the
// next one of a list without gaps (`is_packed`).
Destination RunsOf(const Stream& stream, std::span<const PageSpan> spans, bool is_packed) {
  Destination to;
  uint32_t made = 0;
  for (const PageSpan& span : spans) {
    const Completed rows = CompletedBy(span, stream.ratio);
    const uint32_t count = rows.end - rows.begin;
    if (count == 0) continue;
    const uint32_t first_page = rows.begin / stream.rows_of_page();
    const uint32_t first = (rows.begin + 1) * stream.ratio - 1 - span.position;
    to.runs.push_back({is_packed ? made : span.first_row + first, count, rows.begin,
                       static_cast<uint32_t>(to.pages.size())});
    to.longest_run = std::max(to.longest_run, count);
    AddPages(stream, span, first_page, PagesFor(rows.end, stream), first_page, to.pages);
    made += count;
  }
  return to;
}

// The rows that tokens see, and their pages.
struct SeenRows {
  std::vector<uint64_t> pages;
  std::vector<LatentToken> tokens;
};

// Adds the pages of a span's windows, then those of its compressed rows.
void AddSeen(const compute::RowAttention& attention, const PageSpan& span, SeenRows& seen) {
  const Stream window = {attention.pages.layer, attention.pages.stream, 1};
  const Stream far = {attention.compressed_layer, attention.compressed_stream,
                      std::max(attention.ratio, 1u)};
  const auto compressed_rows = [&](uint32_t end) {
    return attention.ratio == 0 ? 0 : end / attention.ratio;
  };
  const uint32_t end = span.position + span.count;
  const uint32_t begin = span.position + 1 - std::min(span.position + 1, attention.window);
  const uint32_t first_page = begin / kPagePositions, end_page = PagesFor(end, window);
  const uint32_t window_table = static_cast<uint32_t>(seen.pages.size()) - first_page;
  AddPages(window, span, first_page, end_page, end_page, seen.pages);
  const auto compressed_table = static_cast<uint32_t>(seen.pages.size());
  const uint32_t compressed_pages = PagesFor(compressed_rows(end), far);
  AddPages(far, span, 0, compressed_pages, compressed_pages, seen.pages);
  for (uint32_t i = 0; i < span.count; ++i) {
    const uint32_t past = span.LastVisibleOf(i) + 1;
    const bool is_chosen = !attention.chosen.empty() && compressed_rows(past) > attention.top;
    seen.tokens[span.first_row + i] = {.begin = past - std::min(past, attention.window),
                                       .window = std::min(past, attention.window),
                                       .window_table = window_table,
                                       .far = is_chosen ? attention.top : compressed_rows(past),
                                       .compressed_table = compressed_table,
                                       .is_chosen = is_chosen ? 1u : 0u};
  }
}

RankedBlocks BlocksOf(const compute::RowRanking::Blocks& blocks) {
  if (blocks.top == 0) return {};
  return {AddressOf(blocks.chosen), static_cast<uint32_t>(blocks.chosen.stride), blocks.rows};
}

// The task of a token with this many rows: it chooses from all of them, or from those of given
// blocks.
RankTask TaskOf(const compute::RowRanking::Blocks& blocks, uint32_t row, uint32_t rows,
                uint32_t table) {
  const bool is_given = blocks.top > 0 && !blocks.is_made;
  const uint32_t last = is_given ? (rows - 1) / blocks.rows : 0;
  if (!is_given || last < blocks.top) return {row, rows, 0, table};
  // Only the newest block may not be full; it is always the last one chosen.
  return {row, (blocks.top - 1) * blocks.rows + rows - last * blocks.rows, 0, table, rows};
}

}  // namespace

uint32_t DeviceLatentAttention::Inputs::First(uint32_t index) const {
  const uint32_t own = index * ratio;
  return overlaps && index > 0 ? own - ratio : own;
}

Result<Range> DeviceLatentAttention::Encode(const kernels::LatentFormat& format, Address rows,
                                            const Range& range, uint32_t stride, uint32_t count) {
  const uint64_t bytes = uint64_t{count} * RowWords(format) * sizeof(uint32_t);
  const Range packed = {TRY(batch_.ScratchMemory(Scratch::kPackedRows, bytes)), bytes};
  TRY(RecordEncodeLatent(
      kernels_, batch_.Using({range}, {packed}),
      {.format = format, .x = rows, .stride = stride, .rows = count, .packed = packed.begin}));
  return packed;
}

Status DeviceLatentAttention::WritePacked(const kernels::LatentFormat& format,
                                          const PackedRows& packed, const Stream& stream,
                                          std::span<const PageSpan> spans) {
  const Destination to = RunsOf(stream, spans, packed.step == 0);
  if (to.runs.empty()) return Ok();
  const Address pages = TRY(batch_.Put(to.pages));
  const Address runs = TRY(batch_.Put(to.runs));
  return RecordWriteLatent(kernels_, batch_.Using({packed.range}, {Batch::kPages}),
                           {.format = format,
                            .packed = packed.range.begin,
                            .row_step = std::max(packed.step, 1u),
                            .page_table = pages,
                            .runs = runs,
                            .run_count = static_cast<uint32_t>(to.runs.size()),
                            .longest_run = to.longest_run,
                            .rows_of_page = stream.rows_of_page()});
}

Status DeviceLatentAttention::WriteRows(const compute::LatentRows& rows) {
  const compute::Tensor& from = rows.heads.rows;
  if (from.rows == 0) return Ok();
  const Range packed =
      TRY(Encode(rows.format, AddressOf(from), RangeOf(from), static_cast<uint32_t>(from.stride),
                 static_cast<uint32_t>(from.rows)));
  return WritePacked(rows.format, {packed, rows.ratio},
                     {rows.pages.layer, rows.pages.stream, rows.ratio}, rows.pages.spans);
}

Status DeviceLatentAttention::Compress(const compute::Compression& compression) {
  const Inputs inputs = {
      .pages = {compression.pages.layer, compression.input_stream, compression.pages.spans},
      .ratio = compression.ratio,
      .overlaps = compression.overlaps,
      .dim = static_cast<uint32_t>(compression.format.dim),
      .values = compression.values,
      .scores = compression.scores,
      .places = compression.places};
  TRY(WriteInputs(inputs));
  const std::vector<PooledRow> rows = CompletedRows(inputs, /*in_place=*/false);
  if (rows.empty()) return Ok();
  const uint64_t bytes = rows.size() * inputs.dim * sizeof(float);
  const MadeRows made = {{TRY(batch_.ScratchMemory(Scratch::kMadeRows, bytes)), bytes},
                         static_cast<uint32_t>(rows.size())};
  TRY(PoolInto(inputs, rows, made.range, inputs.dim));
  return FinishMade(compression, made);
}

// Writes each row in the place of the token that completes it, and zeros elsewhere.
Status DeviceLatentAttention::Pool(const compute::RowPooling& pooling) {
  const Inputs inputs = {.pages = pooling.pages,
                         .ratio = pooling.ratio,
                         .overlaps = false,
                         .dim = static_cast<uint32_t>(pooling.out.columns),
                         .values = pooling.values,
                         .scores = pooling.scores,
                         .places = {}};
  TRY(WriteInputs(inputs));
  const Range out = RangeOf(pooling.out);
  batch_.Using({}, {out}).Clear(BufferOf(pooling.out), pooling.out.offset, out.bytes);
  const std::vector<PooledRow> rows = CompletedRows(inputs, /*in_place=*/true);
  if (rows.empty()) return Ok();
  return PoolInto(inputs, rows, out, static_cast<uint32_t>(pooling.out.stride));
}

// Writes the inputs of rows that are complete now or later.
Status DeviceLatentAttention::WriteInputs(const Inputs& inputs) {
  const Destination to =
      RunsOf({inputs.pages.layer, inputs.pages.stream, 1}, inputs.pages.spans, false);
  if (to.runs.empty()) return Ok();
  const Address pages = TRY(batch_.Put(to.pages));
  const Address runs = TRY(batch_.Put(to.runs));
  return RecordWriteInputs(
      kernels_,
      batch_.Using({RangeOf(inputs.values), RangeOf(inputs.scores), RangeOf(inputs.places)},
                   {Batch::kPages}),
      {.values = AddressOf(inputs.values),
       .value_stride = static_cast<uint32_t>(inputs.values.stride),
       .scores = AddressOf(inputs.scores),
       .score_stride = static_cast<uint32_t>(inputs.scores.stride),
       .places = AddressOf(inputs.places),
       .ratio = inputs.ratio,
       .columns = inputs.columns(),
       .page_table = pages,
       .runs = runs,
       .run_count = static_cast<uint32_t>(to.runs.size()),
       .longest_run = to.longest_run});
}

// The rows that the batch completes, with pages as PoolInto lists them.
std::vector<PooledRow> DeviceLatentAttention::CompletedRows(const Inputs& inputs, bool in_place) {
  std::vector<PooledRow> rows;
  uint32_t table = 0;
  for (const PageSpan& span : inputs.pages.spans) {
    const Completed completed = CompletedBy(span, inputs.ratio);
    if (completed.begin == completed.end) continue;
    const uint32_t first_page = inputs.First(completed.begin) / kPagePositions;
    for (uint32_t row = completed.begin; row < completed.end; ++row) {
      const uint32_t first = inputs.First(row), own = row * inputs.ratio;
      const uint32_t place = in_place ? span.first_row + own + inputs.ratio - 1 - span.position
                                      : static_cast<uint32_t>(rows.size());
      rows.push_back({first, own - first, own - first + inputs.ratio,
                      table + first / kPagePositions - first_page, place});
    }
    table += DivideRoundingUp(completed.end * inputs.ratio, kPagePositions) - first_page;
  }
  return rows;
}

// Computes the weighted mean of each row's tokens.
Status DeviceLatentAttention::PoolInto(const Inputs& inputs, std::span<const PooledRow> rows,
                                       const Range& out, uint32_t out_stride) {
  const Stream stream = {inputs.pages.layer, inputs.pages.stream, 1};
  std::vector<uint64_t> pages;
  for (const PageSpan& span : inputs.pages.spans) {
    const Completed completed = CompletedBy(span, inputs.ratio);
    if (completed.begin == completed.end) continue;
    const uint32_t end_page = PagesFor(completed.end * inputs.ratio, stream);
    AddPages(stream, span, inputs.First(completed.begin) / kPagePositions, end_page, end_page,
             pages);
  }
  const Address page_table = TRY(batch_.Put(pages));
  const Address row_table = TRY(batch_.Put(rows));
  return RecordPool(kernels_, batch_.Using({Batch::kPages}, {out}),
                    {.page_table = page_table,
                     .rows = row_table,
                     .row_count = static_cast<uint32_t>(rows.size()),
                     .dim = inputs.dim,
                     .columns = inputs.columns(),
                     .result = out.begin,
                     .result_stride = out_stride});
}

// Norms the rows, applies RoPE for the position of their first own token, packs and writes them.
Status DeviceLatentAttention::FinishMade(const compute::Compression& compression,
                                         const MadeRows& made) {
  const auto dim = static_cast<uint32_t>(compression.format.dim);
  TRY(RecordRmsNorm(kernels_, batch_.Using({made.range, RangeOf(compression.norm)}, {made.range}),
                    {.x = made.range.begin,
                     .x_stride = dim,
                     .rows = made.rows,
                     .count = dim,
                     .weight = AddressOf(compression.norm),
                     .epsilon = compression.epsilon,
                     .y = made.range.begin,
                     .y_stride = dim}));
  TRY(RotateCompressed(compression, made));
  if (compression.is_spread) {
    TRY(RecordHadamard(kernels_, batch_.Using({made.range}, {made.range}), made.range.begin, dim,
                       made.rows, dim));
  }
  const Range packed =
      TRY(Encode(compression.format, made.range.begin, made.range, dim, made.rows));
  return WritePacked(compression.format, {packed, 0},
                     {compression.pages.layer, compression.pages.stream, compression.ratio},
                     compression.pages.spans);
}

Status DeviceLatentAttention::RotateCompressed(const compute::Compression& compression,
                                               const MadeRows& made) {
  const size_t pairs = compression.frequencies.size();
  if (pairs == 0) return Ok();
  std::vector<float> cosines(made.rows * pairs), sines(made.rows * pairs);
  size_t row = 0;
  for (const PageSpan& span : compression.pages.spans) {
    const Completed completed = CompletedBy(span, compression.ratio);
    for (uint32_t index = completed.begin; index < completed.end; ++index, ++row) {
      kernels::RopeAngles(compression.frequencies.data(), pairs, 1.0,
                          int64_t{index} * compression.ratio, cosines.data() + row * pairs,
                          sines.data() + row * pairs);
    }
  }
  const auto dim = static_cast<uint32_t>(compression.format.dim);
  const Address cosine_table = TRY(batch_.Put(cosines));
  const Address sine_table = TRY(batch_.Put(sines));
  return RecordRope(kernels_, batch_.Using({made.range}, {made.range}),
                    {.x = made.range.begin + (dim - 2 * pairs) * sizeof(float),
                     .stride = dim,
                     .rows = made.rows,
                     .rows_of_token = 1,
                     .pairs = static_cast<uint32_t>(pairs),
                     .cosines = cosine_table,
                     .sines = sine_table,
                     .layout = kernels::RopeLayout::kAdjacent});
}

Status DeviceLatentAttention::RoundRows(const kernels::LatentFormat& format,
                                        const compute::Tensor& rows) {
  const auto count = static_cast<uint32_t>(rows.rows);
  const auto stride = static_cast<uint32_t>(rows.stride);
  const Range packed = TRY(Encode(format, AddressOf(rows), RangeOf(rows), stride, count));
  return RecordDecodeLatent(kernels_, batch_.Using({packed}, {RangeOf(rows)}),
                            {.format = format,
                             .packed = packed.begin,
                             .rows = count,
                             .y = AddressOf(rows),
                             .stride = stride});
}

// Ranks rows for the tokens with more rows than they may see, as many tokens at a time as there is
// room for their scores.
Status DeviceLatentAttention::Rank(const compute::RowRanking& ranking) {
  const Stream stream = {ranking.pages.layer, ranking.pages.stream, ranking.ratio};
  std::vector<uint64_t> pages;
  std::vector<RankTask> tasks;
  for (const PageSpan& span : ranking.pages.spans) {
    const uint32_t most_rows = (span.position + span.count) / ranking.ratio;
    if (span.count == 0 || most_rows <= ranking.top) continue;
    const auto table = static_cast<uint32_t>(pages.size());
    const uint32_t end_page = PagesFor(most_rows, stream);
    AddPages(stream, span, 0, end_page, end_page, pages);
    for (uint32_t token = 0; token < span.count; ++token) {
      const uint32_t rows = (span.position + token + 1) / ranking.ratio;
      if (rows > ranking.top)
        tasks.push_back(TaskOf(ranking.blocks, span.first_row + token, rows, table));
    }
  }
  const Address page_table = TRY(batch_.Put(pages));
  size_t begin = 0;
  uint64_t scores = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i > begin && (scores + tasks[i].rows > kMostScores || i - begin == kRowGroups)) {
      TRY(RankTasks(ranking, page_table, std::span(tasks).subspan(begin, i - begin)));
      begin = i;
      scores = 0;
    }
    tasks[i].first_score = static_cast<uint32_t>(scores);
    scores += tasks[i].rows;
  }
  if (begin == tasks.size()) return Ok();
  return RankTasks(ranking, page_table, std::span(tasks).subspan(begin));
}

Status DeviceLatentAttention::RankTasks(const compute::RowRanking& ranking, Address pages,
                                        std::span<const RankTask> tasks) {
  uint32_t most_rows = 0;
  for (const RankTask& task : tasks) most_rows = std::max(most_rows, task.rows);
  const uint64_t bytes = (uint64_t{tasks.back().first_score} + tasks.back().rows) * sizeof(float);
  const Range scores = {TRY(batch_.ScratchMemory(Scratch::kRanks, bytes)), bytes};
  const RankJob job = {.format = ranking.format,
                       .queries = AddressOf(ranking.queries),
                       .query_stride = static_cast<uint32_t>(ranking.queries.stride),
                       .weights = AddressOf(ranking.weights),
                       .weight_stride = static_cast<uint32_t>(ranking.weights.stride),
                       .heads = static_cast<uint32_t>(ranking.heads),
                       .page_table = pages,
                       .rows_of_page = kPagePositions / ranking.ratio,
                       .tasks = TRY(batch_.Put(tasks)),
                       .task_count = static_cast<uint32_t>(tasks.size()),
                       .most_rows = most_rows,
                       .scores = scores.begin,
                       .top = ranking.top,
                       .chosen = AddressOf(ranking.chosen),
                       .chosen_stride = static_cast<uint32_t>(ranking.chosen.stride),
                       .blocks = BlocksOf(ranking.blocks)};
  const Range blocks = RangeOf(ranking.blocks.chosen);
  TRY(RecordRankRows(
      kernels_,
      batch_.Using({RangeOf(ranking.queries), RangeOf(ranking.weights), blocks, Batch::kPages},
                   {scores}),
      job));
  TRY(RecordSelectRows(kernels_, batch_.Using({scores, blocks}, {RangeOf(ranking.chosen)}), job));
  return ranking.blocks.is_made ? ChooseBlocks(ranking, scores, tasks) : Ok();
}

// Chooses blocks, for those of the tasks with more blocks than may be chosen, by the best row of
// each. The newest block is always chosen.
Status DeviceLatentAttention::ChooseBlocks(const compute::RowRanking& ranking, const Range& scores,
                                           std::span<const RankTask> tasks) {
  const compute::RowRanking::Blocks& blocks = ranking.blocks;
  std::vector<RankTask> of_blocks;
  uint32_t all = 0, most = 0;
  for (const RankTask& task : tasks) {
    const uint32_t last = (task.rows - 1) / blocks.rows;
    if (last < blocks.top) continue;
    of_blocks.push_back({task.row, last, all, task.first_score});
    all += last;
    most = std::max(most, last);
  }
  if (of_blocks.empty()) return Ok();
  const uint64_t bytes = uint64_t{all} * sizeof(float);
  const Range best = {TRY(batch_.ScratchMemory(Scratch::kBlockRanks, bytes)), bytes};
  const BlockJob job = {.scores = scores.begin,
                        .tasks = TRY(batch_.Put(of_blocks)),
                        .task_count = static_cast<uint32_t>(of_blocks.size()),
                        .most_blocks = most,
                        .best = best.begin,
                        .top = blocks.top,
                        .blocks = BlocksOf(blocks)};
  TRY(RecordBestOfBlocks(kernels_, batch_.Using({scores}, {best}), job));
  return RecordSelectBlocks(kernels_, batch_.Using({best}, {RangeOf(blocks.chosen)}), job);
}

Status DeviceLatentAttention::Attend(const compute::RowAttention& attention) {
  CHECK(IsDense(attention.queries) && IsDense(attention.out));
  SeenRows seen;
  seen.tokens.resize(attention.queries.rows);
  for (const PageSpan& span : attention.pages.spans) {
    if (span.count > 0) AddSeen(attention, span, seen);
  }
  const Address page_table = TRY(batch_.Put(seen.pages));
  const Address tokens = TRY(batch_.Put(seen.tokens));
  return RecordAttendLatent(
      kernels_,
      batch_.Using({RangeOf(attention.queries), RangeOf(attention.chosen), RangeOf(attention.sinks),
                    Batch::kPages},
                   {RangeOf(attention.out)}),
      {.format = attention.format,
       .compressed_format = attention.compressed_format,
       .page_table = page_table,
       .tokens = tokens,
       .token_count = static_cast<uint32_t>(seen.tokens.size()),
       .chosen = AddressOf(attention.chosen),
       .chosen_stride = static_cast<uint32_t>(attention.chosen.stride),
       .compressed_rows_of_page = kPagePositions / std::max(attention.ratio, 1u),
       .queries = AddressOf(attention.queries),
       .heads = static_cast<uint32_t>(attention.head_count),
       .factor = kernels::QueryFactor(attention.scale),
       .sinks = AddressOf(attention.sinks),
       .result = AddressOf(attention.out)});
}

}  // namespace aster::vulkan
