// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Uploads bytes into device memory, through two buffers that the host fills and the device copies
// in turn; or directly if memory is shared. Must not know what the bytes are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "vulkan/driver/buffer.h"
#include "vulkan/driver/commands.h"

namespace aster::vulkan {

// Not for concurrent use. Outlived by its device.
class Uploader {
 public:
  // A device that takes longer for one piece has failed.
  static constexpr int64_t kTimeoutNs = int64_t{30} * 1'000'000'000;

  // At most `piece_bytes` are sent at a time.
  Uploader(Device& device, uint64_t piece_bytes) : device_(device), piece_bytes_(piece_bytes) {}

  uint64_t piece_bytes() const { return piece_bytes_; }

  // Memory to write to, of at most piece_bytes; Send() then copies it to `to` at `offset`.
  Result<std::span<uint8_t>> Stage(const Buffer& to, uint64_t offset, uint64_t bytes);
  Status Send();
  // Waits until all that was sent has arrived.
  Status Finish();

  // Stages and sends all bytes, and waits.
  Status Write(std::span<const uint8_t> bytes, const Buffer& to, uint64_t offset);

 private:
  struct Slot {
    Buffer buffer;
    Commands commands;
    std::optional<uint64_t> submission;  // in flight
  };

  Status Prepare(std::optional<Slot>& slot);
  Status Await(Slot& slot);

  Device& device_;
  const uint64_t piece_bytes_;
  std::array<std::optional<Slot>, 2> slots_;  // made when needed
  size_t next_ = 0;                           // the slot that is filled now
  // Where the staged bytes go; null if they were written in place.
  const Buffer* to_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace aster::vulkan
