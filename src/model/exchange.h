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
  // To all other parts, or to the leading one only; never nothing. `rows` may change once this has
  // returned.
  virtual Status Send(uint32_t gather, To to, Bytes rows) = 0;
  // What another part has sent, aligned for any number; empty where it has not come yet. Valid
  // until the next call. An error where it never will.
  virtual Result<Bytes> Take(uint32_t gather, uint32_t part) = 0;
};

}  // namespace aster::model
