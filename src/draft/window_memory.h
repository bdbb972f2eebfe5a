// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Memory of drafters that see only a window of an answer's rows. Must not know what they draft.
#pragma once

#include <cstdint>

#include "kv/layout.h"

namespace aster::draft {

// For as many answers at once as can be drafted for. One that finds no memory has no drafts.
// `rows`: that are computed at once, at most.
inline uint64_t WindowBytes(const kv::Layout& layout, uint32_t window, uint32_t rows) {
  constexpr uint64_t kMostAnswers = 128;
  const uint32_t longest = window + layout.slack() + 2 * layout.page_positions() + rows;
  // Of each answer its window, and the copy that runs ahead of it.
  return kMostAnswers * 2 * layout.BytesFor(layout.all_layers(), longest, rows);
}

}  // namespace aster::draft
