// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/large_pages.h"

namespace aster::kv {
namespace {

class HostBlock final : public MemoryBlock {
 public:
  HostBlock(uint8_t* data, size_t bytes) : MemoryBlock(data, bytes) {}
  ~HostBlock() override { munmap(host(), bytes()); }

  Status Zero(size_t offset, size_t count) override {
    std::memset(At(offset, count), 0, count);
    return Ok();
  }
  Status Copy(size_t offset, const MemoryBlock& from, size_t from_offset, size_t count) override {
    CHECK(from_offset + count <= from.bytes());
    std::memcpy(At(offset, count), from.host() + from_offset, count);
    return Ok();
  }
  Status Read(size_t offset, std::span<uint8_t> out) const override {
    std::memcpy(out.data(), At(offset, out.size()), out.size());
    return Ok();
  }
  Status Write(size_t offset, std::span<const uint8_t> in) override {
    std::memcpy(At(offset, in.size()), in.data(), in.size());
    return Ok();
  }
  Status GiveBack(size_t offset, size_t count) override {
    CHECK(madvise(At(offset, count), count, MADV_DONTNEED) == 0);
    return Ok();
  }

 private:
  uint8_t* At(size_t offset, size_t count) const {
    CHECK(offset + count <= bytes());
    return host() + offset;
  }
};

class HostPageMemory final : public PageMemory {
 public:
  Result<std::unique_ptr<MemoryBlock>> Map(size_t bytes) override {
    uint8_t* const data = MapLargePages(bytes, /*reserved=*/false);
    if (data == nullptr) {
      return SystemError(
          errno, fmt::format("the system has no {} bytes of memory for the KV cache", bytes));
    }
    return std::make_unique<HostBlock>(data, bytes);
  }
};

}  // namespace

PageMemory& HostPages() {
  static HostPageMemory memory;
  return memory;
}

Result<uint8_t*> ReadPage(const PageAddress& page, size_t bytes, std::vector<uint8_t>& copy) {
  if (page.block->host() != nullptr) return HostPage(page);
  copy.resize(bytes);
  TRY(page.block->Read(page.offset, copy));
  return copy.data();
}

}  // namespace aster::kv
