// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/draft_account.h"

#include <algorithm>

namespace aster::engine {

void DraftAccount::Add(double gain, double beginning) {
  // Beginnings may have become cheaper: what was saved for them is not taken away.
  const double most = std::max({kMost, kMostBeginnings * beginning, credit_});
  credit_ = std::min(credit_ + gain, most);
}

uint32_t DraftAccount::StepsUntilItCanPay(double cost) const {
  if (CanPay(cost)) return 0;
  constexpr double kMostSteps = 1 << 20;
  return static_cast<uint32_t>(std::min((cost - credit_) / kLent, kMostSteps)) + 1;
}

}  // namespace aster::engine
