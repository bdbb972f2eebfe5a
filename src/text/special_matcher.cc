// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/special_matcher.h"

#include "base/check.h"

namespace aster::text {
namespace {

uint8_t ByteAt(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

size_t PairAt(std::string_view text, size_t index) {
  return ByteAt(text, index) + size_t{256} * ByteAt(text, index + 1);
}

}  // namespace

uint32_t SpecialMatcher::ChildOf(uint32_t node, uint8_t byte) const {
  uint32_t child = nodes_[node].first_child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].next_sibling;
  return child;
}

void SpecialMatcher::Add(std::string_view text, TokenId id) {
  CHECK(!text.empty());
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t child = ChildOf(node, byte);
    if (child == 0) {
      child = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({.next_sibling = nodes_[node].first_child, .byte = byte});
      nodes_[node].first_child = child;
    }
    node = child;
  }
  nodes_[node].id = id;
  if (text.size() == 1) {
    single_bytes_.set(ByteAt(text, 0));
  } else {
    beginnings_.set(PairAt(text, 0));
  }
}

std::optional<SpecialMatcher::Match> SpecialMatcher::FindMtp(std::string_view text,
                                                             size_t from) const {
  if (nodes_.size() == 1) return std::nullopt;
  for (size_t begin = from; begin < text.size(); ++begin) {
    const bool may_begin = single_bytes_[ByteAt(text, begin)] ||
                           (begin + 1 < text.size() && beginnings_[PairAt(text, begin)]);
    if (!may_begin) continue;
    if (const auto match = MatchAt(text, begin)) return match;
  }
  return std::nullopt;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::MatchAt(std::string_view text,
                                                             size_t begin) const {
  std::optional<Match> longest;
  uint32_t node = 0;
  for (size_t end = begin; end < text.size(); ++end) {
    node = ChildOf(node, ByteAt(text, end));
    if (node == 0) break;
    if (nodes_[node].id != kNoToken) longest = {begin, end + 1, nodes_[node].id};
  }
  return longest;
}

}  // namespace aster::text
