// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/backend/ngrams.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "compute/ngrams.h"
#include "kernels/pages.h"

namespace aster::vulkan {
namespace {

using compute::PageSpan;
using compute::SpanClasses;
using kernels::kPagePositions;

// Calls `function` for every page that has some of `classes`, which begin at `position`, with the
// place in the page and those classes.
template <typename T, typename Function>
Status ForEachPage(uint32_t position, std::span<T> classes, Function function) {
  while (!classes.empty()) {
    const uint32_t place = position % kPagePositions;
    const size_t count = std::min<size_t>(classes.size(), kPagePositions - place);
    TRY(function(position / kPagePositions, place * sizeof(uint32_t), classes.first(count)));
    position += static_cast<uint32_t>(count);
    classes = classes.subspan(count);
  }
  return Ok();
}

Status ListBefore(const compute::NgramHash& hash, const PageSpan& span, SpanClasses& classes,
                  std::vector<PageBytes>& reads) {
  const std::span<uint32_t> before = classes.before();
  return ForEachPage(
      span.position - static_cast<uint32_t>(before.size()), before,
      [&](uint32_t page, size_t place, std::span<uint32_t> some) {
        reads.push_back({span.table->Page(hash.pages.layer, page, hash.pages.stream),
                         place,
                         {reinterpret_cast<uint8_t*>(some.data()), some.size_bytes()}});
        return Ok();
      });
}

Status WriteOwn(const compute::NgramHash& hash, const PageSpan& span, const SpanClasses& classes) {
  return ForEachPage(span.position, classes.own(),
                     [&](uint32_t page, size_t place, std::span<const uint32_t> some) {
                       const kv::PageAddress to =
                           span.table->WritablePage(hash.pages.layer, page, hash.pages.stream);
                       return to.block->Write(
                           to.offset + place,
                           {reinterpret_cast<const uint8_t*>(some.data()), some.size_bytes()});
                     });
}

}  // namespace

Status HashNgrams(DevicePages& pages, compute::Context& host, const compute::NgramHash& hash) {
  std::deque<SpanClasses> all;
  std::vector<PageBytes> reads;
  for (const PageSpan& span : hash.pages.spans)
    TRY(ListBefore(hash, span, all.emplace_back(hash, span), reads));
  TRY(pages.ReadAll(reads));
  size_t next = 0;
  for (const PageSpan& span : hash.pages.spans) {
    const SpanClasses& classes = all[next++];
    TRY(WriteOwn(hash, span, classes));
    host.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) classes.Hash(static_cast<uint32_t>(i));
    });
  }
  return Ok();
}

}  // namespace aster::vulkan
