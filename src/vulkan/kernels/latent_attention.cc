// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/latent_attention.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "vulkan/kernels/latent_rows.h"

namespace aster::vulkan {
namespace {

// Floats of rows or queries in a workgroup's shared memory: 16 KiB, half of the required minimum.
constexpr uint32_t kMostSharedFloats = 4096;
// Rows of a workgroup of rank_rows.comp, which has sixteen invocations for each.
constexpr uint32_t kMostRankedRows = 16;
constexpr uint32_t kBlockInvocations = 64;  // of best_of_blocks.comp
constexpr uint32_t kMostHeads = 8;          // of a workgroup of attend_latent.comp
// Fewer heads share a workgroup if there would be fewer workgroups than this, which keeps a large
// GPU busy.
constexpr uint32_t kWantedGroups = 512;

struct RankPush {
  Address queries;
  Address weights;
  Address page_table;
  Address tasks;
  Address scores;
  Address blocks;
  uint32_t query_stride;
  uint32_t weight_stride;
  uint32_t heads;
  uint32_t row_bytes;
  uint32_t rows_of_page;
  uint32_t unrotated;
  uint32_t block_stride;
  uint32_t block_rows;
};

struct SelectPush {
  Address scores;
  Address tasks;
  Address chosen;
  Address blocks;
  uint32_t top;
  uint32_t stride;
  uint32_t block_stride;
  uint32_t block_rows;
};

struct BestPush {
  Address scores;
  Address tasks;
  Address best;
  uint32_t block_rows;
};

struct AttendLatentPush {
  Address page_table;
  Address tokens;
  Address chosen;
  Address queries;
  Address sinks;
  Address result;
  uint32_t heads;
  float factor;
  uint32_t row_bytes;
  uint32_t unrotated;
  uint32_t compressed_rows_of_page;
  uint32_t chosen_stride;
  uint32_t compressed_row_bytes;
  uint32_t compressed_unrotated;
};

uint32_t FittingRows(uint32_t dim, uint32_t most) {
  return std::bit_floor(std::min(most, kMostSharedFloats / dim));
}

// One if an fma is made of integers, since a driver compiles each of them separately.
uint32_t HeadsTogether(const Kernels& kernels, const AttendLatentJob& job, uint32_t dim) {
  if (!kernels.arithmetic().native_fma) return 1;
  const uint32_t all = job.token_count * job.heads;
  return std::min(FittingRows(dim, kMostHeads), std::bit_floor(std::max(all / kWantedGroups, 1u)));
}

}  // namespace

Status RecordRankRows(Kernels& kernels, Commands& commands, const RankJob& job) {
  CHECK(job.task_count <= kRowGroups);
  const auto dim = static_cast<uint32_t>(job.format.dim);
  const RankPush push{job.queries,       job.weights,
                      job.page_table,    job.tasks,
                      job.scores,        Readable(job.blocks.chosen, job.queries),
                      job.query_stride,  job.weight_stride,
                      job.heads,         RowBytes(job.format),
                      job.rows_of_page,  static_cast<uint32_t>(job.format.unrotated),
                      job.blocks.stride, job.blocks.rows};
  const uint32_t rows = FittingRows(dim, kMostRankedRows);
  return kernels.Record(commands, "rank_rows", {static_cast<uint32_t>(job.format.type), dim, rows},
                        push, {.x = DivideRoundingUp(job.most_rows, rows), .y = job.task_count});
}

Status RecordSelectRows(Kernels& kernels, Commands& commands, const RankJob& job) {
  const SelectPush push{
      job.scores, job.tasks,         job.chosen,        Readable(job.blocks.chosen, job.scores),
      job.top,    job.chosen_stride, job.blocks.stride, job.blocks.rows};
  return kernels.Record(commands, "select_rows", {0}, push, {.x = job.task_count});
}

Status RecordBestOfBlocks(Kernels& kernels, Commands& commands, const BlockJob& job) {
  CHECK(job.task_count <= kRowGroups);
  const BestPush push{job.scores, job.tasks, job.best, job.blocks.rows};
  return kernels.Record(
      commands, "best_of_blocks", {}, push,
      {.x = DivideRoundingUp(job.most_blocks, kBlockInvocations), .y = job.task_count});
}

Status RecordSelectBlocks(Kernels& kernels, Commands& commands, const BlockJob& job) {
  const SelectPush push{
      job.best, job.tasks, job.blocks.chosen, job.best, job.top - 1, job.blocks.stride, 0, 1};
  return kernels.Record(commands, "select_rows", {1}, push, {.x = job.task_count});
}

Status RecordAttendLatent(Kernels& kernels, Commands& commands, const AttendLatentJob& job) {
  CHECK(job.token_count <= kRowGroups);
  const auto dim = static_cast<uint32_t>(job.format.dim);
  const AttendLatentPush push{job.page_table,
                              job.tokens,
                              job.chosen,
                              job.queries,
                              job.sinks,
                              job.result,
                              job.heads,
                              job.factor,
                              RowBytes(job.format),
                              static_cast<uint32_t>(job.format.unrotated),
                              job.compressed_rows_of_page,
                              job.chosen_stride,
                              RowBytes(job.compressed_format),
                              static_cast<uint32_t>(job.compressed_format.unrotated)};
  const uint32_t heads = HeadsTogether(kernels, job, dim);
  return kernels.Record(commands, "attend_latent",
                        {static_cast<uint32_t>(job.format.type), dim, heads,
                         static_cast<uint32_t>(job.compressed_format.type)},
                        push, {.x = job.token_count, .y = DivideRoundingUp(job.heads, heads)});
}

}  // namespace aster::vulkan
