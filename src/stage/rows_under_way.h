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
inline constexpr uint64_t kMaxUnderWayBytes = uint64_t{32} << 20;

// Belongs to the thread that computes.
class RowsUnderWay {
 public:
  // Bytes that were sent; they count until it is destroyed.
  class Share {
   public:
    Share(std::shared_ptr<RowsUnderWay> all, const wire::NodeId& to, uint64_t bytes)
        : all_(std::move(all)), to_(to), bytes_(bytes) {
      all_->bytes_[to_] += bytes_;
    }
    Share(Share&& other) noexcept = default;  // leaves it without `all_`
    Share& operator=(Share&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(to_, other.to_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (all_) all_->bytes_[to_] -= bytes_;
    }

   private:
    std::shared_ptr<RowsUnderWay> all_;
    wire::NodeId to_;
    uint64_t bytes_;
  };

  explicit RowsUnderWay(uint64_t most_bytes = kMaxUnderWayBytes) : most_bytes_(most_bytes) {}

  // Whether more may be sent there. Whoever has nothing under way yet may send one parcel beside
  // those of others, so that nobody waits for the end of a long text; but for so many only that a
  // queue holds them all.
  bool MayGo(const wire::NodeId& to, bool has_some) const {
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
