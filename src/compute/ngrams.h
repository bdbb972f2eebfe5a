// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which rows of a table a run of tokens is given, by the classes of these and of those before them.
// Must not know where classes are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/commands.h"

namespace aster::compute {

// The classes that the n-grams of a span's tokens are made of.
class SpanClasses {
 public:
  SpanClasses(const NgramHash& hash, const PageSpan& span);

  // Of the last tokens before the span, as many as count and are there: to be filled in.
  std::span<uint32_t> before() { return {classes_.data() + longest_before_ - before_, before_}; }
  // Of the span's tokens.
  std::span<const uint32_t> own() const { return std::span(classes_).subspan(longest_before_); }

  // Finds the rows of the span's token `i`: those of two tokens first.
  void Hash(uint32_t i) const;

 private:
  const NgramHash& hash_;
  const uint32_t first_row_;
  const size_t longest_before_;
  const size_t before_;
  std::vector<uint32_t> classes_;  // padding where nothing is before the text
};

}  // namespace aster::compute
