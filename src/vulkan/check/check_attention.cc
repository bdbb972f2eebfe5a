// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/check/check_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/attention.h"
#include "kernels/math_constants.h"
#include "vulkan/kernels/attention.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

using kernels::kAttentionRef;
using kernels::KvType;
using kernels::PageLayout;

constexpr uint32_t kCheckPage = kernels::kPagePositions;

struct alignas(64) Line {
  uint8_t bytes[64];
};

// Pages of one sequence, all heads of a page together, with bytes of no meaning in them.
class Pages {
 public:
  Pages(const PageLayout& layout, uint32_t kv_heads, uint32_t page_count, uint64_t seed)
      : layout_(layout), kv_heads_(kv_heads), lines_(page_count * kv_heads * layout.bytes / 64) {
    const std::vector<uint32_t> words = CheckWords(lines_.size() * 16, seed);
    std::memcpy(lines_.data(), words.data(), lines_.size() * 64);
  }

  uint32_t page_bytes() const { return kv_heads_ * static_cast<uint32_t>(layout_.bytes); }
  uint8_t* head(uint32_t page, uint32_t kv_head) {
    return lines_[0].bytes + page * page_bytes() + kv_head * layout_.bytes;
  }
  std::span<const Line> lines() const { return lines_; }

  // The reference's: rows of floats [rows][kv_heads][dim] at `position`.
  void Write(uint32_t position, uint32_t rows, const float* keys, const float* values) {
    const auto key_stride = static_cast<size_t>(layout_.key_dim) * kv_heads_;
    const auto value_stride = static_cast<size_t>(layout_.value_dim) * kv_heads_;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t at = position + row;
      for (uint32_t head_index = 0; head_index < kv_heads_; ++head_index)
        kAttentionRef.write_rows(layout_, static_cast<int>(at % kCheckPage), 1,
                                 keys + row * key_stride + head_index * layout_.key_dim, key_stride,
                                 values + row * value_stride + head_index * layout_.value_dim,
                                 value_stride, head(at / kCheckPage, head_index));
    }
  }

 private:
  const PageLayout& layout_;
  uint32_t kv_heads_;
  std::vector<Line> lines_;
};

// With an fma that is made of integers, a driver takes minutes to compile attend.comp for 32 rows;
// attend_tiles.comp has fewer of them.
uint32_t LargestBlockRows(const PageLayout& layout, const Arithmetic& arithmetic) {
  const uint32_t most = MostAttentionBlockRows(layout);
  return arithmetic.native_fma || layout.type == KvType::kF16 ? most : std::min(most, 4u);
}

uint32_t BlockRows(const PageLayout& layout, const Arithmetic& arithmetic,
                   const AttentionSize& size) {
  if (size.largest_blocks) return LargestBlockRows(layout, arithmetic);
  const uint32_t suited = AttentionBlockRows(layout, arithmetic, size.cap > 0.0f);
  return size.block_rows == 0 ? suited : std::min(suited, size.block_rows);
}

// One attention call: its inputs, and the reference's results.
struct Attention {
  Attention(const Arithmetic& arithmetic, KvType type, const AttentionSize& s, CheckValues values,
            uint64_t seed)
      : size(s),
        layout(kernels::MakePageLayout(type, s.key_dim, s.value_dim)),
        positions(s.position + s.tokens),
        page_count(DivideRoundingUp(positions, kCheckPage)),
        block_rows(BlockRows(layout, arithmetic, s)),
        pages(layout, s.kv_heads, page_count, seed),
        all_heads(s.heads * s.kv_heads),
        factor(kernels::QueryFactor(0.7f)) {
    const size_t rows = size_t{positions} * s.kv_heads;
    auto keys = CheckFloats(rows * static_cast<size_t>(s.key_dim), values, seed + 1);
    auto page_values = CheckFloats(rows * static_cast<size_t>(s.value_dim), values, seed + 2);
    queries = CheckFloats(size_t{s.tokens} * all_heads * static_cast<size_t>(s.key_dim),
                          CheckValues::kOrdinary, seed + 3);
    for (float& query : queries) query *= s.query_scale;
    if (s.infinities || s.vanishing) MakeExtreme(keys, page_values);
    pages.Write(0, positions, keys.data(), page_values.data());
    if (s.sinks) sinks = CheckFloats(all_heads, CheckValues::kOrdinary, seed + 4);
    for (uint32_t token = 0; token < s.tokens; ++token)
      visible.push_back(kernels::VisibleTo(s.position + token, s.window, s.window_sinks));
  }

  void MakeExtreme(std::vector<float>& keys, std::vector<float>& page_values);
  void AddToSinks(uint32_t kv_head, const float* most);
  std::vector<float> Reference();
  bool IsSeen(uint32_t page) const;
  std::vector<AttentionBlock> Blocks(uint32_t pages_together) const;

  const AttentionSize& size;
  const PageLayout layout;
  const uint32_t positions;
  const uint32_t page_count;
  const uint32_t block_rows;
  Pages pages;
  const uint32_t all_heads;
  const float factor;
  std::vector<float> queries;                 // [tokens][all_heads][key_dim]
  std::vector<float> sinks;                   // [all_heads], or none
  std::vector<kernels::VisibleRows> visible;  // [tokens]
};

// Only three elements of a query are not zero. The product of the first one and a key's may be less
// than 2^-126, which must be flushed to zero: a device that does not flush it rounds the next sum
// differently in case of a tie, which is a third of all. Values and their weights are made
// likewise: those of the first position of a page vanish. The third element is multiplied with
// infinities.
void Attention::MakeExtreme(std::vector<float>& keys, std::vector<float>& page_values) {
  const float factors[] = {
      size.vanishing ? -112.0f : 0.5f, 1.5f, 1.25f, 0.75f, 1.75f, -1.5f, 0.625f};
  const auto key_dim = static_cast<size_t>(size.key_dim);
  const auto value_dim = static_cast<size_t>(size.value_dim);
  for (size_t at = 0; at < queries.size(); at += key_dim) {
    std::fill_n(queries.data() + at + 2, key_dim - 2, 0.0f);
    queries[at] = size.vanishing ? 0x1p-116f : 0.0f;
    queries[at + 1] = 1.0f + std::abs(queries[at + 1]) / 64;
    queries[at + 2] = 0x1p-20f;
  }
  for (size_t row = 0; row < size_t{positions} * size.kv_heads; ++row) {
    const size_t position = row / size.kv_heads % kCheckPage;
    float* const key = keys.data() + row * key_dim;
    float* const value = page_values.data() + row * value_dim;
    key[0] = 0x1p-12f;
    key[1] = factors[position % 7];
    key[2] = size.infinities && position % 29 == 5 ? -kCheckInfinity : 0.0f;
    for (size_t d = 0; d < value_dim; ++d) {
      const float ordinary = factors[1 + (row + d) % 6];
      value[d] = std::copysign(position % 7 == 0 ? 0x1p-16f : ordinary, value[d]);
    }
    if (size.infinities && position == 11) value[5] = kCheckInfinity;
  }
}

// `most`: every row's largest score, times log2(e). A sink that is much smaller or larger would
// change no bit, or leave nothing of the values, so each is moved near to that score.
void Attention::AddToSinks(uint32_t kv_head, const float* most) {
  for (uint32_t head = 0; head < size.heads; ++head) {
    const uint32_t token = head * size.tokens / size.heads;
    const float score = most[token * size.heads + head] / kernels::kLog2E;
    if (std::isfinite(score)) sinks[kv_head * size.heads + head] += score;
  }
}

// The reference's results. Moves the sinks near to the scores.
std::vector<float> Attention::Reference() {
  const auto value_dim = static_cast<size_t>(size.value_dim);
  const auto key_dim = static_cast<size_t>(size.key_dim);
  std::vector<float> out(size_t{size.tokens} * all_heads * value_dim);
  const size_t rows = size_t{size.tokens} * size.heads;
  std::vector<float> prepared(kernels::QueryFloats(layout, rows));
  std::vector<kernels::VisibleRows> seen;
  for (size_t row = 0; row < rows; ++row) seen.push_back(visible[row / size.heads]);
  std::vector<float> max(rows), sum(rows), state_values(rows * layout.value_stride);
  const kernels::AttentionState state{max.data(), sum.data(), state_values.data()};
  for (uint32_t kv_head = 0; kv_head < size.kv_heads; ++kv_head) {
    std::vector<const uint8_t*> heads;
    for (uint32_t page = 0; page < page_count; ++page) heads.push_back(pages.head(page, kv_head));
    kAttentionRef.prepare_queries(layout, queries.data() + kv_head * size.heads * key_dim,
                                  {rows, size.heads, all_heads * key_dim, key_dim}, factor,
                                  prepared.data());
    kernels::ResetAttention(layout, rows, state);
    kAttentionRef.attend(
        {&layout, heads.data(), page_count, 0, prepared.data(), seen.data(), rows, size.cap},
        state);
    if (size.sinks) AddToSinks(kv_head, max.data());
    kAttentionRef.finish(layout, state,
                         sinks.empty() ? nullptr : sinks.data() + kv_head * size.heads,
                         {rows, size.heads, all_heads * value_dim, value_dim},
                         out.data() + kv_head * size.heads * value_dim);
  }
  return out;
}

bool Attention::IsSeen(uint32_t page) const {
  const int64_t first = int64_t{page} * kCheckPage;
  return std::any_of(visible.begin(), visible.end(), [&](const kernels::VisibleRows& rows) {
    return rows.sink_end > first || (rows.begin < first + kCheckPage && rows.end > first);
  });
}

// Blocks with at most `pages_together` pages each; results have the places of undivided blocks.
std::vector<AttentionBlock> Attention::Blocks(uint32_t pages_together) const {
  std::vector<AttentionBlock> blocks;
  const uint32_t rows = size.tokens * size.heads;
  uint32_t result = 0;
  for (uint32_t row = 0; row < rows; row += block_rows) {
    const uint32_t count = std::min(block_rows, rows - row);
    for (uint32_t page = 0; page < page_count; page += pages_together) {
      const uint32_t together = std::min(pages_together, page_count - page);
      blocks.push_back({row, count, page, together, page, result});
      result += together * size.kv_heads * count;
    }
  }
  return blocks;
}

// The inputs and outputs on the device.
struct AttentionBuffers {
  Buffer pages;
  Buffer table;
  Buffer visible;
  Buffer queries;
  Buffer sinks;
  Buffer blocks;  // with all pages
  Buffer parts;   // with two
  Buffer page_results;
  Buffer out;
};

Result<AttentionBuffers> Upload(Workbench& bench, const Attention& attention) {
  AttentionBuffers buffers;
  buffers.pages = TRY(bench.Put(attention.pages.lines()));
  std::vector<uint64_t> table;
  for (uint32_t page = 0; page < attention.page_count; ++page) {
    const uint64_t address =
        buffers.pages.address() + uint64_t{page} * attention.pages.page_bytes();
    table.push_back(attention.IsSeen(page) ? address : 0);
  }
  std::vector<VisiblePositions> visible;
  for (const kernels::VisibleRows& rows : attention.visible)
    visible.push_back({static_cast<uint32_t>(rows.sink_end), static_cast<uint32_t>(rows.begin),
                       static_cast<uint32_t>(rows.end)});
  buffers.table = TRY(bench.Put(table));
  buffers.visible = TRY(bench.Put(visible));
  buffers.queries = TRY(bench.Put(attention.queries));
  buffers.sinks = TRY(bench.Put(attention.sinks));
  buffers.blocks = TRY(bench.Put(attention.Blocks(attention.page_count)));
  buffers.parts = TRY(bench.Put(attention.Blocks(2)));
  const uint64_t results = uint64_t{attention.page_count} * attention.size.tokens *
                           attention.all_heads * AttentionResultFloats(attention.layout);
  buffers.page_results = TRY(bench.Room(results * sizeof(float)));
  buffers.out = TRY(bench.Room(uint64_t{attention.size.tokens} * attention.all_heads *
                               static_cast<uint64_t>(attention.size.value_dim) * sizeof(float)));
  return buffers;
}

AttentionJob JobOf(const Attention& attention, const AttentionBuffers& buffers) {
  const auto key_dim = static_cast<uint32_t>(attention.size.key_dim);
  const auto value_dim = static_cast<uint32_t>(attention.size.value_dim);
  return {.layout = &attention.layout,
          .page_table = buffers.table.address(),
          .blocks = buffers.blocks.address(),
          .block_count = static_cast<uint32_t>(attention.Blocks(attention.page_count).size()),
          .block_rows = attention.block_rows,
          .visible = buffers.visible.address(),
          .queries = buffers.queries.address(),
          .token_stride = attention.all_heads * key_dim,
          .head_stride = key_dim,
          .heads = attention.size.heads,
          .kv_heads = attention.size.kv_heads,
          .factor = attention.factor,
          .cap = attention.size.cap,
          .sinks = attention.sinks.empty() ? 0 : buffers.sinks.address(),
          .result = buffers.out.address(),
          .out_token_stride = attention.all_heads * value_dim,
          .out_head_stride = value_dim};
}

}  // namespace

Status CheckAttention(Workbench& bench, KvType type, const AttentionSize& size, CheckValues values,
                      uint64_t seed) {
  Attention attention(bench.kernels().arithmetic(), type, size, values, seed);
  const std::vector<float> want = attention.Reference();
  const AttentionBuffers buffers = TRY(Upload(bench, attention));
  const AttentionJob job = JobOf(attention, buffers);
  AttentionJob parts = job;
  parts.blocks = buffers.parts.address();
  parts.block_count = static_cast<uint32_t>(attention.Blocks(2).size());
  parts.result = buffers.page_results.address();
  TRY(bench.Run([&](Commands& commands) -> Status {
    if (!size.split) return RecordAttend(bench.kernels(), commands, job);
    TRY(RecordAttendPages(bench.kernels(), commands, parts));
    commands.Barrier();
    return RecordMergePages(bench.kernels(), commands, job, buffers.page_results.address());
  }));
  return CompareFloats(fmt::format("attention to {} pages{}", NameOfType(type),
                                   size.split ? ", merged afterwards" : ""),
                       want, ContentOf<float>(buffers.out, want.size()));
}

Status CheckWriteRows(Workbench& bench, KvType type, const WriteRowsSize& size, CheckValues values,
                      uint64_t seed) {
  const PageLayout layout = kernels::MakePageLayout(type, size.key_dim, size.value_dim);
  const uint32_t page_count = DivideRoundingUp(size.position % kCheckPage + size.rows, kCheckPage);
  const auto key_stride = size.kv_heads * static_cast<uint32_t>(size.key_dim);
  const auto value_stride = size.kv_heads * static_cast<uint32_t>(size.value_dim);
  std::vector<uint64_t> table;
  std::vector<WriteSpan> spans;
  std::vector<Pages> sequences;
  std::vector<Buffer> buffers;
  const std::vector<float> keys = CheckFloats(2 * size.rows * key_stride, values, seed + 1);
  const std::vector<float> row_values = CheckFloats(2 * size.rows * value_stride, values, seed + 2);
  const size_t angles = size_t{2} * size.rows * size.pairs;
  const std::vector<float> cosines = CheckFloats(angles, CheckValues::kOrdinary, seed + 5);
  const std::vector<float> sines = CheckFloats(angles, CheckValues::kOrdinary, seed + 6);
  std::vector<float> turned = keys;
  for (uint32_t row = 0; row < 2 * size.rows && size.pairs > 0; ++row)
    kernels::kOpsRef.rope(turned.data() + size_t{row} * key_stride + size.unrotated,
                          static_cast<size_t>(size.key_dim), size.kv_heads, size.pairs,
                          cosines.data() + size_t{row} * size.pairs,
                          sines.data() + size_t{row} * size.pairs, size.layout, false);
  for (uint32_t span = 0; span < 2; ++span) {
    Pages& pages = sequences.emplace_back(layout, size.kv_heads, page_count, seed + 3 + span);
    const Buffer& buffer = buffers.emplace_back(TRY(bench.Put(pages.lines())));
    const uint32_t first_row = span * size.rows;
    spans.push_back({first_row, size.rows, size.position, static_cast<uint32_t>(table.size())});
    for (uint32_t page = 0; page < page_count; ++page)
      table.push_back(buffer.address() + uint64_t{page} * pages.page_bytes());
    pages.Write(size.position % kCheckPage, size.rows, turned.data() + first_row * key_stride,
                row_values.data() + first_row * value_stride);
  }
  const Buffer table_buffer = TRY(bench.Put(table));
  const Buffer span_buffer = TRY(bench.Put(spans));
  const Buffer key_buffer = TRY(bench.Put(keys));
  const Buffer value_buffer = TRY(bench.Put(row_values));
  const Buffer cosine_buffer = TRY(bench.Put(size.pairs == 0 ? keys : cosines));
  const Buffer sine_buffer = TRY(bench.Put(size.pairs == 0 ? keys : sines));
  std::optional<RopeJob> turn;
  if (size.pairs > 0) {
    turn = {.x = key_buffer.address() + size.unrotated * sizeof(float),
            .stride = static_cast<uint32_t>(size.key_dim),
            .rows = 2 * size.rows * size.kv_heads,
            .rows_of_token = size.kv_heads,
            .pairs = size.pairs,
            .cosines = cosine_buffer.address(),
            .sines = sine_buffer.address(),
            .layout = size.layout};
  }
  TRY(bench.Run([&](Commands& commands) {
    return RecordWriteRows(bench.kernels(), commands,
                           {.layout = &layout,
                            .page_table = table_buffer.address(),
                            .spans = span_buffer.address(),
                            .span_count = 2,
                            .longest_span = size.rows,
                            .kv_heads = size.kv_heads,
                            .keys = key_buffer.address(),
                            .key_stride = key_stride,
                            .values = value_buffer.address(),
                            .value_stride = value_stride,
                            .turn = turn});
  }));
  for (size_t span = 0; span < 2; ++span)
    TRY(CompareBytes(fmt::format("rows written to {} pages", NameOfType(type)),
                     sequences[span].lines(), buffers[span]));
  return Ok();
}

}  // namespace aster::vulkan
