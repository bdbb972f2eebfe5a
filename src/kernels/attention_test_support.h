// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pages with random rows, and a call that attends to them. Only for tests and benchmarks.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/random.h"
#include "kernels/attention.h"

namespace aster::kernels {

// The keys and values of one head, in pages, from position 0.
class PageStore {
 public:
  PageStore(const PageLayout& layout, size_t page_count, uint8_t fill)
      : layout_(layout), bytes_(page_count * layout.bytes + 64, fill) {
    auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    uint8_t* first = bytes_.data() + (64 - address % 64) % 64;
    for (size_t i = 0; i < page_count; ++i) pages_.push_back(first + i * layout.bytes);
  }
  PageStore(const PageStore&) = delete;
  PageStore& operator=(const PageStore&) = delete;

  const PageLayout& layout() const { return layout_; }
  const std::vector<uint8_t*>& pages() const { return pages_; }

  // Rows [first, first + count) by absolute position.
  void Write(const AttentionTable& table, int64_t first, int64_t count, const float* keys,
             const float* values) {
    const auto key_dim = static_cast<size_t>(layout_.key_dim);
    const auto value_dim = static_cast<size_t>(layout_.value_dim);
    while (count > 0) {
      const int at = static_cast<int>(first % kPagePositions);
      const int64_t now = std::min<int64_t>(count, kPagePositions - at);
      table.write_rows(layout_, at, static_cast<int>(now), keys, key_dim, values, value_dim,
                       pages_[static_cast<size_t>(first / kPagePositions)]);
      keys += static_cast<size_t>(now) * key_dim;
      values += static_cast<size_t>(now) * value_dim;
      first += now;
      count -= now;
    }
  }

 private:
  PageLayout layout_;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t*> pages_;
};

// Owns what an AttentionState points to.
struct StateBuffer {
  StateBuffer(const PageLayout& layout, size_t rows)
      : max(rows), sum(rows), values(rows * static_cast<size_t>(layout.value_stride)) {
    ResetAttention(layout, rows, state());
  }
  AttentionState state() { return {max.data(), sum.data(), values.data()}; }

  std::vector<float> max;
  std::vector<float> sum;
  std::vector<float> values;
};

}  // namespace aster::kernels
