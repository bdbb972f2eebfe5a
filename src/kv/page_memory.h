// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory of pages: the processor's, or that of a device, which only its back end can address.
// Mapped in large blocks, and returned page by page. Must not know what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace aster::kv {

// A block of zeroed memory. Not for concurrent use. Reading and writing a device's memory waits for
// the device's computations, and fails if the device is lost.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  // The bytes' address for the processor; null if only a device can address them.
  uint8_t* host() const { return host_; }
  size_t bytes() const { return bytes_; }

  virtual Status Zero(size_t offset, size_t bytes) = 0;
  // Copies bytes from a block of the same memory.
  virtual Status Copy(size_t offset, const MemoryBlock& from, size_t from_offset, size_t bytes) = 0;
  virtual Status Read(size_t offset, std::span<uint8_t> out) const = 0;
  virtual Status Write(size_t offset, std::span<const uint8_t> bytes) = 0;

  // The bytes (whole pages of the system) are zeros from now on. The processor's memory goes back
  // to the system until they are written again.
  virtual Status GiveBack(size_t offset, size_t bytes) = 0;

 protected:
  MemoryBlock(uint8_t* host, size_t bytes) : host_(host), bytes_(bytes) {}

 private:
  uint8_t* const host_;
  const size_t bytes_;
};

// Outlives its blocks.
class PageMemory {
 public:
  virtual ~PageMemory() = default;

  // `bytes` is a multiple of the system's page.
  virtual Result<std::unique_ptr<MemoryBlock>> Map(size_t bytes) = 0;
};

// The processor's memory, mapped in large pages (base/large_pages.h). Takes no memory until it is
// touched.
PageMemory& HostPages();

// Where a page is. Valid as long as a reference to the page exists.
struct PageAddress {
  MemoryBlock* block = nullptr;  // null: there is no page
  size_t offset = 0;

  explicit operator bool() const { return block != nullptr; }
  bool operator==(const PageAddress&) const = default;
};

// The address of a page in the processor's memory; null for no page, or one on a device.
inline uint8_t* HostPage(const PageAddress& page) {
  return page ? page.block->host() + page.offset : nullptr;
}

// The page's bytes: in place if the processor can address them, else copied to `copy`.
Result<uint8_t*> ReadPage(const PageAddress& page, size_t bytes, std::vector<uint8_t>& copy);

}  // namespace aster::kv
