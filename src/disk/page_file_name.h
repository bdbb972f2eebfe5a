// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The names of page files. A name identifies the file's content and the page before, so that a
// folder's listing is its index. Must not know more of the content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "kv/layout.h"

namespace aster::disk {

// Rows that extend layers from `begin` to `end` positions of a history.
struct PageFileName {
  Hash128 prefix_at_end;
  Hash128 prefix_at_begin;
  uint32_t begin = 0;
  uint32_t end = 0;
  kv::LayerRange layers;
  kv::Columns columns = {};  // of every row

  // "<prefix at end>-<prefix at begin>-<begin>-<end>-<first layer>-<one past the last>.rows"; if
  // rows are not whole, "-<first column>-<one past the last>-<of how many>" before the dot.
  std::string ToText() const;
  // Nullopt if ToText cannot have made that name.
  static std::optional<PageFileName> Parse(std::string_view text);

  bool operator==(const PageFileName&) const = default;
};

// For maps by prefix hash, which is already well mixed.
struct PrefixHasher {
  size_t operator()(const Hash128& prefix) const { return prefix.low; }
};
struct NameHasher {
  size_t operator()(const PageFileName& name) const {
    return name.prefix_at_end.low + name.layers.begin;
  }
};

// The reverse of Hash128::ToHex.
std::optional<Hash128> ParseHash(std::string_view hex);

}  // namespace aster::disk
