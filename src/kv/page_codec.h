// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The format of a stream's rows in a page of memory, which kernels choose for their speed. In
// messages and on disk there are plain rows. The model layer implements this with functions of the
// kernels. Must not know layers, sequences or what a row means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aster::kv {

// Constant after construction, so any number of threads may use it.
class PageCodec {
 public:
  virtual ~PageCodec() = default;

  // Names the format of a plain row: "f16 8x64 keys and values". Two codecs of one format agree on
  // every byte of a plain row.
  virtual std::string_view format() const = 0;
  virtual size_t row_bytes() const = 0;  // of a plain row
  virtual uint32_t page_rows() const = 0;
  virtual size_t page_bytes() const = 0;  // pages start at multiples of kPageAlignment

  // Convert rows [first_row, first_row + row_count) of a page from or to plain rows [row_count,
  // row_bytes]. They are exact inverses; writing touches no other row.
  virtual void ReadRows(const uint8_t* page, uint32_t first_row, uint32_t row_count,
                        uint8_t* rows) const = 0;
  virtual void WriteRows(uint8_t* page, uint32_t first_row, uint32_t row_count,
                         const uint8_t* rows) const = 0;
};

// Pages start at multiples of this many bytes, and take multiples of it: the smallest unit of
// memory that can be returned to the system.
inline constexpr size_t kPageAlignment = 4096;

constexpr size_t AlignedPageBytes(size_t page_bytes) {
  return (page_bytes + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
}

// Rows that lie one after another.
class PlainCodec final : public PageCodec {
 public:
  PlainCodec(std::string format, size_t row_bytes, uint32_t page_rows)
      : format_(std::move(format)), row_bytes_(row_bytes), page_rows_(page_rows) {}

  std::string_view format() const override { return format_; }
  size_t row_bytes() const override { return row_bytes_; }
  uint32_t page_rows() const override { return page_rows_; }
  size_t page_bytes() const override { return row_bytes_ * page_rows_; }
  void ReadRows(const uint8_t* page, uint32_t first_row, uint32_t row_count,
                uint8_t* rows) const override;
  void WriteRows(uint8_t* page, uint32_t first_row, uint32_t row_count,
                 const uint8_t* rows) const override;

 private:
  const std::string format_;
  const size_t row_bytes_;
  const uint32_t page_rows_;
};

}  // namespace aster::kv
