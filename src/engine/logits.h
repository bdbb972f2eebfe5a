// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Logits of a text that is there already: what scripts ask for to compare engines, and what two
// ways of computing are compared by. Must not know sampling.
#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/local_model.h"

namespace aster::engine {

// As many positions as one matrix product is worth.
inline constexpr size_t kDefaultChunk = 512;

// Takes the logits [vocab_size] of the next position.
using LogitsSink = FunctionRef<Status(std::span<const float>)>;

// The hash of logits as they come.
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

// Continues a sequence by `tokens`, at most `chunk` of them at a time, and passes on the logits
// behind each.
Status ComputeLogits(LocalModel& model, kv::PageTable& table, std::span<const int32_t> tokens,
                     size_t chunk, LogitsSink sink);

}  // namespace aster::engine
