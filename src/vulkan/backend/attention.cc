// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "kernels/attention.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/type_names.h"

namespace aster::vulkan {
namespace {

bool Equal(const AttentionShape& a, const AttentionShape& b) {
  return a.layout.type == b.layout.type && a.layout.key_dim == b.layout.key_dim &&
         a.layout.value_dim == b.layout.value_dim && a.group == b.group &&
         a.kv_heads == b.kv_heads && a.window == b.window && a.sinks == b.sinks &&
         a.has_cap == b.has_cap;
}

bool Equal(const compute::PageSpan& a, const compute::PageSpan& b) {
  return a.position == b.position && a.first_row == b.first_row && a.count == b.count &&
         a.is_block == b.is_block;
}

// Calls record(first, count) for as many at a time as one dispatch can have.
template <typename Record>
Status ForEachRun(size_t count, Record record) {
  for (size_t first = 0; first < count; first += kRowGroups)
    TRY(record(first, static_cast<uint32_t>(std::min<size_t>(kRowGroups, count - first))));
  return Ok();
}

}  // namespace

// Blocks have at most as many rows as the longest run, and fewer if there would be few workgroups.
AttentionShape DeviceAttention::ShapeOf(const compute::HeadAttention& attention) const {
  constexpr size_t kFewGroups = 128;
  const auto group = static_cast<uint32_t>(attention.head_count / attention.kv_head_count);
  uint32_t longest = 1;
  size_t row_pages = 0;
  for (const compute::PageSpan& span : attention.pages.spans) {
    longest = std::max(longest, span.count);
    const size_t pages = DivideRoundingUp(span.position + span.count, kernels::kPagePositions);
    row_pages += span.count * pages * attention.head_count;
  }
  const bool has_cap = attention.cap > 0.0f;
  uint32_t block_rows =
      std::min(AttentionBlockRows(*attention.head_page, kernels_.arithmetic(), has_cap),
               std::bit_ceil(longest * group));
  while (block_rows > 1 && row_pages / block_rows < kFewGroups) block_rows /= 2;
  return {.layout = *attention.head_page,
          .group = group,
          .kv_heads = static_cast<uint32_t>(attention.kv_head_count),
          .window = attention.window,
          .sinks = attention.sinks,
          .block_rows = block_rows,
          .has_cap = has_cap};
}

// Makes or finds the plan of a layer: layers of one batch with the same shape share one, and differ
// only in their pages.
Status DeviceAttention::Plan(const compute::HeadAttention& attention) {
  const AttentionShape shape = ShapeOf(attention);
  const auto spans = attention.pages.spans;
  const auto planned_before = std::ranges::find_if(plans_, [&](const Planned& plan) {
    return Equal(plan.shape, shape) &&
           std::ranges::equal(plan.spans, spans,
                              [](const auto& a, const auto& b) { return Equal(a, b); });
  });
  if (planned_before != plans_.end()) {
    planned_ = &*planned_before;
    return Ok();
  }
  Planned planned{
      .shape = shape, .spans = {spans.begin(), spans.end()}, .plan = PlanAttention(shape, spans)};
  planned.visible = TRY(batch_.Put(planned.plan.visible));
  planned.writes = TRY(batch_.Put(planned.plan.writes));
  planned.blocks = TRY(batch_.Put(planned.plan.blocks));
  planned.parts = TRY(batch_.Put(planned.plan.parts));
  planned_ = &plans_.emplace_back(std::move(planned));
  return Ok();
}

// A table of the addresses, `offset` bytes into each page, of all pages that are read or, with new
// rows, written.
Result<Address> DeviceAttention::PutPages(const compute::PagesOf& pages, bool has_rows,
                                          uint64_t offset) {
  std::vector<uint64_t> table;
  table.reserve(planned_->plan.table_entries);
  size_t run = 0;
  for (const compute::PageSpan& span : pages.spans) {
    if (span.count == 0) continue;
    const PageRun& at = planned_->plan.runs[run++];
    const uint32_t first_written = span.position / kernels::kPagePositions;
    for (uint32_t page = at.first_page; page < at.first_page + at.pages; ++page) {
      const Address address =
          AddressOf(page < first_written || !has_rows
                        ? span.table->Page(pages.layer, page, pages.stream)
                        : span.table->WritablePage(pages.layer, page, pages.stream));
      table.push_back(address == 0 ? 0 : address + offset);
    }
  }
  return batch_.Put(table);
}

Status DeviceAttention::Record(const compute::HeadAttention& attention) {
  const kernels::KvType type = attention.head_page->type;
  if (!kernels_.use().pages.Contains(type))
    TRY(CheckIsInUse(false, fmt::format("pages of {}", NameOfType(type))));
  if (attention.cap > 0.0f) TRY(CheckIsInUse(kernels_.use().capped, "capped scores"));
  TRY(Plan(attention));
  if (planned_->plan.blocks.empty()) return Ok();
  const bool has_rows = !attention.keys.empty();
  Address pages = TRY(PutPages(attention.pages, has_rows, 0));
  if (has_rows) TRY(WriteRows(attention, pages));
  if (attention.queries.empty()) return Ok();
  if (attention.first_kv_head > 0) {
    const uint64_t offset = attention.first_kv_head * attention.head_page->bytes;
    pages = TRY(PutPages(attention.pages, /*has_rows=*/false, offset));
  }
  return Attend(attention, pages);
}

Status DeviceAttention::WriteRows(const compute::HeadAttention& attention, Address pages) {
  std::optional<RopeJob> turn;
  Range cosines, sines;
  if (const auto heads = fusion_.TakeRotation(attention.keys)) {
    turn = RopeJobOf(*heads);
    cosines = RangeOf(heads->angles.cosines);
    sines = RangeOf(heads->angles.sines);
  }
  // Keys and values of all heads are written, also of those that this call does not attend to.
  const auto key_dim = static_cast<size_t>(attention.head_page->key_dim);
  const auto kv_heads = static_cast<uint32_t>(attention.keys.columns / key_dim);
  Commands& commands = batch_.Using(
      {RangeOf(attention.keys), RangeOf(attention.values), cosines, sines}, {Batch::kPages});
  return ForEachRun(planned_->plan.writes.size(), [&](size_t first, uint32_t count) {
    return RecordWriteRows(kernels_, commands,
                           {.layout = attention.head_page,
                            .page_table = pages,
                            .spans = planned_->writes + first * sizeof(WriteSpan),
                            .span_count = count,
                            .longest_span = planned_->plan.longest_write,
                            .kv_heads = kv_heads,
                            .keys = AddressOf(attention.keys),
                            .key_stride = static_cast<uint32_t>(attention.keys.stride),
                            .values = AddressOf(attention.values),
                            .value_stride = static_cast<uint32_t>(attention.values.stride),
                            .turn = turn});
  });
}

Status DeviceAttention::Attend(const compute::HeadAttention& attention, Address pages) {
  const auto key_dim = static_cast<uint32_t>(attention.head_page->key_dim);
  const auto value_dim = static_cast<uint32_t>(attention.head_page->value_dim);
  AttentionJob job{.layout = attention.head_page,
                   .page_table = pages,
                   .blocks = planned_->blocks,
                   .block_count = 0,
                   .block_rows = planned_->shape.block_rows,
                   .visible = planned_->visible,
                   .queries = AddressOf(attention.queries),
                   .token_stride = static_cast<uint32_t>(attention.queries.stride),
                   .head_stride = key_dim,
                   .heads = planned_->shape.group,
                   .kv_heads = planned_->shape.kv_heads,
                   .factor = kernels::QueryFactor(attention.scale),
                   .cap = attention.cap > 0.0f ? kernels::QueryFactor(attention.cap) : 0.0f,
                   .sinks = AddressOf(attention.sink_logits),
                   .result = AddressOf(attention.out),
                   .out_token_stride = static_cast<uint32_t>(attention.out.stride),
                   .out_head_stride = value_dim};
  if (!planned_->plan.parts.empty()) return AttendParts(attention, job);
  Commands& commands =
      batch_.Using({RangeOf(attention.queries), RangeOf(attention.sink_logits), Batch::kPages},
                   {RangeOf(attention.out)});
  return ForEachRun(planned_->plan.blocks.size(), [&](size_t first, uint32_t count) {
    job.blocks = planned_->blocks + first * sizeof(AttentionBlock);
    job.block_count = count;
    return RecordAttend(kernels_, commands, job);
  });
}

// For few rows and many pages: computes each page by itself, then merges the pages of each block.
Status DeviceAttention::AttendParts(const compute::HeadAttention& attention, AttentionJob job) {
  const AttentionPlan& plan = planned_->plan;
  const uint64_t bytes = plan.results * AttentionResultFloats(*attention.head_page) * sizeof(float);
  const Address results = TRY(batch_.ScratchMemory(Scratch::kPageResults, bytes));
  AttentionJob parts = job;
  parts.result = results;
  Commands& commands =
      batch_.Using({RangeOf(attention.queries), Batch::kPages}, {{results, bytes}});
  TRY(ForEachRun(plan.parts.size(), [&](size_t first, uint32_t count) {
    parts.blocks = planned_->parts + first * sizeof(AttentionBlock);
    parts.block_count = count;
    return RecordAttendPages(kernels_, commands, parts);
  }));
  Commands& merging =
      batch_.Using({{results, bytes}, RangeOf(attention.sink_logits)}, {RangeOf(attention.out)});
  return ForEachRun(plan.blocks.size(), [&](size_t first, uint32_t count) {
    job.blocks = planned_->blocks + first * sizeof(AttentionBlock);
    job.block_count = count;
    return RecordMergePages(kernels_, merging, job, results);
  });
}

}  // namespace aster::vulkan
