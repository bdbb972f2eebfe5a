// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The key-value part of a GGUF file, as views into the file's bytes: an array of 150,000 strings
// costs nothing until it is read. Knows no key by name: model/ and text/ know what keys mean.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "gguf/types.h"

namespace aster::gguf {

class Array;

// One key and its value. The typed getter converts what converts safely (any whole number that
// fits, numbers to floats of either size, 0 and 1 to bool); otherwise its error names the key, the
// needed type and the found one. A view: valid as long as the file's bytes.
class Value {
 public:
  // payload: the bytes in the file after its type (for a string after its length), already checked
  // to be complete and well formed.
  Value(std::string_view key, ValueType type, Bytes payload)
      : key_(key), type_(type), payload_(payload) {}

  std::string_view key() const { return key_; }
  ValueType type() const { return type_; }
  Bytes payload() const { return payload_; }
  // "u32", "string", "string[128256]"
  std::string TypeText() const;

  // T: bool, any sized integer, float, double, std::string_view, std::string, Array, or a
  // std::vector of one of these except Array.
  template <typename T>
  Result<T> As() const;

 private:
  std::string_view key_;
  ValueType type_;
  Bytes payload_;
};

// Iterates over the strings of an array without copying them.
class StringIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = std::string_view;
  using difference_type = std::ptrdiff_t;
  using pointer = const std::string_view*;
  using reference = std::string_view;

  StringIterator() = default;
  explicit StringIterator(const uint8_t* position) : position_(position) {}

  std::string_view operator*() const {
    return AsText({position_ + sizeof(uint64_t), LoadUnaligned<uint64_t>(position_)});
  }
  StringIterator& operator++() {
    position_ += sizeof(uint64_t) + LoadUnaligned<uint64_t>(position_);
    return *this;
  }
  StringIterator operator++(int) {
    StringIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const StringIterator&) const = default;

 private:
  const uint8_t* position_ = nullptr;
};

class StringRange {
 public:
  explicit StringRange(Bytes payload) : payload_(payload) {}
  StringIterator begin() const { return StringIterator(payload_.data()); }
  StringIterator end() const { return StringIterator(payload_.data() + payload_.size()); }

 private:
  Bytes payload_;
};

// An array value. Also a view.
class Array {
 public:
  Array(std::string_view key, ValueType element_type, uint64_t size, Bytes elements)
      : key_(key), element_type_(element_type), size_(size), elements_(elements) {}

  std::string_view key() const { return key_; }
  ValueType element_type() const { return element_type_; }
  uint64_t size() const { return size_; }
  // The elements' bytes in the file, not aligned.
  Bytes elements() const { return elements_; }

  // The elements of an array of strings.
  Result<StringRange> Strings() const;
  // All elements as T, converted as by Value::As.
  template <typename T>
  Result<std::vector<T>> ToVector() const;
  // The first elements, at most `count`, as values (of any type, also arrays).
  std::vector<Value> First(uint64_t count) const;

 private:
  std::string_view key_;
  ValueType element_type_;
  uint64_t size_;
  Bytes elements_;
};

// All keys of a file, in the file's order. Constant after construction.
class Metadata {
 public:
  Metadata() = default;
  // An error if two values have the same key.
  static Result<Metadata> Of(std::vector<Value> values);

  size_t size() const { return values_.size(); }
  std::vector<Value>::const_iterator begin() const { return values_.begin(); }
  std::vector<Value>::const_iterator end() const { return values_.end(); }

  // Null if there is no such key.
  const Value* Find(std::string_view key) const;
  bool Contains(std::string_view key) const { return Find(key) != nullptr; }

  // The value; an error if the key is missing or has another type.
  template <typename T>
  Result<T> Get(std::string_view key) const {
    const Value* value = Find(key);
    if (value == nullptr) return Missing(key);
    return value->As<T>();
  }

  // The same, but a missing key is not an error (another type is).
  template <typename T>
  Result<std::optional<T>> GetIfPresent(std::string_view key) const {
    const Value* value = Find(key);
    if (value == nullptr) return std::optional<T>();
    return std::optional<T>(TRY(value->As<T>()));
  }

  // The same with a value for a missing key.
  template <typename T>
  Result<T> GetOr(std::string_view key, T fallback) const {
    const Value* value = Find(key);
    if (value == nullptr) return fallback;
    return value->As<T>();
  }

  // One number for each of `count` layers: the key has an array, or one number for all of them.
  template <typename T>
  Result<std::vector<T>> GetPerLayer(std::string_view key, size_t count) const;

 private:
  static Error Missing(std::string_view key);

  std::vector<Value> values_;
  std::vector<size_t> by_key_;  // indices of values_, by ascending key
};

// For users, without control characters that could confuse a terminal: a key or a tensor's name
// (cut if long); a value (strings quoted, only the first elements of arrays).
std::string NameText(std::string_view name);
std::string ToText(const Value& value, size_t max_elements = 8, size_t max_bytes = 200);

}  // namespace aster::gguf
