// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Rules for objects and lists with a limited number of members, or without equal items. Must not
// know schemas.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) items are JSON
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_rules.h"

namespace aster::grammar {

struct CountRange {
  uint32_t minimum = 0;
  uint32_t maximum = kNoMaximum;
};

struct Member {
  std::string name;
  Element value;
  bool is_needed = false;
};

// An object of these members in their order; optional ones may be missing. Nothing if impossible.
std::optional<Element> AddMembers(std::span<const Member> members, CountRange count,
                                  JsonRules& json, Grammar& grammar);

// An object of members with free names.
Result<Element> AddFreeMembers(Element name, Element value, CountRange count, JsonRules& json,
                               Grammar& grammar);

inline constexpr size_t kMaxDifferentItems = 8;
// A list of some of these items, none of them twice; at most kMaxDifferentItems. Nothing if there
// are too few items.
std::optional<Element> AddDifferentItems(std::span<const nlohmann::ordered_json> items,
                                         CountRange count, JsonRules& json, Grammar& grammar);

}  // namespace aster::grammar
