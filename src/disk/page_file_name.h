// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The names of page files. A name says what is in the file and what it continues, so that a
// folder's listing is its index. Must not know what is in a file beyond that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "kv/layout.h"

namespace aster::disk {

// Rows that take layers from `begin` to `end` positions of a history.
struct PageFileName {
  Hash128 prefix_at_end;
  Hash128 prefix_at_begin;
  uint32_t begin = 0;
  uint32_t end = 0;
  kv::LayerRange layers;
  kv::Columns columns = {};  // of every row

  // "<prefix at end>-<prefix at begin>-<begin>-<end>-<first layer>-<one past the last>.rows"; where
  // rows are not whole, "-<first column>-<one past the last>-<of how many>" before the dot.
  std::string ToText() const;
  // Nothing where that is no name that ToText makes.
  static std::optional<PageFileName> Parse(std::string_view text);

  bool operator==(const PageFileName&) const = default;
};

// For maps by prefix, which are well mixed already.
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
