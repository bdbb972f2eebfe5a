// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "base/check.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::KvType;
using kernels::PageLayout;

constexpr uint32_t kInvocations = 128;  // of attend.comp
constexpr uint32_t kMostBlockRows = 32;
constexpr uint32_t kEmulatedBlockRows = 2;
// It keeps queries, weights and lanes of every row in shared memory, and the values in registers.
constexpr uint32_t kMostSharedFloats = 7168;
constexpr uint32_t kMostValuesOfInvocation = 32;

// attend_tiles.comp takes pages of F16 with blocks of kTileRows, and value rows in parts of
// kPartElements.
constexpr uint32_t kTileRows = 32;
constexpr uint32_t kPartElements = 64;
constexpr int kMostTileElements = 256;

// PageShape of page.glsl.
struct PageShape {
  explicit PageShape(const PageLayout& layout)
      : key_dim(static_cast<uint32_t>(layout.key_dim)),
        value_dim(static_cast<uint32_t>(layout.value_dim)),
        value_stride(static_cast<uint32_t>(layout.value_stride)),
        key_block_bytes(static_cast<uint32_t>(layout.key_block_bytes)),
        key_scales_offset(static_cast<uint32_t>(layout.key_scales_offset)),
        values_offset(static_cast<uint32_t>(layout.values_offset)),
        value_scales_offset(static_cast<uint32_t>(layout.value_scales_offset)) {}

  uint32_t key_dim;
  uint32_t value_dim;
  uint32_t value_stride;
  uint32_t key_block_bytes;
  uint32_t key_scales_offset;
  uint32_t values_offset;
  uint32_t value_scales_offset;
};

struct AttendPush {
  Address page_table;
  Address blocks;
  Address visible;
  Address queries;
  Address sinks;
  Address result;
  uint32_t heads;
  uint32_t token_stride;
  uint32_t head_stride;
  float factor;
  uint32_t head_page_bytes;
  uint32_t has_sinks;
  uint32_t out_token_stride;
  uint32_t out_head_stride;
  PageShape shape;
  float cap;
};

struct MergePush {
  Address blocks;
  Address page_results;
  Address sinks;
  Address result;
  uint32_t heads;
  uint32_t value_dim;
  uint32_t value_stride;
  uint32_t has_sinks;
  uint32_t out_token_stride;
  uint32_t out_head_stride;
};

struct WritePush {
  Address page_table;
  Address spans;
  Address keys;
  Address values;
  uint32_t key_stride;
  uint32_t value_stride;
  uint32_t head_page_bytes;
  PageShape shape;
  Address cosines;
  Address sines;
  uint32_t pairs;
  uint32_t unrotated;
  uint32_t adjacent;
};

std::string ShaderOf(const char* name, KvType type) { return std::string(name) + NameOfType(type); }

// How attend.comp divides a row of values among invocations: it reads whole words.
struct ValueShares {
  explicit ValueShares(const PageLayout& layout) {
    constexpr std::array<uint32_t, 4> kElements = {2, 1, 4, 1};  // of a word, by KvType
    word_elements = kElements[static_cast<size_t>(layout.type)];
    const uint32_t words = DivideRoundingUp(static_cast<uint32_t>(layout.value_dim), word_elements);
    columns = std::bit_ceil(std::min(words, kInvocations));
    words_of_invocation = DivideRoundingUp(words, columns);
  }
  // Registers for values of an invocation, if a block has this many rows.
  uint32_t Values(uint32_t rows) const {
    const uint32_t groups = kInvocations / columns;
    // A word of BF16 has an even and an odd chain.
    return words_of_invocation * std::max(2u, word_elements) * std::max(1u, rows / groups);
  }

  uint32_t word_elements;
  uint32_t columns;  // invocations of a row
  uint32_t words_of_invocation;
};

bool FitsTiles(const PageLayout& layout) {
  return layout.type == KvType::kF16 && layout.value_stride <= kMostTileElements;
}

// Whether attend_few.comp computes blocks of this size for such pages: it takes whole vectors of
// sixteen bytes, and keeps queries and weights in shared memory.
bool HasFewRows(const PageLayout& layout, uint32_t rows) {
  constexpr uint32_t kMostRows = 8;
  const bool values_fit =
      layout.value_dim <= 128 ? layout.value_dim % 16 == 0 : layout.value_dim % 32 == 0;
  return layout.type == KvType::kF16 && rows <= kMostRows && layout.key_dim % 16 == 0 &&
         layout.key_dim <= 256 && layout.value_dim <= 256 && values_fit;
}

uint32_t GroupsOf(int32_t dim) {
  return DivideRoundingUp(static_cast<uint32_t>(dim), kernels::kQ8Group);
}

// The floats of shared memory for a row, except for the few numbers that every row needs.
uint32_t SharedFloats(const PageLayout& layout) {
  constexpr uint32_t kWeightFloats = kernels::kPagePositions + 16;  // and lanes
  if (layout.type != KvType::kQ8Int) return static_cast<uint32_t>(layout.key_dim) + kWeightFloats;
  // Bytes and scales of queries, and both planes of weights for each group of elements.
  constexpr uint32_t kQueryFloats = kernels::kQ8Group / 4 + 1;
  constexpr uint32_t kPlaneFloats = 2 * kernels::kPagePositions / 4 + 1;
  return GroupsOf(layout.key_dim) * kQueryFloats + kWeightFloats +
         GroupsOf(layout.value_dim) * kPlaneFloats;
}

Status RecordAttention(Kernels& kernels, Commands& commands, const AttentionJob& job, bool split) {
  const PageLayout& layout = *job.layout;
  CHECK(job.block_count <= kRowGroups);
  CHECK(std::has_single_bit(job.block_rows) &&
        job.block_rows <= MostAttentionBlockRows(layout, job.cap > 0.0f));
  const AttendPush push{job.page_table,
                        job.blocks,
                        job.visible,
                        job.queries,
                        Readable(job.sinks, job.queries),
                        job.result,
                        job.heads,
                        job.token_stride,
                        job.head_stride,
                        job.factor,
                        static_cast<uint32_t>(layout.bytes),
                        job.sinks != 0 ? 1u : 0u,
                        job.out_token_stride,
                        job.out_head_stride,
                        PageShape(layout),
                        job.cap};
  const bool has_fma = kernels.arithmetic().native_fma;
  const bool has_cap = job.cap > 0.0f;
  if (job.block_rows == kTileRows && FitsTiles(layout) && !has_cap) {
    const uint32_t parts =
        DivideRoundingUp(static_cast<uint32_t>(layout.value_stride), kPartElements);
    return kernels.Record(commands, has_fma ? "attend_tiles" : "attend_tiles_emulated",
                          {static_cast<uint32_t>(layout.key_dim), parts, split ? 1u : 0u}, push,
                          {.x = job.block_count, .y = job.kv_heads});
  }
  const ValueShares shares(layout);
  const bool is_emulated = !has_fma && job.block_rows <= kEmulatedBlockRows;
  const char* const suffix = is_emulated ? "_emulated" : "";
  if (HasFewRows(layout, job.block_rows) && (has_fma || is_emulated) && !has_cap)
    return kernels.Record(commands, fmt::format("attend_few_f16_{}{}", job.block_rows, suffix),
                          {static_cast<uint32_t>(layout.key_dim),
                           static_cast<uint32_t>(layout.value_dim), split ? 1u : 0u},
                          push, {.x = job.block_count, .y = job.kv_heads});
  std::string shader =
      fmt::format("{}_{}{}", ShaderOf("attend_", layout.type), job.block_rows, suffix);
  if (layout.type == KvType::kQ8Int) {
    if (kernels.arithmetic().dot_products && !is_emulated) shader += "_dot";
    return kernels.Record(
        commands, shader,
        {static_cast<uint32_t>(layout.key_dim), shares.columns, shares.words_of_invocation,
         split ? 1u : 0u, has_cap ? 1u : 0u, GroupsOf(layout.value_dim)},
        push, {.x = job.block_count, .y = job.kv_heads});
  }
  return kernels.Record(commands, shader,
                        {static_cast<uint32_t>(layout.key_dim), shares.columns,
                         shares.words_of_invocation, split ? 1u : 0u, has_cap ? 1u : 0u},
                        push, {.x = job.block_count, .y = job.kv_heads});
}

}  // namespace

uint32_t MostAttentionBlockRows(const PageLayout& layout, bool has_cap) {
  if (FitsTiles(layout) && !has_cap) return kTileRows;
  uint32_t rows =
      std::bit_floor(std::min(kMostBlockRows, kMostSharedFloats / SharedFloats(layout)));
  if (layout.type == KvType::kF16) rows = std::min(rows, kTileRows / 2);  // of attend.comp
  while (rows > 1 && ValueShares(layout).Values(rows) > kMostValuesOfInvocation) rows /= 2;
  return rows;
}

uint32_t AttentionBlockRows(const PageLayout& layout, const Arithmetic& arithmetic, bool has_cap) {
  const uint32_t most = MostAttentionBlockRows(layout, has_cap);
  return arithmetic.native_fma ? most : std::min(most, kEmulatedBlockRows);
}

uint32_t AttentionResultFloats(const PageLayout& layout) {
  return 2 + static_cast<uint32_t>(layout.value_stride);
}

Status RecordAttend(Kernels& kernels, Commands& commands, const AttentionJob& job) {
  return RecordAttention(kernels, commands, job, false);
}

Status RecordAttendPages(Kernels& kernels, Commands& commands, const AttentionJob& job) {
  return RecordAttention(kernels, commands, job, true);
}

Status RecordMergePages(Kernels& kernels, Commands& commands, const AttentionJob& job,
                        Address page_results) {
  const PageLayout& layout = *job.layout;
  const MergePush push{job.blocks,
                       page_results,
                       Readable(job.sinks, job.queries),
                       job.result,
                       job.heads,
                       static_cast<uint32_t>(layout.value_dim),
                       static_cast<uint32_t>(layout.value_stride),
                       job.sinks != 0 ? 1u : 0u,
                       job.out_token_stride,
                       job.out_head_stride};
  const uint32_t words = DivideRoundingUp(static_cast<uint32_t>(layout.value_dim), kInvocations);
  return kernels.Record(commands, "merge_pages", {words}, push,
                        {.x = job.block_count, .y = job.kv_heads, .z = job.block_rows});
}

Status RecordWriteRows(Kernels& kernels, Commands& commands, const WriteRowsJob& job) {
  CHECK(job.span_count <= kRowGroups && job.longest_span > 0);
  const PageLayout& layout = *job.layout;
  RopeJob turn{};
  turn.x = job.keys;
  if (job.turn) turn = *job.turn;
  CHECK(!turn.inverse && turn.x >= job.keys);
  const WritePush push{job.page_table,
                       job.spans,
                       job.keys,
                       job.values,
                       job.key_stride,
                       job.value_stride,
                       static_cast<uint32_t>(layout.bytes),
                       PageShape(layout),
                       Readable(turn.cosines, job.keys),
                       Readable(turn.sines, job.keys),
                       turn.pairs,
                       static_cast<uint32_t>((turn.x - job.keys) / sizeof(float)),
                       turn.layout == kernels::RopeLayout::kAdjacent ? 1u : 0u};
  // The positions that share a word, and a workgroup.
  const bool is_bytes = layout.type == KvType::kQ8 || layout.type == KvType::kQ8Int;
  const uint32_t together = is_bytes ? 4 : 2;
  return kernels.Record(commands, ShaderOf("write_rows_", layout.type), {}, push,
                        {.x = DivideRoundingUp(job.longest_span - 1, together) + 1,
                         .y = job.kv_heads,
                         .z = job.span_count});
}

}  // namespace aster::vulkan
