// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_shared.h"

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/key_gate.h"
#include "kernels/ops.h"
#include "vulkan/check/latent_pages.h"
#include "vulkan/kernels/latent_attention.h"
#include "vulkan/kernels/rows.h"
#include "vulkan/kernels/streams.h"

namespace aster::vulkan {
namespace {

constexpr uint32_t kTokens = 2;
constexpr uint32_t kRowsOfPage = 32;

std::vector<uint32_t> Largest(std::span<const float> scores, uint32_t wanted) {
  std::vector<uint32_t> order(scores.size()), chosen(wanted);
  kernels::SelectLargest(scores.data(), scores.size(), wanted, order.data(), chosen.data());
  return chosen;
}

// Rows of an index, and the queries of two tokens.
struct RankedRows {
  RankedRows(const BlockRankSize& of, uint64_t seed);

  std::vector<float> Ranks(uint32_t token, std::span<const uint32_t> numbers);
  // The best score of every block but the newest.
  std::vector<float> BestOfBlocks(std::span<const float> scores) const;
  // Numbers of the rows of given blocks; rows that do not exist count as the newest one.
  std::vector<uint32_t> RowsOf(std::span<const float> blocks) const;

  uint32_t dim() const { return static_cast<uint32_t>(size.format.dim); }
  uint32_t last_block() const { return (size.rows - 1) / size.block_rows; }

  const BlockRankSize size;
  RowPages pages;
  std::vector<float> queries;  // [tokens][heads][dim]
  std::vector<float> weights;  // [tokens][heads]
};

RankedRows::RankedRows(const BlockRankSize& of, uint64_t seed)
    : size(of),
      pages(PagesOfRows(of.format, kRowsOfPage, of.rows, seed)),
      queries(CheckFloats(size_t{kTokens} * of.heads * static_cast<size_t>(of.format.dim),
                          CheckValues::kOrdinary, seed + 1)),
      weights(CheckFloats(size_t{kTokens} * of.heads, CheckValues::kOrdinary, seed + 2)) {
  // Some of the first rows are equal, and one is NaN.
  MakeRowsEqual(of.format, std::min(of.rows, 24u), pages);
}

std::vector<float> RankedRows::Ranks(uint32_t token, std::span<const uint32_t> numbers) {
  std::vector<const uint8_t*> rows;
  for (const uint32_t number : numbers) rows.push_back(pages.row(number));
  return ReferenceRanks(size.format, rows, queries.data() + size_t{token} * size.heads * dim(),
                        weights.data() + size_t{token} * size.heads, size.heads);
}

std::vector<float> RankedRows::BestOfBlocks(std::span<const float> scores) const {
  std::vector<float> best(last_block(), -kCheckInfinity);
  for (uint32_t row = 0; row < last_block() * size.block_rows; ++row)
    best[row / size.block_rows] = std::max(best[row / size.block_rows], scores[row]);
  return best;
}

std::vector<uint32_t> RankedRows::RowsOf(std::span<const float> blocks) const {
  const uint32_t of_newest = size.rows - last_block() * size.block_rows;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < (size.top_blocks - 1) * size.block_rows + of_newest; ++i) {
    const float block = blocks[i / size.block_rows];
    const bool is_there = block >= 0.0f && block <= static_cast<float>(last_block());
    const uint32_t first =
        (is_there ? static_cast<uint32_t>(block) : last_block()) * size.block_rows;
    numbers.push_back(std::min(first + i % size.block_rows, size.rows - 1));
  }
  return numbers;
}

// The reference's results for both tokens.
struct RankedReference {
  std::vector<float> ranks;  // of the first token's rows, then of the second's
  std::vector<uint32_t> chosen;
  std::vector<float> best;    // of the first token's blocks
  std::vector<float> blocks;  // that it chooses
  std::vector<float> given;   // that the second token has to choose from
  std::vector<RankTask> tasks;
};

RankedReference ReferenceOf(RankedRows& of) {
  const BlockRankSize& size = of.size;
  RankedReference want;
  std::vector<uint32_t> all(size.rows);
  for (uint32_t row = 0; row < size.rows; ++row) all[row] = row;
  want.ranks = of.Ranks(0, all);
  want.chosen = Largest(want.ranks, size.top);
  want.best = of.BestOfBlocks(want.ranks);
  for (const uint32_t block : Largest(want.best, size.top_blocks - 1))
    want.blocks.push_back(static_cast<float>(block));
  want.blocks.push_back(static_cast<float>(of.last_block()));
  want.given = want.blocks;
  want.given[0] = std::numeric_limits<float>::quiet_NaN();
  want.given[1] = static_cast<float>(of.last_block() + 1);
  const std::vector<uint32_t> numbers = of.RowsOf(want.given);
  const std::vector<float> ranks = of.Ranks(1, numbers);
  for (const uint32_t i : Largest(ranks, size.top)) want.chosen.push_back(numbers[i]);
  want.ranks.insert(want.ranks.end(), ranks.begin(), ranks.end());
  want.tasks = {{0, size.rows, 0, 0},
                {1, static_cast<uint32_t>(numbers.size()), size.rows, 0, size.rows}};
  return want;
}

}  // namespace

Status CheckBlockRanks(Workbench& bench, const BlockRankSize& size, uint64_t seed) {
  RankedRows of(size, seed);
  const auto [ranks, want_chosen, best, want_blocks, given, tasks] = ReferenceOf(of);
  const Buffer page_buffer = TRY(bench.Put(of.pages.words()));
  const Buffer table = TRY(bench.Put(of.pages.Table(page_buffer)));
  const Buffer task_buffer = TRY(bench.Put(tasks));
  const Buffer block_task = TRY(bench.Put(std::vector<RankTask>{{0, of.last_block(), 0, 0}}));
  const Buffer query_buffer = TRY(bench.Put(of.queries));
  const Buffer weight_buffer = TRY(bench.Put(of.weights));
  std::vector<float> blocks(given.size());
  blocks.insert(blocks.end(), given.begin(), given.end());
  const Buffer block_buffer = TRY(bench.Put(blocks));
  const Buffer scores = TRY(bench.Room(ranks.size() * sizeof(float)));
  const Buffer best_buffer = TRY(bench.Room(best.size() * sizeof(float)));
  const Buffer chosen = TRY(bench.Room(want_chosen.size() * sizeof(uint32_t)));
  const RankedBlocks ranked = {block_buffer.address(), size.top_blocks, size.block_rows};
  const RankJob job = {.format = size.format,
                       .queries = query_buffer.address(),
                       .query_stride = size.heads * of.dim(),
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
                       .chosen_stride = size.top,
                       .blocks = ranked};
  const BlockJob block_job = {.scores = scores.address(),
                              .tasks = block_task.address(),
                              .task_count = 1,
                              .most_blocks = of.last_block(),
                              .best = best_buffer.address(),
                              .top = size.top_blocks,
                              .blocks = ranked};
  TRY(bench.Run([&](Commands& commands) -> Status {
    TRY(RecordRankRows(bench.kernels(), commands, job));
    commands.Barrier();
    TRY(RecordSelectRows(bench.kernels(), commands, job));
    TRY(RecordBestOfBlocks(bench.kernels(), commands, block_job));
    commands.Barrier();
    return RecordSelectBlocks(bench.kernels(), commands, block_job);
  }));
  TRY(CompareFloats("ranks of rows of blocks", ranks, ContentOf<float>(scores, ranks.size())));
  TRY(CompareBytes("rows of blocks that rank highest", std::span<const uint32_t>(want_chosen),
                   chosen));
  TRY(CompareFloats("ranks of blocks", best, ContentOf<float>(best_buffer, best.size())));
  return CompareFloats("blocks that rank highest", want_blocks,
                       ContentOf<float>(block_buffer, want_blocks.size()));
}

Status CheckGateValues(Workbench& bench, uint32_t streams, uint32_t rows, uint32_t width,
                       CheckValues values, uint64_t seed) {
  constexpr float kEpsilon = 1e-6f;
  constexpr uint32_t kGap = 5;
  const uint32_t stride = streams * width + kGap, key_stride = (streams + 1) * width;
  std::vector<float> mixed = CheckFloats(size_t{rows} * stride, values, seed);
  const std::vector<float> keys = CheckFloats(size_t{rows} * key_stride, values, seed + 1);
  const std::vector<float> weights =
      CheckFloats(size_t{streams} * width, CheckValues::kOrdinary, seed + 2);
  const Buffer mixed_buffer = TRY(bench.Put(mixed));
  const Buffer key_buffer = TRY(bench.Put(keys));
  const Buffer weight_buffer = TRY(bench.Put(weights));
  TRY(bench.Run([&](Commands& commands) {
    return RecordGateValues(bench.kernels(), commands,
                            {.streams = mixed_buffer.address(),
                             .stream_stride = stride,
                             .keys = key_buffer.address(),
                             .key_stride = key_stride,
                             .weights = weight_buffer.address(),
                             .rows = rows,
                             .width = width,
                             .count = streams,
                             .epsilon = kEpsilon});
  }));
  const kernels::OpsTable& ops = kernels::kOpsRef;
  for (uint32_t row = 0; row < rows; ++row) {
    const float* const of_row = keys.data() + size_t{row} * key_stride;
    for (uint32_t stream = 0; stream < streams; ++stream) {
      const uint32_t first = stream * width;
      float* const to = mixed.data() + size_t{row} * stride + first;
      const float gate =
          kernels::KeyGate(ops, to, of_row + first, weights.data() + first, width, kEpsilon);
      ops.add_scaled(of_row + size_t{streams} * width, width, gate, to);
    }
  }
  return CompareFloats("values that keys gate", mixed,
                       ContentOf<float>(mixed_buffer, mixed.size()));
}

Status CheckCopyRows(Workbench& bench, uint32_t rows, uint32_t columns, uint64_t seed) {
  const uint32_t from_stride = columns + 3, to_stride = columns + 1;
  const std::vector<uint32_t> from = CheckWords(size_t{rows} * from_stride, seed);
  std::vector<uint32_t> to = CheckWords(size_t{rows} * to_stride, seed + 1);
  const Buffer from_buffer = TRY(bench.Put(from));
  const Buffer to_buffer = TRY(bench.Put(to));
  TRY(bench.Run([&](Commands& commands) {
    return RecordCopyRows(bench.kernels(), commands,
                          {.from = from_buffer.address(),
                           .from_stride = from_stride,
                           .rows = rows,
                           .columns = columns,
                           .to = to_buffer.address(),
                           .to_stride = to_stride});
  }));
  for (uint32_t row = 0; row < rows; ++row)
    std::copy_n(from.begin() + row * from_stride, columns, to.begin() + row * to_stride);
  return CompareBytes("rows with gaps", std::span<const uint32_t>(to), to_buffer);
}

}  // namespace aster::vulkan
