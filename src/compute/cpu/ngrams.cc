// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/ngrams.h"

#include <cstring>

#include "base/bytes.h"
#include "compute/cpu/memory.h"
#include "compute/ngrams.h"
#include "kernels/key_gate.h"

namespace aster::compute {
namespace {

constexpr uint32_t kTokensOfPage = kernels::kPagePositions;

size_t PlaceInPage(uint32_t position) { return position % kTokensOfPage * sizeof(uint32_t); }

// Reads the classes of tokens before the span from the pages, and writes those of its own tokens.
void ExchangeClasses(const NgramHash& hash, const PageSpan& span, SpanClasses& classes) {
  const auto [layer, stream, spans] = hash.pages;
  auto position = span.position - static_cast<uint32_t>(classes.before().size());
  for (uint32_t& before : classes.before()) {
    const uint8_t* const page = HostPage(span.table->Page(layer, position / kTokensOfPage, stream));
    before = LoadUnaligned<uint32_t>(page + PlaceInPage(position++));
  }
  for (const uint32_t own : classes.own()) {
    uint8_t* const page =
        HostPage(span.table->WritablePage(layer, position / kTokensOfPage, stream));
    std::memcpy(page + PlaceInPage(position++), &own, sizeof(own));
  }
}

}  // namespace

void CpuHashNgrams(Context& context, const NgramHash& hash) {
  for (const PageSpan& span : hash.pages.spans) {
    SpanClasses classes(hash, span);
    ExchangeClasses(hash, span, classes);
    context.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) classes.Hash(static_cast<uint32_t>(i));
    });
  }
}

void CpuAddGatedValue(Context& context, const GatedValue& value) {
  const size_t streams = value.streams;
  const size_t width = value.rows.columns / streams;
  const kernels::OpsTable& ops = context.ops();
  context.pool.ParallelFor(value.rows.rows * streams, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i / streams;
      const size_t first = i % streams * width;
      float* const stream = Floats(value.rows) + row * value.rows.stride + first;
      const float* const keys = Floats(value.key_value) + row * value.key_value.stride;
      const float gate = kernels::KeyGate(ops, stream, keys + first, Floats(value.weights) + first,
                                          width, value.epsilon);
      ops.add_scaled(keys + streams * width, width, gate, stream);
    }
  });
}

}  // namespace aster::compute
