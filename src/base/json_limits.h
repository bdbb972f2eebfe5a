// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether JSON that strangers send can be read at a price that is known: documents that are deep
// take recursion somewhere, and objects that keep their members in order take the square of their
// number. To be asked before a library parses. Must not know what is in the documents.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace aster {

// For all documents of one request together. Not for concurrent use.
class JsonLimits {
 public:
  // Values within each other.
  static constexpr size_t kMaxDepth = 100;
  // Comparisons of names, in all: an object of 5000 members takes most of them.
  static constexpr uint64_t kMaxComparisons = 1 << 24;

  // An error that says what is too much. Whether it is JSON at all is not asked.
  Status Check(std::string_view text);

 private:
  uint64_t comparisons_left_ = kMaxComparisons;
};

}  // namespace aster
