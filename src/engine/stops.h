// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the strings that end an answer in text that comes in pieces. Text that may be the beginning
// of one is held back. Must not know tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::engine {

inline constexpr size_t kMaxStopStrings = 64;
inline constexpr size_t kMaxStopStringBytes = 1024;

// Whole characters of UTF-8, at least one each; within the limits above.
Status CheckStopStrings(std::span<const std::string> stops);

// The stop string that ends first ends the text; if several end there, the longest. So the same
// text gives the same result however it is cut into pieces. Not for concurrent use.
class StopStrings {
 public:
  // The strings have passed CheckStopStrings.
  explicit StopStrings(std::vector<std::string> stops);

  // Adds `text`, and appends to `out` what may be shown now. Not after a stop string was found.
  void Push(std::string_view text, std::string& out);
  // The text ends: appends the held back text, unless a stop string was found.
  void Finish(std::string& out);

  // The stop string that ended the text. Neither it nor text after it is ever shown.
  const std::optional<std::string>& found() const { return found_; }

 private:
  // A string to find, with the algorithm of Knuth, Morris and Pratt.
  struct Pattern {
    std::string text;
    std::vector<uint32_t> fallback;  // [matching bytes]: how many still match if another byte comes
    uint32_t matched = 0;            // bytes at the end of the text that are its beginning
  };
  static void Advance(Pattern& pattern, char byte);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace aster::engine
