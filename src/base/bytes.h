// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads and writes little-endian values in untrusted byte buffers. A ByteReader never reads past
// its end, and a length in the data is compared with the rest before it is used.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aster {

static_assert(std::endian::native == std::endian::little,
              "the file and wire formats are little-endian and read without swapping");

using Bytes = std::span<const uint8_t>;

inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T>
concept Scalar = std::is_arithmetic_v<T>;

// The value whose bytes are at `source`, aligned or not.
template <typename T>
  requires std::is_trivially_copyable_v<T>
T LoadUnaligned(const void* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

// A cursor over bytes it does not own. Not for concurrent use.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }
  bool at_end() const { return left() == 0; }

  template <Scalar T>
  Result<T> Read() {
    if (left() < sizeof(T)) return Truncated(sizeof(T));
    T value = LoadUnaligned<T>(bytes_.data() + offset_);
    offset_ += sizeof(T);
    return value;
  }

  // The next `size` bytes, still in the buffer.
  Result<Bytes> ReadBytes(uint64_t size);

  // A count of elements of at least `element_bytes` each, as type T: an error if fewer can follow.
  template <std::unsigned_integral T>
  Result<T> ReadCount(size_t element_bytes) {
    DCHECK(element_bytes > 0);
    const T count = TRY(Read<T>());
    if (count > left() / element_bytes) return Truncated(count, element_bytes);
    return count;
  }

  Status Skip(uint64_t size);

 private:
  Error Truncated(uint64_t wanted_count, size_t element_bytes = 1) const;

  Bytes bytes_;
  size_t offset_ = 0;
};

// Appends to a buffer it owns.
class ByteWriter {
 public:
  template <Scalar T>
  void Write(T value) {
    Append(&value, sizeof(T));
  }
  void WriteBytes(Bytes bytes) { Append(bytes.data(), bytes.size()); }
  void PadTo(size_t alignment) {
    buffer_.resize((buffer_.size() + alignment - 1) / alignment * alignment);
  }

  size_t size() const { return buffer_.size(); }
  Bytes bytes() const { return buffer_; }
  // The buffer itself.
  std::vector<uint8_t> Release() && { return std::move(buffer_); }

 private:
  // vector::insert would do, but g++ 12 warns of overflows in it that do not exist.
  void Append(const void* data, size_t size) {
    const size_t begin = buffer_.size();
    buffer_.resize(begin + size);
    if (size > 0) std::memcpy(buffer_.data() + begin, data, size);
  }

  std::vector<uint8_t> buffer_;
};

}  // namespace aster
