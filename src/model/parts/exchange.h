// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How the parts of a group gather what each has computed of one batch: every one sends its columns,
// or its sums, and takes those of the others when they are there. Must not know how messages
// travel, nor what the numbers are.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::model {

// Of one batch and one part. Gathers are numbered from 0 in the order in which every part meets
// them.
class Exchange {
 public:
  virtual ~Exchange() = default;

  enum class To : uint8_t { kAll, kLeader };
  struct Rows {
    Bytes bytes = {};
    // Not numbers, but the 8-bit blocks that products read (kernels/activation_blocks.h).
    bool are_blocks = false;
  };

  // Whether all other parts understand blocks.
  virtual bool TakesBlocks() const = 0;
  // To all other parts, or to the leading one only; never nothing. `rows` may change once this has
  // returned.
  virtual Status Send(uint32_t gather, To to, const Rows& rows) = 0;
  // What another part has sent, aligned for any number; no bytes where it has not come yet. Valid
  // until the next call. An error where it never will.
  virtual Result<Rows> Take(uint32_t gather, uint32_t part) = 0;
};

}  // namespace aster::model
