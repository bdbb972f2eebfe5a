// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rows of the model that a drafter has not read yet. Rows of cached tokens are missing, and only a
// window of the others is kept, so the drafter's KV cache may have to begin again. Must not know
// how rows are used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aster::draft {

class FollowedRows {
 public:
  // `window`: rows that the next draft depends on.
  FollowedRows(size_t width, uint32_t window) : width_(width), window_(window) {
    rows_.reserve((most() + 1) * width_);  // growing later would delay a step
  }

  size_t count() const { return rows_.size() / width_; }
  const float* data() const { return rows_.data(); }
  uint32_t end() const { return end_; }  // the position after the last row

  // As Proposer::Follow. False if the rows do not continue those before: then the drafter's KV
  // cache begins again with the first of them.
  [[nodiscard]] bool Add(std::span<const int32_t> history, uint32_t begin,
                         std::span<const float> rows) {
    const auto end = begin + static_cast<uint32_t>(rows.size() / width_);
    if (end <= end_) return true;  // computed again
    // Skips rows that will have left the window before the next draft.
    const auto length = static_cast<uint32_t>(history.size());
    const uint32_t first = std::max(begin, length - std::min(length, window_));
    if (end <= first) return Forget(end);
    const bool continues = first <= end_ || Forget(first);
    const auto fresh = rows.subspan((end_ - begin) * width_);
    rows_.insert(rows_.end(), fresh.begin(), fresh.end());
    end_ = end;
    // Bounded, as rows may come for long without a draft.
    return (count() <= most() || KeepWindow()) && continues;
  }
  // Drops the rows before the window. False if there were some, as Add.
  [[nodiscard]] bool KeepWindow() {
    if (count() <= window_) return true;
    rows_.erase(rows_.begin(), rows_.end() - static_cast<ptrdiff_t>(window_ * width_));
    return false;
  }
  // The drafter has read all rows.
  void Clear() { rows_.clear(); }
  // Drops all rows; the next one is that of `position`. Returns false, as Add does then.
  bool Forget(uint32_t position) {
    rows_.clear();
    end_ = position;
    return false;
  }

 private:
  size_t most() const { return 2 * size_t{window_}; }

  const size_t width_;
  const uint32_t window_;
  std::vector<float> rows_;  // [count, width]
  uint32_t end_ = 0;
};

}  // namespace aster::draft
