// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pages in the memory of a device. Operations on blocks are recorded and run in order, before all
// work that is submitted after the next Flush; only reading waits. Must not know what pages hold.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "kv/page_memory.h"
#include "vulkan/backend/arena.h"
#include "vulkan/backend/hazards.h"
#include "vulkan/driver/commands.h"

namespace aster::vulkan {

class DevicePages;

class DeviceBlock final : public kv::MemoryBlock {
 public:
  DeviceBlock(DevicePages& pages, Buffer buffer)
      : MemoryBlock(nullptr, buffer.bytes()), pages_(pages), buffer_(std::move(buffer)) {}
  ~DeviceBlock() override;

  Address address() const { return buffer_.address(); }

  Status Zero(size_t offset, size_t count) override;
  Status Copy(size_t offset, const MemoryBlock& from, size_t from_offset, size_t count) override;
  Status Read(size_t offset, std::span<uint8_t> out) const override;
  Status Write(size_t offset, std::span<const uint8_t> in) override;
  // The block keeps its memory, as a device cannot take back a part of it.
  Status GiveBack(size_t offset, size_t count) override { return Zero(offset, count); }

 private:
  friend class DevicePages;

  DevicePages& pages_;
  Buffer buffer_;
};

// Zero if there is no page.
inline Address AddressOf(const kv::PageAddress& page) {
  if (!page) return 0;
  CHECK_NOTE(page.block->host() == nullptr, "a page of the host's, not of this GPU's");
  return static_cast<const DeviceBlock*>(page.block)->address() + page.offset;
}

// Bytes of a page from an offset on, and where to copy them.
struct PageBytes {
  kv::PageAddress page;
  size_t offset;
  std::span<uint8_t> out;
};

// Belongs to the thread of its back end. Outlived by its device.
class DevicePages final : public kv::PageMemory {
 public:
  explicit DevicePages(Device& device) : device_(device) {}

  Result<std::unique_ptr<kv::MemoryBlock>> Map(size_t bytes) override;

  // Reads all of them, which are few, with one wait.
  Status ReadAll(std::span<const PageBytes> wanted);

  // Submits recorded work. If that fails, the content of pages is wrong: from then on all calls
  // fail.
  Status Flush();
  bool failed() const { return failure_.has_value(); }

 private:
  friend class DeviceBlock;

  // Recorded work on pages, and the rows that it writes.
  struct Slot {
    Commands commands;
    Arena uploads;
    std::optional<uint64_t> submission;  // in flight
  };

  Status Open();
  Status Send();
  Status MakeDownloads();
  Status Await(Slot& slot);
  Commands& Using(Range read, Range write);

  Status Zero(const Buffer& buffer, uint64_t offset, uint64_t bytes);
  Status Copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t offset,
              uint64_t bytes);
  Status Read(const Buffer& buffer, uint64_t offset, std::span<uint8_t> out);
  Status Write(const Buffer& buffer, uint64_t offset, std::span<const uint8_t> in);

  Device& device_;
  std::array<std::optional<Slot>, 2> slots_;  // made when needed
  size_t current_ = 0;                        // the slot that is recorded
  bool is_recording_ = false;
  Hazards hazards_;
  std::optional<Error> failure_;     // work was lost: the content of pages is wrong
  uint64_t staged_bytes_ = 0;        // of the current slot
  std::optional<Buffer> downloads_;  // for one piece
};

}  // namespace aster::vulkan
