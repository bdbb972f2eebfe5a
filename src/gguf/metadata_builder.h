// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Makes the metadata of a new file: set key by key, or copied from a file and changed. Everything
// is stored in the file's encoding. Knows no key by name.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "gguf/metadata.h"
#include "gguf/types.h"

namespace aster::gguf {

template <typename T, typename... Options>
concept OneOf = (std::same_as<T, Options> || ...);

template <typename T>
concept MetadataScalar = OneOf<T, bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t,
                               uint64_t, int64_t, float, double>;

// The value type of a T.
template <MetadataScalar T>
constexpr ValueType ValueTypeOf() {
  if constexpr (std::same_as<T, bool>) return ValueType::kBool;
  if constexpr (std::same_as<T, float>) return ValueType::kFloat32;
  if constexpr (std::same_as<T, double>) return ValueType::kFloat64;
  if constexpr (std::same_as<T, uint8_t>) return ValueType::kUint8;
  if constexpr (std::same_as<T, int8_t>) return ValueType::kInt8;
  if constexpr (std::same_as<T, uint16_t>) return ValueType::kUint16;
  if constexpr (std::same_as<T, int16_t>) return ValueType::kInt16;
  if constexpr (std::same_as<T, uint32_t>) return ValueType::kUint32;
  if constexpr (std::same_as<T, int32_t>) return ValueType::kInt32;
  if constexpr (std::same_as<T, uint64_t>) return ValueType::kUint64;
  if constexpr (std::same_as<T, int64_t>) return ValueType::kInt64;
}

// A text in the file's encoding: its length, then its bytes.
void WriteText(ByteWriter& out, std::string_view text);

// An array in the file's encoding.
class EncodedArray {
 public:
  // values: a vector or span of T.
  template <MetadataScalar T, typename Range>
  static EncodedArray Of(const Range& values) {
    EncodedArray array(ValueTypeOf<T>(), std::size(values));
    for (const T value : values) array.out_.Write<T>(value);
    return array;
  }
  static EncodedArray OfStrings(std::span<const std::string> values);
  static EncodedArray OfStrings(std::span<const std::string_view> values);
  static EncodedArray OfArrays(std::span<const EncodedArray> values);

  Bytes bytes() const { return out_.bytes(); }

 private:
  EncodedArray(ValueType element_type, uint64_t count);

  ByteWriter out_;
};

// Not for concurrent use.
class MetadataBuilder {
 public:
  struct Encoded {
    ValueType type;
    std::vector<uint8_t> bytes;  // the value in the file's encoding, after its type
  };

  // Each of these replaces the key's value, in its place; a new key goes to the end.
  template <MetadataScalar T>
  void Set(std::string_view key, T value) {
    Put(key, ValueTypeOf<T>(), {reinterpret_cast<const uint8_t*>(&value), sizeof(T)});
  }
  void Set(std::string_view key, std::string_view value);
  void Set(std::string_view key, const char* value) { Set(key, std::string_view(value)); }
  void Set(std::string_view key, const EncodedArray& value) {
    Put(key, ValueType::kArray, value.bytes());
  }
  template <MetadataScalar T>
  void Set(std::string_view key, const std::vector<T>& values) {
    Set(key, EncodedArray::Of<T>(values));
  }
  void Set(std::string_view key, const std::vector<std::string>& values) {
    Set(key, EncodedArray::OfStrings(values));
  }
  void Set(std::string_view key, const std::vector<std::string_view>& values) {
    Set(key, EncodedArray::OfStrings(values));
  }
  void Set(std::string_view key, const Encoded& value) { Put(key, value.type, value.bytes); }

  // Copies from a file.
  void Copy(const Value& value);
  void CopyAll(const Metadata& metadata);

  void Remove(std::string_view key);
  // Removes every key with this prefix.
  void RemovePrefix(std::string_view prefix);

  size_t size() const { return keys_.size(); }
  bool Contains(std::string_view key) const { return values_.find(key) != values_.end(); }
  // Null if the key is not set.
  const Encoded* Find(std::string_view key) const;
  // In the order in which they are written.
  std::span<const std::string> keys() const { return keys_; }

 private:
  void Put(std::string_view key, ValueType type, Bytes bytes);

  std::vector<std::string> keys_;
  std::map<std::string, Encoded, std::less<>> values_;
};

}  // namespace aster::gguf
