// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How many bytes of rows are on their way from this node to each other one, whatever they are for,
// so that no queue grows with the number of texts that are wanted in one place. Must not know what
// rows are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "wire/messages.h"

namespace aster::stage {

// Of rows that one node has not taken yet.
inline constexpr uint64_t kMaxInFlightBytes = uint64_t{32} << 20;

// Belongs to the thread that computes.
class KvInFlight {
 public:
  // Bytes that were sent; they count until it is destroyed.
  class InFlightBytes {
   public:
    InFlightBytes(std::shared_ptr<KvInFlight> all, const wire::NodeId& to, uint64_t bytes)
        : all_(std::move(all)), to_(to), bytes_(bytes) {
      all_->bytes_[to_] += bytes_;
    }
    InFlightBytes(InFlightBytes&& other) noexcept = default;  // leaves it without `all_`
    InFlightBytes& operator=(InFlightBytes&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(to_, other.to_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~InFlightBytes() {
      if (all_) all_->bytes_[to_] -= bytes_;
    }

   private:
    std::shared_ptr<KvInFlight> all_;
    wire::NodeId to_;
    uint64_t bytes_;
  };

  explicit KvInFlight(uint64_t most_bytes = kMaxInFlightBytes) : most_bytes_(most_bytes) {}

  // Whether more may be sent there. Whoever has nothing under way yet may send one KV chunk beside
  // those of others, so that nobody waits for the end of a long text; but for so many only that a
  // queue holds them all.
  bool MaySend(const wire::NodeId& to, bool has_some) const {
    const auto found = bytes_.find(to);
    const uint64_t bytes = found == bytes_.end() ? 0 : found->second;
    return bytes < most_bytes_ || (!has_some && bytes < kSparingly * most_bytes_);
  }

 private:
  static constexpr uint64_t kSparingly = 8;

  const uint64_t most_bytes_;
  std::map<wire::NodeId, uint64_t> bytes_;  // zero for some
};

}  // namespace aster::stage
