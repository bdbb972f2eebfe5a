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

// Scores that are held at a time: 16 MiB of them.
constexpr uint64_t kMostScores = uint64_t{4} << 20;

// Adds the addresses of pages [begin, end); those from `written` on are to be written.
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

// The first token that row `index` is made of.
uint32_t FirstInput(const compute::Compression& compression, uint32_t index) {
  const uint32_t first = index * compression.ratio;
  return compression.overlaps && index > 0 ? first - compression.ratio : first;
}

// Rows of a stream on their way into their pages.
struct Destination {
  std::vector<uint64_t> pages;
  std::vector<RowRun> runs;
  uint32_t longest_run = 0;
};

// The rows that the spans complete. Where rows stand for one token each, they come from the batch's
// rows; else they stand one after the other.
Destination RunsOf(const Stream& stream, std::span<const PageSpan> spans) {
  Destination to;
  uint32_t made = 0;
  for (const PageSpan& span : spans) {
    const Completed rows = CompletedBy(span, stream.ratio);
    const uint32_t count = rows.end - rows.begin;
    if (count == 0) continue;
    const uint32_t first_page = rows.begin / stream.rows_of_page();
    to.runs.push_back({stream.ratio == 1 ? span.first_row : made, count, rows.begin,
                       static_cast<uint32_t>(to.pages.size())});
    to.longest_run = std::max(to.longest_run, count);
    AddPages(stream, span, first_page, PagesFor(rows.end, stream), first_page, to.pages);
    made += count;
  }
  return to;
}

uint32_t ColumnsOf(const compute::Compression& compression) {
  const auto dim = static_cast<uint32_t>(compression.format.dim);
  return compression.overlaps ? 2 * dim : dim;
}

// What tokens see, and the pages of it.
struct SeenRows {
  std::vector<uint64_t> pages;
  std::vector<LatentToken> tokens;
};

// The pages of a span's windows, then those of its compressed rows.
void AddSeen(const compute::RowAttention& attention, const PageSpan& span, SeenRows& seen) {
  const Stream window = {attention.pages.layer, attention.pages.stream, 1};
  const Stream far = {attention.pages.layer, attention.far_stream, std::max(attention.ratio, 1u)};
  const auto far_rows = [&](uint32_t end) {
    return attention.ratio == 0 ? 0 : end / attention.ratio;
  };
  const uint32_t end = span.position + span.count;
  const uint32_t begin = span.position + 1 - std::min(span.position + 1, attention.window);
  const uint32_t first_page = begin / kPagePositions, end_page = PagesFor(end, window);
  const uint32_t window_table = static_cast<uint32_t>(seen.pages.size()) - first_page;
  AddPages(window, span, first_page, end_page, end_page, seen.pages);
  const auto far_table = static_cast<uint32_t>(seen.pages.size());
  const uint32_t far_pages = PagesFor(far_rows(end), far);
  AddPages(far, span, 0, far_pages, far_pages, seen.pages);
  for (uint32_t i = 0; i < span.count; ++i) {
    const uint32_t past = span.position + i + 1;
    const bool is_chosen = !attention.chosen.empty() && far_rows(past) > attention.top;
    seen.tokens[span.first_row + i] = {.begin = past - std::min(past, attention.window),
                                       .window = std::min(past, attention.window),
                                       .window_table = window_table,
                                       .far = is_chosen ? attention.top : far_rows(past),
                                       .far_table = far_table,
                                       .is_chosen = is_chosen ? 1u : 0u};
  }
}

}  // namespace

Result<Range> DeviceLatentAttention::Encode(const kernels::LatentFormat& format, Address rows,
                                            const Range& range, uint32_t stride, uint32_t count) {
  const uint64_t bytes = uint64_t{count} * RowWords(format) * sizeof(uint32_t);
  const Range packed = {TRY(batch_.ScratchMemory(Scratch::kPackedRows, bytes)), bytes};
  TRY(RecordEncodeLatent(
      kernels_, batch_.Using({range}, {packed}),
      {.format = format, .x = rows, .stride = stride, .rows = count, .packed = packed.begin}));
  return packed;
}

Status DeviceLatentAttention::WritePacked(const kernels::LatentFormat& format, const Range& packed,
                                          const Stream& stream, std::span<const PageSpan> spans) {
  const Destination to = RunsOf(stream, spans);
  if (to.runs.empty()) return Ok();
  const Address pages = TRY(batch_.Put(to.pages));
  const Address runs = TRY(batch_.Put(to.runs));
  return RecordWriteLatent(kernels_, batch_.Using({packed}, {Batch::kPages}),
                           {.format = format,
                            .packed = packed.begin,
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
  return WritePacked(rows.format, packed, {rows.pages.layer, rows.pages.stream, 1},
                     rows.pages.spans);
}

Status DeviceLatentAttention::Compress(const compute::Compression& compression) {
  TRY(WriteInputs(compression));
  const MadeRows made = TRY(Pool(compression));
  return made.rows == 0 ? Ok() : FinishMade(compression, made);
}

// What rows are made of, now or with later tokens.
Status DeviceLatentAttention::WriteInputs(const compute::Compression& compression) {
  const Destination to =
      RunsOf({compression.pages.layer, compression.input_stream, 1}, compression.pages.spans);
  if (to.runs.empty()) return Ok();
  const Address pages = TRY(batch_.Put(to.pages));
  const Address runs = TRY(batch_.Put(to.runs));
  return RecordWriteInputs(kernels_,
                           batch_.Using({RangeOf(compression.values), RangeOf(compression.scores),
                                         RangeOf(compression.places)},
                                        {Batch::kPages}),
                           {.values = AddressOf(compression.values),
                            .value_stride = static_cast<uint32_t>(compression.values.stride),
                            .scores = AddressOf(compression.scores),
                            .score_stride = static_cast<uint32_t>(compression.scores.stride),
                            .places = AddressOf(compression.places),
                            .ratio = compression.ratio,
                            .columns = ColumnsOf(compression),
                            .page_table = pages,
                            .runs = runs,
                            .run_count = static_cast<uint32_t>(to.runs.size()),
                            .longest_run = to.longest_run});
}

// The means of the tokens of every row that is complete.
Result<DeviceLatentAttention::MadeRows> DeviceLatentAttention::Pool(
    const compute::Compression& compression) {
  const Stream stream = {compression.pages.layer, compression.input_stream, 1};
  std::vector<uint64_t> pages;
  std::vector<PooledRow> rows;
  for (const PageSpan& span : compression.pages.spans) {
    const Completed completed = CompletedBy(span, compression.ratio);
    if (completed.begin == completed.end) continue;
    const uint32_t first_page = FirstInput(compression, completed.begin) / kPagePositions;
    const auto table = static_cast<uint32_t>(pages.size());
    for (uint32_t row = completed.begin; row < completed.end; ++row) {
      const uint32_t first = FirstInput(compression, row);
      const uint32_t before = row * compression.ratio - first;
      rows.push_back(
          {first, before, before + compression.ratio, table + first / kPagePositions - first_page});
    }
    const uint32_t end_page = PagesFor(completed.end * compression.ratio, stream);
    AddPages(stream, span, first_page, end_page, end_page, pages);
  }
  const auto dim = static_cast<uint32_t>(compression.format.dim);
  const auto count = static_cast<uint32_t>(rows.size());
  if (count == 0) return MadeRows{{}, 0};
  const uint64_t bytes = uint64_t{count} * dim * sizeof(float);
  const MadeRows made = {{TRY(batch_.ScratchMemory(Scratch::kMadeRows, bytes)), bytes}, count};
  const Address page_table = TRY(batch_.Put(pages));
  const Address row_table = TRY(batch_.Put(rows));
  TRY(RecordPool(kernels_, batch_.Using({Batch::kPages}, {made.range}),
                 {.page_table = page_table,
                  .rows = row_table,
                  .row_count = count,
                  .dim = dim,
                  .columns = ColumnsOf(compression),
                  .result = made.range.begin}));
  return made;
}

// Normed, turned to the position of the first of their own tokens, packed, and written.
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
  TRY(TurnMade(compression, made));
  if (compression.is_spread) {
    TRY(RecordHadamard(kernels_, batch_.Using({made.range}, {made.range}), made.range.begin, dim,
                       made.rows, dim));
  }
  const Range packed =
      TRY(Encode(compression.format, made.range.begin, made.range, dim, made.rows));
  return WritePacked(compression.format, packed,
                     {compression.pages.layer, compression.pages.stream, compression.ratio},
                     compression.pages.spans);
}

Status DeviceLatentAttention::TurnMade(const compute::Compression& compression,
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

// Tokens with more rows than they may see, as many at a time as there is room for their scores.
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
      if (rows > ranking.top) tasks.push_back({span.first_row + token, rows, 0, table});
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
                       .chosen_stride = static_cast<uint32_t>(ranking.chosen.stride)};
  TRY(RecordRankRows(
      kernels_,
      batch_.Using({RangeOf(ranking.queries), RangeOf(ranking.weights), Batch::kPages}, {scores}),
      job));
  return RecordSelectRows(kernels_, batch_.Using({scores}, {RangeOf(ranking.chosen)}), job);
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
  return RecordAttendLatent(kernels_,
                            batch_.Using({RangeOf(attention.queries), RangeOf(attention.chosen),
                                          RangeOf(attention.sinks), Batch::kPages},
                                         {RangeOf(attention.out)}),
                            {.format = attention.format,
                             .page_table = page_table,
                             .tokens = tokens,
                             .token_count = static_cast<uint32_t>(seen.tokens.size()),
                             .chosen = AddressOf(attention.chosen),
                             .chosen_stride = static_cast<uint32_t>(attention.chosen.stride),
                             .far_rows_of_page = kPagePositions / std::max(attention.ratio, 1u),
                             .queries = AddressOf(attention.queries),
                             .heads = static_cast<uint32_t>(attention.head_count),
                             .factor = kernels::QueryFactor(attention.scale),
                             .sinks = AddressOf(attention.sinks),
                             .result = AddressOf(attention.out)});
}

}  // namespace aster::vulkan
