// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/draft_ledger.h"

#include <algorithm>
#include <utility>

namespace aster::conduct {

void DraftLedger::LearnPlain(double ns) {
  ns = std::max(ns, 1.0);
  typical_ns_.Add(ns);
  plain_count_ = std::min(plain_count_ + 1, kLast);
  average_ns_ += (std::min(ns, kHeldUp * typical_ns_.value()) - average_ns_) / plain_count_;
  account_.Lend(1);
}

void DraftLedger::LearnRun(uint32_t tokens, double ns, double begin_ns) {
  if (!is_known()) return;
  // In the very first text the drafter's memory was allocated, which is not done again.
  const bool is_first = begin_ns > 0 && !std::exchange(has_begun_, true);
  const double beginning = CostOf(begin_ns);
  const double gain = std::max(tokens - CostOf(ns - begin_ns), -kHeldUp);
  account_.Add(is_first ? gain : gain - beginning, beginning);
}

bool DraftLedger::MayDraft(double begin_ns) {
  if (!is_known()) return waited_ >= kPatience || ++waited_ > kPatience;
  return account_.CanPay(has_begun_ ? CostOf(begin_ns) : 0);
}

}  // namespace aster::conduct
