// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds tokens that are recognised literally in a text, before anything is merged: special tokens
// and user-defined ones. Must not know their purpose.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocab.h"

namespace aster::text {

// Constant once it is filled.
class SpecialMatcher {
 public:
  struct Match {
    size_t begin;
    size_t end;
    TokenId id;
  };

  SpecialMatcher() : nodes_(1) {}

  // The text must not be empty. If two tokens have the same text, the last one counts.
  void Add(std::string_view text, TokenId id);

  // The first token at or after `from`; the longest one there.
  std::optional<Match> FindMtp(std::string_view text, size_t from) const;

 private:
  // A tree of the tokens' bytes. Children are a list: nearly all nodes have one.
  struct Node {
    TokenId id = kNoToken;
    uint32_t first_child = 0;   // index; 0 for none
    uint32_t next_sibling = 0;  // the same
    uint8_t byte = 0;
  };

  uint32_t ChildOf(uint32_t node, uint8_t byte) const;
  std::optional<Match> MatchAt(std::string_view text, size_t begin) const;

  std::vector<Node> nodes_;
  std::bitset<256> single_bytes_;  // which are tokens
  std::bitset<65536> beginnings_;  // of longer tokens: the first byte, plus 256 times the second
};

}  // namespace aster::text
