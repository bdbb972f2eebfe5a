// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Compares attention over pages, and writing pages, on a device with the reference. Must not know
// which sizes are worth checking.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/ops.h"
#include "kernels/pages.h"
#include "vulkan/check/workbench.h"

namespace aster::vulkan {

struct AttentionSize {
  int key_dim;
  int value_dim;
  uint32_t heads;  // queries of a key/value head
  uint32_t kv_heads;
  uint32_t tokens;
  uint32_t position;  // of the first token
  uint32_t window = 0;
  uint32_t window_sinks = 0;    // positions at the start that stay visible
  bool sinks = false;           // logits of one more weight a head
  bool split = false;           // pages by themselves, merged afterwards
  bool largest_blocks = false;  // of rows, whatever suits the device
  float query_scale = 1.0f;     // a large one makes tiny weights
  float cap = 0.0f;             // of scores; 0: none
  uint32_t block_rows = 0;      // unless it is none: what blocks have, if the device takes so many
  bool infinities = false;      // one in the values of each page, some among keys
  bool vanishing = false;       // queries and weights so small that their products are denormals
};
Status CheckAttention(Workbench& bench, kernels::KvType type, const AttentionSize& size,
                      CheckValues values, uint64_t seed);

// Writes two spans of rows into pages with content.
struct WriteRowsSize {
  int key_dim;
  int value_dim;
  uint32_t kv_heads;
  uint32_t position;
  uint32_t rows;
  // RoPE turns this many pairs of a key, after its first `unrotated` elements.
  uint32_t pairs = 0;
  uint32_t unrotated = 0;
  kernels::RopeLayout layout = kernels::RopeLayout::kAdjacent;
};
Status CheckWriteRows(Workbench& bench, kernels::KvType type, const WriteRowsSize& size,
                      CheckValues values, uint64_t seed);

}  // namespace aster::vulkan
