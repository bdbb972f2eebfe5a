// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the rows of an n-gram table for a run of tokens, by the classes of these tokens and of
// those before them. Must not know where classes are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/commands.h"

namespace aster::compute {

// The classes of a span's tokens and of those before it, of which n-grams are made.
class SpanClasses {
 public:
  SpanClasses(const NgramHash& hash, const PageSpan& span);

  // The classes of the last tokens before the span that its n-grams need, to be filled in.
  std::span<uint32_t> before() { return {classes_.data() + longest_before_ - before_, before_}; }
  // The classes of the span's tokens.
  std::span<const uint32_t> own() const { return std::span(classes_).subspan(longest_before_); }

  // Finds the rows of the span's token `i`: those of two tokens first.
  void Hash(uint32_t i) const;

 private:
  const NgramHash& hash_;
  const uint32_t first_row_;
  const size_t longest_before_;
  const size_t before_;
  std::vector<uint32_t> classes_;  // padding before the beginning of the text
};

}  // namespace aster::compute
