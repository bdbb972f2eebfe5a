// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/silence.h"

#include <algorithm>

namespace aster::net {

Silence::Silence(int64_t least_ns, int64_t now_ns)
    : least_ns_(least_ns), received_ns_(now_ns), window_begin_ns_(now_ns) {}

void Silence::OnReceived(int64_t now_ns) {
  const int64_t window_ns = now_ns - window_begin_ns_;
  if (window_ns >= kWindowNs) {
    longest_before_ns_ = window_ns < 2 * kWindowNs ? longest_ns_ : 0;
    longest_ns_ = 0;
    window_begin_ns_ = now_ns;
  }
  longest_ns_ = std::max(longest_ns_, now_ns - received_ns_);
  received_ns_ = std::max(received_ns_, now_ns);
}

int64_t Silence::limit_ns() const {
  const int64_t longest_ns = std::max(longest_ns_, longest_before_ns_);
  return std::clamp(kTimesLongest * longest_ns, least_ns_, kMostTimes * least_ns_);
}

}  // namespace aster::net
