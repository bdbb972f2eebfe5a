// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Whether JSON from clients can be parsed at a bounded cost: deep documents need recursion, and
// objects that keep their members in order take quadratic time. Called before a library parses.
// Must not know the documents' meaning.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace aster {

// For all documents of one request together. Not for concurrent use.
class JsonLimits {
 public:
  // Nested values.
  static constexpr size_t kMaxDepth = 100;
  // Comparisons of names, in all: an object of 5000 members takes most of them.
  static constexpr uint64_t kMaxComparisons = 1 << 24;

  // An error that names the exceeded limit. Does not check whether it is JSON at all.
  Status Check(std::string_view text);

 private:
  uint64_t comparisons_left_ = kMaxComparisons;
};

}  // namespace aster
