// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Writes GGUF bytes field by field, valid or not, for tests of the reader. Independent of the real
// writer, so that an error there cannot hide one in the reader.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "gguf/types.h"

namespace aster::gguf {

class RawFile {
 public:
  RawFile& Header(uint64_t tensor_count, uint64_t value_count, uint32_t version = 3) {
    out_.WriteBytes(AsBytes("GGUF"));
    out_.Write<uint32_t>(version);
    out_.Write<uint64_t>(tensor_count);
    out_.Write<uint64_t>(value_count);
    return *this;
  }
  template <Scalar T>
  RawFile& Put(T value) {
    out_.Write<T>(value);
    return *this;
  }
  RawFile& Put(ValueType type) { return Put(static_cast<uint32_t>(type)); }
  RawFile& Text(std::string_view text) {
    out_.Write<uint64_t>(text.size());
    out_.WriteBytes(AsBytes(text));
    return *this;
  }
  template <Scalar T>
  RawFile& Key(std::string_view key, ValueType type, T value) {
    return Text(key).Put(type).Put(value);
  }
  RawFile& Key(std::string_view key, std::string_view value) {
    return Text(key).Put(ValueType::kString).Text(value);
  }
  RawFile& Tensor(std::string_view name, std::initializer_list<uint64_t> dims, TensorType type,
                  uint64_t offset) {
    Text(name).Put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) Put(dim);
    return Put(static_cast<uint32_t>(type)).Put(offset);
  }
  RawFile& Pad(size_t alignment = 32) {
    out_.PadTo(alignment);
    return *this;
  }
  RawFile& Fill(size_t count, uint8_t byte = 0xAB) {
    out_.WriteBytes(std::vector<uint8_t>(count, byte));
    return *this;
  }

  Bytes bytes() const { return out_.bytes(); }

 private:
  ByteWriter out_;
};

// Two keys, two tensors: F32 [4, 2] and Q8_0 [32].
inline RawFile SmallRawFile() {
  RawFile raw;
  raw.Header(2, 2)
      .Key("general.architecture", "llama")
      .Key("llama.block_count", ValueType::kUint32, uint32_t{7})
      .Tensor("a", {4, 2}, TensorType::kF32, 0)
      .Tensor("b", {32}, TensorType::kQ8_0, 32)
      .Pad()
      .Fill(32, 1)
      .Fill(34, 2);
  return raw;
}

}  // namespace aster::gguf
