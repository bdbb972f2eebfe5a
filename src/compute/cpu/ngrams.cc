// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "compute/cpu/ngrams.h"

#include <cstring>

#include "base/bytes.h"
#include "compute/cpu/memory.h"
#include "kernels/key_gate.h"

namespace aster::compute {
namespace {

constexpr uint32_t kTokensOfPage = kernels::kPagePositions;

void WriteClasses(const NgramHash& hash, const PageSpan& span) {
  for (uint32_t i = 0; i < span.count; ++i) {
    const uint32_t position = span.position + i;
    uint8_t* const page = HostPage(
        span.table->WritablePage(hash.pages.layer, position / kTokensOfPage, hash.pages.stream));
    const auto token = static_cast<size_t>(hash.tokens[span.first_row + i]);
    std::memcpy(page + position % kTokensOfPage * sizeof(uint32_t), &hash.classes[token],
                sizeof(uint32_t));
  }
}

uint64_t ClassAt(const NgramHash& hash, const PageSpan& span, uint32_t position) {
  const uint8_t* const page =
      HostPage(span.table->Page(hash.pages.layer, position / kTokensOfPage, hash.pages.stream));
  return LoadUnaligned<uint32_t>(page + position % kTokensOfPage * sizeof(uint32_t));
}

// The ids of the token at a position: of two tokens first.
void HashAt(const NgramHash& hash, const PageSpan& span, uint32_t position, int32_t* ids) {
  uint64_t rolling = ClassAt(hash, span, position) * hash.multipliers[0];
  size_t next = 0;
  for (uint32_t back = 1; back < hash.multipliers.size(); ++back) {
    const uint64_t before = back > position ? hash.padding : ClassAt(hash, span, position - back);
    rolling ^= before * hash.multipliers[back];
    for (uint32_t head = 0; head < hash.heads; ++head, ++next)
      ids[next] = static_cast<int32_t>(rolling % hash.row_counts[next] + hash.first_rows[next]);
  }
}

}  // namespace

void CpuHashNgrams(Context& context, const NgramHash& hash) {
  const size_t ids = hash.row_counts.size();
  for (const PageSpan& span : hash.pages.spans) {
    // All classes first: tokens of a batch are before one another.
    WriteClasses(hash, span);
    context.pool.ParallelFor(span.count, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i) {
        HashAt(hash, span, span.position + static_cast<uint32_t>(i),
               hash.ids.data() + (span.first_row + i) * ids);
      }
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
