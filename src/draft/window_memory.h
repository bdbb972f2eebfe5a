// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory of drafters that see only a window of an answer's rows. Must not know what they draft.
#pragma once

#include <cstdint>

#include "kv/layout.h"

namespace aster::draft {

// Bytes for the most answers that are drafted for at once; further ones have no drafts. `rows`: the
// most that are computed at once.
inline uint64_t WindowBytes(const kv::Layout& layout, uint32_t window, uint32_t rows) {
  constexpr uint64_t kMostAnswers = 128;
  const uint32_t longest = window + layout.slack() + 2 * layout.page_positions() + rows;
  // Each answer has its window, and a copy for rows of draft tokens.
  return kMostAnswers * 2 * layout.BytesFor(layout.all_layers(), longest, rows);
}

}  // namespace aster::draft
