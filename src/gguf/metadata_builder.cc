// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/metadata_builder.h"

#include <algorithm>

namespace aster::gguf {

void WriteText(ByteWriter& out, std::string_view text) {
  out.Write<uint64_t>(text.size());
  out.WriteBytes(AsBytes(text));
}

EncodedArray::EncodedArray(ValueType element_type, uint64_t count) {
  out_.Write<uint32_t>(static_cast<uint32_t>(element_type));
  out_.Write<uint64_t>(count);
}

EncodedArray EncodedArray::OfStrings(std::span<const std::string> values) {
  EncodedArray array(ValueType::kString, values.size());
  for (const std::string& value : values) WriteText(array.out_, value);
  return array;
}

EncodedArray EncodedArray::OfStrings(std::span<const std::string_view> values) {
  EncodedArray array(ValueType::kString, values.size());
  for (const std::string_view value : values) WriteText(array.out_, value);
  return array;
}

EncodedArray EncodedArray::OfArrays(std::span<const EncodedArray> values) {
  EncodedArray array(ValueType::kArray, values.size());
  for (const EncodedArray& value : values) array.out_.WriteBytes(value.bytes());
  return array;
}

void MetadataBuilder::Set(std::string_view key, std::string_view value) {
  ByteWriter out;
  WriteText(out, value);
  Put(key, ValueType::kString, out.bytes());
}

void MetadataBuilder::Copy(const Value& value) {
  if (value.type() == ValueType::kString) {
    Set(value.key(), AsText(value.payload()));
  } else {
    Put(value.key(), value.type(), value.payload());
  }
}

void MetadataBuilder::CopyAll(const Metadata& metadata) {
  for (const Value& value : metadata) Copy(value);
}

void MetadataBuilder::Remove(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return;
  values_.erase(found);
  std::erase(keys_, key);
}

void MetadataBuilder::RemovePrefix(std::string_view prefix) {
  const auto begins_so = [&](const std::string& key) { return key.starts_with(prefix); };
  std::erase_if(values_, [&](const auto& entry) { return begins_so(entry.first); });
  std::erase_if(keys_, begins_so);
}

const MetadataBuilder::Encoded* MetadataBuilder::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found != values_.end() ? &found->second : nullptr;
}

void MetadataBuilder::Put(std::string_view key, ValueType type, Bytes bytes) {
  if (!Contains(key)) keys_.emplace_back(key);
  values_[std::string(key)] = {type, {bytes.begin(), bytes.end()}};
}

}  // namespace aster::gguf
