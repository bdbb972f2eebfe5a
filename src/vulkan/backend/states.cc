// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/hash.h"
#include "kernels/delta_net.h"
#include "kernels/pages.h"
#include "kv/prefix_hash.h"
#include "vulkan/backend/memory.h"
#include "vulkan/kernels/elements.h"
#include "vulkan/kernels/rows.h"

namespace aster::vulkan {
namespace {

using compute::PageSpan;

constexpr uint32_t kStatePage = kernels::kPagePositions;
// Of the norm of queries and keys.
constexpr float kLengthEpsilon = 1e-6f;

DeltaSizes SizesOf(const compute::DeltaNet& net) {
  return {.key_heads = static_cast<uint32_t>(net.key_heads),
          .value_heads = static_cast<uint32_t>(net.value_heads),
          .key_dim = static_cast<uint32_t>(net.key_dim),
          .value_dim = static_cast<uint32_t>(net.value_dim),
          .in_turn = net.in_turn};
}

bool AreSame(const PageSpan& a, const PageSpan& b) {
  return a.table == b.table && a.position == b.position && a.first_row == b.first_row &&
         a.count == b.count;
}

uint32_t FirstPage(const PageSpan& span) { return span.position / kStatePage; }
uint32_t EndPage(const PageSpan& span) { return (span.position + span.count - 1) / kStatePage + 1; }

// Adds the prefix hash at every computed position after the begin of the span's first page.
void AddHashes(const PageSpan& span, std::vector<Hash128>& hashes) {
  const kv::TokenHistory& history = span.table->history();
  const uint32_t begin = FirstPage(span) * kStatePage;
  Hash128 hash = history.HashAt(begin);
  for (uint32_t position = begin; position < span.position; ++position) {
    hash = kv::ExtendPrefixHash(hash, history.tokens().subspan(position, 1));
    hashes.push_back(hash);
  }
}

}  // namespace

// Writes the inputs, computes keys and values by the convolution, norms them, then updates the
// states page by page, as each page continues from the one before.
Status DeviceStates::Run(const compute::DeltaNet& net) {
  TRY(CheckIsInUse(kernels_.use().states, "delta nets"));
  CHECK(net.value_heads % net.key_heads == 0 && net.taps <= kernels::kMaxDeltaTaps);
  CHECK(IsDense(net.convolution) && IsDense(net.rates) && IsDense(net.time_bias));
  TRY(MakePlan(net.pages.spans));
  if (plan_.spans.empty()) return Ok();
  const DeltaSizes sizes = SizesOf(net);
  TRY(WriteInputs(net, sizes));
  StateCourses courses = plan_.courses;
  courses.table = TRY(PutTable(net));
  const auto room = [&](Scratch which, uint32_t columns) -> Result<Range> {
    const uint64_t bytes = uint64_t{plan_.slots} * columns * sizeof(float);
    return Range{TRY(batch_.ScratchMemory(which, bytes)), bytes};
  };
  const Range keys = TRY(room(Scratch::kStateKeys, sizes.key_channels()));
  const Range values = TRY(room(Scratch::kStateValues, sizes.value_channels()));
  TRY(RecordDeltaConvolution(
      kernels_, batch_.Using({RangeOf(net.convolution), Batch::kPages}, {keys, values}),
      {.sizes = sizes,
       .courses = courses,
       .weights = AddressOf(net.convolution),
       .taps = static_cast<uint32_t>(net.taps),
       .keys = keys.begin,
       .values = values.begin}));
  TRY(MakeDirections(net, keys));
  for (uint32_t page = 0; page < courses.most_pages(); ++page) {
    TRY(RecordDeltaStates(kernels_, batch_.Using({keys, values}, {RangeOf(net.out), Batch::kPages}),
                          {.sizes = sizes,
                           .courses = courses,
                           .keys = keys.begin,
                           .values = values.begin,
                           .result = AddressOf(net.out),
                           .result_stride = static_cast<uint32_t>(net.out.stride),
                           .page = page}));
  }
  return RecordDeltaMarks(kernels_, batch_.Using({}, {Batch::kPages}), sizes, courses);
}

// Makes the courses of a batch, once for all layers. The table of each layer has for each course
// its pages of inputs, then those of states, beginning with the page before its first one.
Status DeviceStates::MakePlan(std::span<const PageSpan> spans) {
  const bool is_same =
      planned_ == batch_.number() && std::ranges::equal(plan_.spans, spans, AreSame);
  if (is_same) return Ok();
  planned_ = 0;
  plan_ = {};
  std::vector<StateCourse> courses;
  std::vector<Hash128> hashes;
  uint32_t entries = 0;
  for (const PageSpan& span : spans) {
    if (span.count == 0) continue;
    plan_.spans.push_back(span);
    const uint32_t begin = FirstPage(span) * kStatePage, end = span.position + span.count;
    const uint32_t pages = EndPage(span) - FirstPage(span) + 1;
    if (end - begin > kRowGroups)
      return Unimplemented(fmt::format("a batch of {} tokens of one text, on a GPU", span.count));
    const bool stays_open = end < begin + kStatePage;
    courses.push_back({.page_begin = begin,
                       .position = span.position,
                       .end = end,
                       .first_row = span.first_row,
                       .first_slot = plan_.slots,
                       .inputs = entries,
                       .states = entries + pages,
                       .hashes = static_cast<uint32_t>(hashes.size()),
                       .keeps = stays_open && span.position > begin ? 1u : 0u});
    AddHashes(span, hashes);
    entries += 2 * pages;
    plan_.slots += end - begin;
    plan_.courses.longest = std::max(plan_.courses.longest, end - begin);
  }
  plan_.courses.count = static_cast<uint32_t>(courses.size());
  plan_.courses.courses = TRY(batch_.Put(courses));
  plan_.courses.hashes = TRY(batch_.Put(hashes));
  planned_ = batch_.number();
  return Ok();
}

// Writes the tokens' inputs into their stream: later batches may have to compute states again from
// the page's begin on.
Status DeviceStates::WriteInputs(const compute::DeltaNet& net, const DeltaSizes& sizes) {
  const uint64_t row_bytes =
      kernels::DeltaInputs{.channels = sizes.channels(), .heads = sizes.value_heads}.bytes();
  std::vector<uint64_t> rows(net.mixed.rows);
  for (const PageSpan& span : plan_.spans) {
    for (uint32_t i = 0; i < span.count; ++i) {
      const uint32_t position = span.position + i;
      rows[span.first_row + i] = AddressOf(span.table->WritablePage(
                                     net.pages.layer, position / kStatePage, net.input_stream)) +
                                 position % kStatePage * row_bytes;
    }
  }
  if (rows.size() > kRowGroups)
    return Unimplemented(fmt::format("a batch of {} rows, on a GPU", rows.size()));
  const Address to = TRY(batch_.Put(rows));
  return RecordDeltaInputs(kernels_,
                           batch_.Using({RangeOf(net.mixed), RangeOf(net.times), RangeOf(net.betas),
                                         RangeOf(net.time_bias), RangeOf(net.rates)},
                                        {Batch::kPages}),
                           {.sizes = sizes,
                            .mixed = AddressOf(net.mixed),
                            .mixed_stride = static_cast<uint32_t>(net.mixed.stride),
                            .times = AddressOf(net.times),
                            .time_stride = static_cast<uint32_t>(net.times.stride),
                            .betas = AddressOf(net.betas),
                            .beta_stride = static_cast<uint32_t>(net.betas.stride),
                            .time_bias = AddressOf(net.time_bias),
                            .rates = AddressOf(net.rates),
                            .rows_out = to,
                            .rows = static_cast<uint32_t>(rows.size())});
}

Result<Address> DeviceStates::PutTable(const compute::DeltaNet& net) {
  std::vector<uint64_t> table;
  for (const PageSpan& span : plan_.spans) {
    for (const uint32_t stream : {net.input_stream, net.pages.stream}) {
      // If there is no page before the first one, its entry is the first page, and is not read.
      const uint32_t before = FirstPage(span) - std::min(FirstPage(span), 1u);
      table.push_back(AddressOf(span.table->Page(net.pages.layer, before, stream)));
      for (uint32_t page = FirstPage(span); page < EndPage(span); ++page)
        table.push_back(AddressOf(span.table->WritablePage(net.pages.layer, page, stream)));
    }
  }
  return batch_.Put(table);
}

// Scales queries and keys: RMS norm gives rows of length √dim, which become length 1; queries also
// get the scale of attention.
Status DeviceStates::MakeDirections(const compute::DeltaNet& net, const Range& keys) {
  const auto dim = static_cast<uint32_t>(net.key_dim), heads = static_cast<uint32_t>(net.key_heads);
  const auto width = static_cast<float>(net.key_dim);
  TRY(RecordRmsNorm(kernels_, batch_.Using({keys}, {keys}),
                    {.x = keys.begin,
                     .x_stride = dim,
                     .rows = plan_.slots * 2 * heads,
                     .count = dim,
                     .epsilon = kLengthEpsilon / width,
                     .y = keys.begin,
                     .y_stride = dim}));
  std::vector<float> factors(size_t{2} * heads * dim, 1.0f / std::sqrt(width));
  std::fill_n(factors.begin(), size_t{heads} * dim, 1.0f / width);
  const Address scales = TRY(batch_.Put(factors));
  return RecordElements(kernels_, batch_.Using({keys}, {keys}),
                        {.operation = ElementOperation::kMultiply,
                         .a = keys.begin,
                         .b = scales,
                         .b_count = 2 * heads * dim,
                         .y = keys.begin,
                         .count = plan_.slots * 2 * heads * dim});
}

}  // namespace aster::vulkan
