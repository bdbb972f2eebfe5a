// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Logits of an existing text: scripts use them to compare engines, and verify to compare two ways
// of computing. Must not know sampling.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/local_model.h"

namespace aster::engine {

// The positions of one good matrix product.
inline constexpr size_t kDefaultChunk = 512;

// Takes the logits [vocab_size] of the next position.
using LogitsSink = FunctionRef<Status(std::span<const float>)>;

// A running hash of logits.
class LogitsHash {
 public:
  Status Add(std::span<const float> logits) {
    hasher_.Add({reinterpret_cast<const uint8_t*>(logits.data()), logits.size_bytes()});
    return Ok();
  }
  Hash128 Digest() const { return hasher_.Digest(); }

 private:
  Hasher hasher_;
};

// Continues a sequence by `tokens`, at most `chunk` at a time, and passes on the logits after each.
Status ComputeLogits(LocalModel& model, kv::PageTable& table, std::span<const int32_t> tokens,
                     size_t chunk, LogitsSink sink);

}  // namespace aster::engine
