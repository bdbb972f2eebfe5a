// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/value.h"

#include <functional>

#include "jinja/unicode.h"

namespace aster::jinja {
namespace {

// Up to this size, comparing every key is faster than hashing.
constexpr size_t kSearchedSize = 8;

size_t HashOf(char tag, std::string_view bytes) {
  return std::hash<std::string_view>()(bytes) ^ static_cast<size_t>(tag);
}

}  // namespace

Result<Value> Special::Attribute(Runtime& /*runtime*/, std::string_view /*name*/) {
  return Value();
}

size_t String::CodePoints() const {
  if (!code_points_) code_points_ = CountCodePoints(text);
  return *code_points_;
}

std::optional<size_t> Dict::IndexOf(char tag, std::string_view bytes) const {
  if (entries_.size() <= kSearchedSize) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].tag == tag && entries_[i].bytes() == bytes) return i;
    }
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(HashOf(tag, bytes));
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = entries_[it->second];
    if (entry.tag == tag && entry.bytes() == bytes) return it->second;
  }
  return std::nullopt;
}

void Dict::Reindex() {
  index_.clear();
  if (entries_.size() <= kSearchedSize) return;
  for (size_t i = 0; i < entries_.size(); ++i) {
    index_.emplace(HashOf(entries_[i].tag, entries_[i].bytes()), i);
  }
}

const Value* Dict::Find(char tag, std::string_view bytes) const {
  const std::optional<size_t> index = IndexOf(tag, bytes);
  return index ? &entries_[*index].value : nullptr;
}

void Dict::Set(Value key, DictKey encoded, Value value) {
  if (const auto index = IndexOf(encoded.tag, encoded.bytes())) {
    entries_[*index].value = std::move(value);
    return;
  }
  entries_.push_back(
      Entry{std::move(key), std::move(value), encoded.tag, std::move(encoded.encoded)});
  Grew(sizeof(Entry));
  if (entries_.size() == kSearchedSize + 1) {
    Reindex();
  } else if (entries_.size() > kSearchedSize) {
    const Entry& entry = entries_.back();
    index_.emplace(HashOf(entry.tag, entry.bytes()), entries_.size() - 1);
  }
}

void Dict::Set(const Ref<String>& key, Value value) {
  Set(Value(key), DictKey{'s', key->text, {}}, std::move(value));
}

std::optional<Value> Dict::Remove(const DictKey& key) {
  const std::optional<size_t> index = IndexOf(key.tag, key.bytes());
  if (!index) return std::nullopt;
  Value value = std::move(entries_[*index].value);
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(*index));
  Grew(-static_cast<int64_t>(sizeof(Entry)));
  Reindex();
  return value;
}

void Dict::Clear() {
  Grew(-static_cast<int64_t>(sizeof(Entry) * entries_.size()));
  // Destroyed only after the dict is valid again: destroying a value may call back into it.
  const std::vector<Entry> dying = std::move(entries_);
  entries_.clear();
  index_.clear();
}

uint64_t Range::size() const {
  const __int128 span = static_cast<__int128>(stop) - start;
  if (step > 0) return span > 0 ? static_cast<uint64_t>((span + step - 1) / step) : 0;
  const __int128 back = -static_cast<__int128>(step);
  return span < 0 ? static_cast<uint64_t>((-span + back - 1) / back) : 0;
}

}  // namespace aster::jinja
