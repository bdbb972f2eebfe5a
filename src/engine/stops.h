// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the strings that end an answer in text that comes in pieces. Text that may turn out to be
// the beginning of one is held back. Must not know tokens.
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

// The stop string that ends first ends the text; of several that end there, the longest. So the
// same text gives the same result in whatever pieces it comes. Not for concurrent use.
class StopStrings {
 public:
  // Strings that CheckStopStrings accepts.
  explicit StopStrings(std::vector<std::string> stops);

  // Appends to `out` what may be shown now that `text` follows. After a stop string has been found
  // nothing more may be pushed.
  void Push(std::string_view text, std::string& out);
  // Appends what was held back, where no stop string has been found: the text ends here.
  void Finish(std::string& out);

  // The one that ended the text. Neither it nor what follows it is ever shown.
  const std::optional<std::string>& found() const { return found_; }

 private:
  // A string being looked for, as Knuth, Morris and Pratt do.
  struct Pattern {
    std::string text;
    std::vector<uint32_t> fallback;  // [bytes that match]: how many do when another byte comes
    uint32_t matched = 0;            // bytes at the end of the text that are its beginning
  };
  static void Advance(Pattern& pattern, char byte);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::optional<std::string> found_;
};

}  // namespace aster::engine
