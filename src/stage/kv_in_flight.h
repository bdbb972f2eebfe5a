// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bounds the bytes of KV rows in flight from this node to each other node, over all transfers, so
// that no queue grows with the number of sequences (backpressure). Must not know what rows are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "wire/messages.h"

namespace aster::stage {

// Limit for rows that were sent to one node and not taken yet.
inline constexpr uint64_t kMaxInFlightBytes = uint64_t{32} << 20;

// Belongs to the thread that computes.
class KvInFlight {
 public:
  // Bytes that were sent; they count until it is destroyed.
  class InFlightBytes {
   public:
    InFlightBytes(std::shared_ptr<KvInFlight> all, const wire::NodeId& to, uint64_t bytes)
        : all_(std::move(all)), to_(to), bytes_(bytes) {
      all_->bytes_[to_].bytes += bytes_;
      ++all_->bytes_[to_].count;
    }
    InFlightBytes(InFlightBytes&& other) noexcept = default;  // leaves it without `all_`
    InFlightBytes& operator=(InFlightBytes&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(to_, other.to_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~InFlightBytes() {
      if (!all_) return;
      const auto found = all_->bytes_.find(to_);
      found->second.bytes -= bytes_;
      if (--found->second.count == 0) all_->bytes_.erase(found);
    }

   private:
    std::shared_ptr<KvInFlight> all_;
    wire::NodeId to_;
    uint64_t bytes_;
  };

  explicit KvInFlight(uint64_t most_bytes = kMaxInFlightBytes) : most_bytes_(most_bytes) {}

  // Whether a transfer may send more to that node. `has_some`: it has rows in flight already. One
  // that has none may exceed the limit by a KV chunk, so that it does not wait for the end of a
  // long transfer; a second limit keeps queues bounded.
  bool MaySend(const wire::NodeId& to, bool has_some) const {
    const auto found = bytes_.find(to);
    const uint64_t bytes = found == bytes_.end() ? 0 : found->second.bytes;
    return bytes < most_bytes_ || (!has_some && bytes < kFirstChunkFactor * most_bytes_);
  }

 private:
  static constexpr uint64_t kFirstChunkFactor = 8;
  struct ToNode {
    uint64_t bytes = 0;
    uint64_t count = 0;  // of InFlightBytes
  };

  const uint64_t most_bytes_;
  std::map<wire::NodeId, ToNode> bytes_;  // only of nodes that rows are in flight to
};

}  // namespace aster::stage
