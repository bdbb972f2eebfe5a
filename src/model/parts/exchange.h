// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How the parts of a group exchange the results of one batch: each sends its columns or sums, and
// takes those of the others when they have arrived. Must not know how messages travel, nor what the
// numbers are.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::model {

// For one batch and one part. Gathers are numbered from 0, in the same order on every part.
class Exchange {
 public:
  virtual ~Exchange() = default;

  enum class To : uint8_t { kAll, kLeader };
  struct Rows {
    Bytes bytes = {};
    // Not floats, but the 8-bit blocks that products read (kernels/activation_blocks.h).
    bool are_blocks = false;
  };

  // Whether all other parts understand blocks.
  virtual bool TakesBlocks() const = 0;
  // Sends rows, never empty, to all other parts or only to the leader; they may change afterwards.
  virtual Status Send(uint32_t gather, To to, const Rows& rows) = 0;
  // Takes rows that another part has sent, aligned for any number; no bytes if they have not
  // arrived yet. Valid until the next call. An error if they never will.
  virtual Result<Rows> Take(uint32_t gather, uint32_t part) = 0;
};

}  // namespace aster::model
