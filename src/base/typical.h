// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The median of the last few times: a single delay has no effect.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace aster {

template <size_t kLast>
class TypicalOf {
 public:
  void Add(double value) {
    last_[next_] = value;
    next_ = (next_ + 1) % kLast;
    count_ = std::min(count_ + 1, kLast);
  }
  bool is_known() const { return count_ > 0; }
  // Of two, the shorter one: no error makes a step too short. 0 if none is known.
  double value() const {
    std::array<double, kLast> sorted = last_;
    const auto known = std::span(sorted).first(count_);
    std::ranges::sort(known);
    return known.empty() ? 0 : known[(known.size() - 1) / 2];
  }

 private:
  std::array<double, kLast> last_ = {};
  size_t count_ = 0;
  size_t next_ = 0;
};

using Typical = TypicalOf<5>;

}  // namespace aster
